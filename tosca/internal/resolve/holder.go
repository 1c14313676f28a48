package resolve

import (
	"maps"
	"slices"
	"strings"

	"github.com/toskose/toskose/tosca/diag"
	"github.com/toskose/toskose/tosca/internal/data"
	"github.com/toskose/toskose/tosca/internal/grammar"
	"github.com/toskose/toskose/tosca/internal/source"
)

// holder is what has properties and attributes: a node, a capability, a
// relationship, a group, a policy or an artifact.
type holder struct {
	s          *Service
	self       data.Entity
	of         string // names it in messages
	doc        *grammar.Document
	pos        diag.Position
	props      map[string]*data.Definition
	sorted     []string // the names of props; nil: not sorted yet
	attrs      map[string]*data.Definition
	whole      bool // there is nothing else that it could have
	needed     bool // its values must be known before the application runs
	assigned   *source.Node
	attributes *source.Node
	values     map[string]*data.Value
	explained  string // a property that is not there, and said so
	spared     string // a property without a value, and said so
}

func (h *holder) place(of string) data.Place {
	return data.Place{Of: of, Doc: h.doc, Self: h.self}
}

// property evaluates a property once: what is assigned, or else the default.
func (h *holder) property(name string) data.Value {
	if v := h.values[name]; v != nil {
		return *v
	}
	def, doc := h.props[name], h.doc
	written := h.assigned.Get(name)
	if written.IsNull() {
		if v, known := h.s.defaults[def]; known {
			h.s.Spend(v.Size) // whoever prints it prints it again
			return v
		}
		written, doc = def.Fallback(), def.Doc
		if h.s.eval.Blamed(written) {
			return data.Value{Def: def}
		}
	}
	if written.IsNull() {
		return data.Value{Node: written, Def: def, Size: 1, OK: true}
	}
	if h.values == nil {
		h.values = map[string]*data.Value{}
	}
	v := &data.Value{Busy: true}
	h.values[name] = v
	p := h.place(h.of + ": property " + quote(name))
	p.Doc, p.Meant = doc, def
	*v = h.s.eval.Eval(written, p)
	v.Busy = false
	made := *v
	v.Def = def
	if h.needed && v.OK && v.Later != nil {
		h.s.RunTimeOnly(*v, p.Of)
		*v = data.Value{Def: def}
	}
	if v.OK && !v.Node.IsNull() && !h.isBareSize(name, v.Node) && !h.s.eval.CheckValue(made.Moved(written), def, p) {
		*v = data.Value{Def: def}
	}
	plain := v.OK && v.Node == written && written == def.Fallback()
	v.Node = h.s.eval.Meant(v.Node, def)
	if plain && !written.IsScalar() { // no function is in it, so it is the same for all nodes
		h.s.defaults[def] = *v
	}
	return *v
}

// RunTimeOnly says that a value is needed that only a running application has.
// That a draft lacks an input was said where the input is.
func (s *Service) RunTimeOnly(v data.Value, of string) {
	if strings.TrimPrefix(v.Later.Text, "$") == "get_input" {
		return
	}
	s.Errorf(v.Later.Pos(), codeFunctionRuntime, "%s: %s is known only when the application runs", of, v.Later.Text)
}

// attribute evaluates an attribute as far as it can be known: most are known at
// run time only. Every property is an attribute, too (TOSCA 1.3, 3.6.10).
func (h *holder) attribute(name string) (data.Value, data.Answer) {
	if written := h.attributes.Get(name); written != nil && h.attrs[name] != nil {
		return h.s.eval.Eval(h.described(written, h.attrs[name]), h.place(h.of)), data.Found
	}
	if h.props[name] != nil {
		return h.property(name), data.Found
	}
	def := h.attrs[name]
	switch {
	case def == nil && h.whole:
		return data.Value{}, data.Missing
	case def == nil:
		return data.Value{}, data.Open
	case def.Fallback() != nil && !def.Fixed() && name != "state": // what a type fixes is a function of run time
		return data.Value{Node: def.Fallback(), Def: def, Size: 1, OK: true}, data.Found
	}
	return data.Value{Def: def}, data.Open
}

// get answers for properties and attributes.
func (h *holder) get(m data.Member, name string) (data.Value, data.Answer) {
	switch {
	case m == data.Attribute:
		return h.attribute(name)
	case m != data.Property:
		return data.Value{}, data.Missing
	case h.props[name] != nil:
		return h.property(name), data.Found
	case !h.whole:
		return data.Value{}, data.Open
	default:
		return data.Value{}, data.Missing
	}
}

