package check

import (
	"slices"

	"github.com/toskose/toskose/tosca/internal/code"
	"github.com/toskose/toskose/tosca/internal/data"
	"github.com/toskose/toskose/tosca/internal/resolve"
	"github.com/toskose/toskose/tosca/internal/source"
)

// attributeNames lists the attributes as long as one of them may be suggested.
func attributeNames(h *resolve.Holder) []string {
	if !h.Graph.Suggesting() {
		return nil
	}
	return h.MemberNames(data.Attribute)
}

// isUnread reports whether what is assigned could not be read, and that was said.
func isUnread(h *resolve.Holder) bool { return !h.Assigned.IsNull() && h.Assigned.Kind != source.Map }

// checkValues evaluates every property and attribute, so that a mistake is found
// whether it is used or not. Typ names what requires a property that is not
// there; it is empty where nobody is to be told.
func checkValues(h *resolve.Holder, typ string) {
	if !h.Graph.Spend(resolve.PerProperty * len(h.Props)) {
		return
	}
	known := h.PropertyNames()
	var misspelt []string // said so: they are not missing
	for k, written := range h.Assigned.Pairs() {
		switch def := h.Props[k.Text]; {
		case def == nil && h.Whole && k.Text != h.Explained:
			misspelt = append(misspelt, h.Graph.Unknown(k.Pos(), code.PropUnknown, k.Text, known, "%s has no property %q", h.Of, k.Text))
		case def != nil && def.Fixed():
			h.Graph.Errorf(k.Pos(), code.PropFixed, "%s: property %q has a fixed value, so it cannot be assigned", h.Of, k.Text)
		case def != nil && (!def.Required || !def.Fallback().IsNull()): // else it is missing
			h.Graph.Values.Null(written, def, h.Place(h.Of+": property "+quote(k.Text)))
		}
	}
	if isUnread(h) {
		typ = ""
	}
	for _, name := range known {
		v := h.Property(name)
		if typ != "" && v.OK && v.Node.IsNull() && h.Props[name].Required && !writtenNull(h, name) && !slices.Contains(misspelt, name) {
			if written := h.Assigned.Get(name); written != nil && written.IsNull() {
				h.Graph.Errorf(written.Pos(), code.PropMissing, "%s: property %q has no value, and %s requires one", h.Of, name, typ)
				continue
			}
			h.Graph.Errorf(h.At, code.PropMissing, "%s lacks property %q, which %s requires", h.Of, name, typ)
		}
	}
	for k, written := range h.AttrValues.Pairs() {
		def := h.Attrs[k.Text]
		if def == nil {
			def = h.Props[k.Text]
		}
		if def == nil {
			if h.Whole {
				h.Graph.Unknown(k.Pos(), code.AttrUnknown, k.Text, attributeNames(h), "%s has no attribute %q", h.Of, k.Text)
			}
			continue
		}
		p := h.Place(h.Of + ": attribute " + quote(k.Text))
		if h.Graph.Values.Null(written, def, p) {
			continue
		}
		if v := h.Graph.Values.Eval(h.Described(written, def), p); v.OK {
			h.Graph.Values.CheckValue(v.Moved(written), def, p)
		}
	}
}

// writtenNull reports whether null is written for a property of the type nil,
// whose only value it is (TOSCA 2.0, 9.1.1.6).
func writtenNull(h *resolve.Holder, name string) bool {
	return h.Assigned.Get(name) != nil && h.Graph.Values.Plain(h.Props[name]) == "nil"
}

// checkValue checks a value against a type alone.
func checkValue(g *resolve.Graph, n *source.Node, typ string, p data.Place) {
	if n.IsNull() {
		return
	}
	if v := g.Values.Eval(n, p); v.OK {
		g.Values.Check(v.Node, data.Of(typ, p.Doc), p)
	}
}
