package check

import (
	"maps"
	"slices"

	"github.com/toskose/toskose/tosca/internal/code"
	"github.com/toskose/toskose/tosca/internal/data"
	"github.com/toskose/toskose/tosca/internal/resolve"
	"github.com/toskose/toskose/tosca/internal/source"
)

// checkMapping checks the attribute that an output of an operation is mapped to, usually
// of the same node. def is the definition of the output, or nil.
func checkMapping(g *resolve.Graph, mapping *source.Node, def *data.Definition, p data.Place) {
	if mapping == nil || mapping.Kind != source.List {
		return
	}
	kind, _ := p.Self.Describe()
	switch {
	case len(mapping.Items) < 2 && (p.Doc.V2() || p.Doc.V13()):
		g.Errorf(mapping.Pos(), code.Mapping, "%s must be written to an attribute: a list of SELF or a node template, and a name", p.Of)
		return
	case len(mapping.Items) < 2:
		return
	case p.Doc.V13() && kind == data.NodeEntity && mapping.Items[0].Text != "SELF":
		g.Errorf(mapping.Items[0].Pos(), code.Mapping, "%s must be written to an attribute of SELF (TOSCA 1.3, 3.6.15)", p.Of)
		return
	}
	name := mapping.Items[1]
	if mapping.Items[0].Text == "SELF" && name.IsScalar() && kind != data.CapabilityEntity && !hasAttribute(p.Self, name.Text) {
		g.Unknown(name.Pos(), code.Mapping, name.Text, p.Self.Names(data.Attribute), "%s is written to attribute %q, which does not exist", p.Of, name.Text)
		return
	}
	if p.Doc.V2() {
		checkMappedPath(g, mapping, def, p)
	}
}

func hasAttribute(self data.Entity, name string) bool {
	if _, answer := self.Get(data.Attribute, name); answer != data.Missing || steps[name] {
		return true
	}
	_, answer := self.Follow(data.Step{Kind: data.ToCapability, Name: name}) // in 1.x
	return answer != data.Missing
}

// checkMappedPath follows the path to an attribute, and compares its type with the
// output's (TOSCA 2.0, 9.10).
func checkMappedPath(g *resolve.Graph, mapping *source.Node, def *data.Definition, p data.Place) {
	reads := source.Scalar(source.String, "$get_attribute", mapping)
	v := g.Values.Eval(source.At(source.Map, []*source.Node{reads}, []*source.Node{mapping}, mapping), p)
	if !v.OK || v.Def == nil || def == nil {
		return
	}
	made, to := g.Values.Plain(def), g.Values.Plain(v.Def)
	if made != "" && to != "" && made != to && (made != "integer" || to != "float") || g.Values.Differs(def, v.Def) {
		g.Errorf(mapping.Pos(), code.Mapping, "%s is of type %s, and the attribute that it is written to of type %s", p.Of, g.Values.Described(def), g.Values.Described(v.Def))
	}
}

// steps are the keywords within a path (TOSCA 2.0, 10.3).
var steps = map[string]bool{"RELATIONSHIP": true, "CAPABILITY": true, "SOURCE": true, "TARGET": true, "HOST": true}

// checkOutputs evaluates outputs to find errors. It discards the values, which are known
// at run time only.
func checkOutputs(g *resolve.Graph) {
	for _, in := range g.Topo.Inputs {
		if g.Doc.V2() {
			checkMapping(g, in.Mapping, data.From(in, g.Doc), data.Place{Of: "input " + quote(in.Name), Doc: g.Doc, Self: data.Anything})
		}
	}
	for _, o := range g.Topo.Outputs {
		p := data.Place{Of: "output " + quote(o.Name), Doc: g.Doc}
		if o.Definition != nil && o.Definition.Type.Name != "" {
			p.Want = data.From(o.Definition, g.Doc)
		}
		v := g.Values.Eval(o.Value, p)
		if p.Want == nil {
			continue
		}
		def := p.Want
		declared := *def
		declared.Default, declared.Value = nil, nil
		if g.Values.Declare(&declared, p) && v.OK {
			g.Values.CheckValue(v.Moved(o.Value), def, p)
		}
	}
}

// checkUnused warns of inputs that no file reads, including parts that are never
// evaluated.
func checkUnused(g *resolve.Graph) {
	read := map[string]bool{}
	for _, d := range g.Docs {
		maps.Copy(read, d.InputsRead)
	}
	for _, p := range g.Topo.Inputs {
		if !read[p.Name] && !g.Suggested(p.Name, code.FunctionInput) { // else a misspelt get_input may read it
			g.Warnf(p.Pos, code.InputUnused, "input %q is never used: no get_input names it", p.Name)
		}
	}
}

// attributeNames lists the attributes while suggestions are still made.
func attributeNames(h *resolve.Holder) []string {
	if !h.Graph.Suggesting() {
		return nil
	}
	return h.MemberNames(data.Attribute)
}

// isUnread reports whether assignments could not be read (already reported).
func isUnread(h *resolve.Holder) bool { return !h.Assigned.IsNull() && h.Assigned.Kind != source.Map }

// checkValues evaluates all properties and attributes to find errors, also in unused
// ones. typ is the type named in reports of missing properties; if it is empty, they are
// not reported.
func checkValues(h *resolve.Holder, typ string) {
	if !h.Graph.Spend(resolve.PerProperty * len(h.Props)) {
		return
	}
	known := h.PropertyNames()
	var misspelt []string // reported as unknown, so not as missing
	for k, written := range h.Assigned.Pairs() {
		switch def := h.Props[k.Text]; {
		case def == nil && h.Complete && k.Text != h.Explained:
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
			if h.Complete {
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

// writtenNull reports whether null is assigned to a property of the type nil, which has
// no other value (TOSCA 2.0, 9.1.1.6).
func writtenNull(h *resolve.Holder, name string) bool {
	return h.Assigned.Get(name) != nil && h.Graph.Values.Plain(h.Props[name]) == "nil"
}

// checkValue checks a value against a type.
func checkValue(g *resolve.Graph, n *source.Node, typ string, p data.Place) {
	if n.IsNull() {
		return
	}
	if v := g.Values.Eval(n, p); v.OK {
		g.Values.Check(v.Node, data.Of(typ, p.Doc), p)
	}
}