func (h *holder) names(m data.Member) []string {
	switch m {
	case data.Property:
		return slices.Clone(h.propertyNames())
	case data.Attribute:
		return append(slices.Clone(h.propertyNames()), slices.Sorted(maps.Keys(h.attrs))...)
	default:
		return nil
	}
}

// suggestable lists the attributes as long as one of them may be suggested.
func (h *holder) suggestable() []string {
	if !h.s.Suggesting() {
		return nil
	}
	return h.names(data.Attribute)
}

// propertyNames gives the names of the properties, sorted.
func (h *holder) propertyNames() []string {
	if h.sorted == nil {
		h.sorted = slices.Sorted(maps.Keys(h.props))
	}
	return h.sorted
}

// unread tells whether what is assigned could not be read, and that was said.
func (h *holder) unread() bool { return !h.assigned.IsNull() && h.assigned.Kind != source.Map }

// perProperty is the work that a property stands for: some hundred bytes are
// kept of each.
const perProperty = 64

// check evaluates every property and attribute, so that a mistake is found
// whether it is used or not. Typ names what requires a property that is not
// there; it is empty where nobody is to be told.
func (h *holder) check(typ string) {
	if !h.s.Spend(perProperty * len(h.props)) {
		return
	}
	known := h.propertyNames()
	var misspelt []string // said so: they are not missing
	for k, written := range h.assigned.Pairs() {
		switch def := h.props[k.Text]; {
		case def == nil && h.whole && k.Text != h.explained:
			misspelt = append(misspelt, h.s.Unknown(k.Pos(), codePropUnknown, k.Text, known, "%s has no property %q", h.of, k.Text))
		case def != nil && def.Fixed() && h.overrides():
			h.s.Warnf(k.Pos(), codePropFixed, "%s: property %q has a fixed value, and another one is assigned: what may be assigned has a default", h.of, k.Text)
		case def != nil && def.Fixed():
			h.s.Errorf(k.Pos(), codePropFixed, "%s: property %q has a fixed value, so it cannot be assigned", h.of, k.Text)
		case def != nil && (!def.Required || !def.Fallback().IsNull()): // else it is missing
			h.s.eval.Null(written, def, h.place(h.of+": property "+quote(k.Text)))
		}
	}
	if h.unread() {
		typ = ""
	}
	for _, name := range known {
		v := h.property(name)
		if typ != "" && v.OK && v.Node.IsNull() && h.props[name].Required && name != h.spared && !h.writtenNull(name) && !slices.Contains(misspelt, name) {
			if written := h.assigned.Get(name); written != nil && written.IsNull() {
				h.s.Errorf(written.Pos(), codePropMissing, "%s: property %q has no value, and %s requires one", h.of, name, typ)
				continue
			}
			h.s.Errorf(h.pos, codePropMissing, "%s lacks property %q, which %s requires", h.of, name, typ)
		}
	}
	for k, written := range h.attributes.Pairs() {
		def := h.attrs[k.Text]
		if def == nil {
			def = h.props[k.Text]
		}
		if def == nil {
			if h.whole {
				h.s.Unknown(k.Pos(), codeAttrUnknown, k.Text, h.suggestable(), "%s has no attribute %q", h.of, k.Text)
			}
			continue
		}
		p := h.place(h.of + ": attribute " + quote(k.Text))
		if h.s.eval.Null(written, def, p) {
			continue
		}
		if v := h.s.eval.Eval(h.described(written, def), p); v.OK {
			h.s.eval.CheckValue(v.Moved(written), def, p)
		}
	}
}

// described gives the value of an attribute that is written with a description
// (TOSCA 1.3, 3.6.13.2.2).
func (h *holder) described(n *source.Node, def *data.Definition) *source.Node {
	value := n.Get("value")
	if value == nil || second(h.doc) || h.s.eval.Plain(def) == "map" || len(n.Keys) > 2 || len(n.Keys) == 2 && n.Get("description") == nil {
		return n
	}
	return value
}

// writtenNull tells whether null is written for a property of the type nil,
// whose only value it is (TOSCA 2.0, 9.1.1.6).
func (h *holder) writtenNull(name string) bool {
	return h.assigned.Get(name) != nil && h.s.eval.Plain(h.props[name]) == "nil"
}
