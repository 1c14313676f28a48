package resolve

import (
	"maps"
	"slices"
	"strings"

	"github.com/toskose/toskose/tosca/internal/data"
	"github.com/toskose/toskose/tosca/internal/grammar"
	"github.com/toskose/toskose/tosca/internal/source"
)

// checkInterfaces evaluates and checks what a template assigns to its
// interfaces.
func (s *Service) checkInterfaces(assigned []*grammar.Interface, faces map[string]*Interface, h *holder) {
	for _, i := range assigned {
		made := find(faces, i.Name, h.doc)
		if made == nil {
			continue // said so
		}
		of := h.of + ": interface " + quote(i.Name)
		for _, p := range i.Inputs {
			s.checkInput(made.inputs[p.Name], p, h.place(of+": input "+quote(p.Name)))
		}
		for _, o := range append(slices.Clone(i.Operations), i.Notifications...) {
			s.checkOperation(o, made.Operations[o.Name], h, i.Name)
		}
	}
}

func (s *Service) checkOperation(o *grammar.Operation, made *Operation, h *holder, face string) {
	of := h.of + ": operation " + quote(face+"."+o.Name)
	for _, p := range o.Inputs {
		if made != nil {
			s.checkInput(made.Inputs[p.Name], p, h.place(of+": input "+quote(p.Name)))
		}
	}
	if made != nil && implemented(made.At) && s.Spend(len(made.Inputs)) {
		for _, name := range slices.Sorted(maps.Keys(made.Inputs)) {
			p := made.Inputs[name]
			if p.Def != nil && p.Def.Required && p.Value.IsNull() && p.Def.Fallback().IsNull() && p.Def.TypeName() != "" {
				s.Warnf(o.Pos, codeOpMissing, "%s: input %q is required, and has neither a value nor a default", of, name)
			}
		}
	}
	s.checkBeforeSource(o, h.doc, of)
	for _, p := range o.Outputs {
		var def *data.Definition
		if made != nil {
			def = made.Outputs[p.Name]
		}
		s.checkMapping(p.Mapping, def, h.place(of+": output "+quote(p.Name)))
	}
	s.checkImplementation(o, h, of)
}

// fixed tells whether nobody can assign the parameter. 1.x knows no such value
// (TOSCA 1.3, 3.6.14).
func (p Parameter) fixed(doc *grammar.Document) bool {
	return p.Def != nil && p.Def.Fixed() && second(doc)
}

// checkBeforeSource warns of operations at the target of a relationship that need
// an attribute of its source: the target is started before the source is created
// (TOSCA 1.3, 7.2.4.3).
func (s *Service) checkBeforeSource(o *grammar.Operation, doc *grammar.Document, of string) {
	if second(doc) || o.Name != "pre_configure_target" && o.Name != "post_configure_target" {
		return
	}
	for _, p := range o.Inputs {
		for _, v := range []*source.Node{p.Value, p.Default} {
			if at := s.attributeOfSource(v); at != nil {
				s.Warnf(at.Pos(), codeFunctionRuntime, "%s: input %q needs an attribute of SOURCE, which is created only when the target has started: add_source may have it", of, p.Name)
			}
		}
	}
}

// attributeOfSource finds a call of get_attribute for SOURCE in a value; nil if
// there is none.
func (s *Service) attributeOfSource(n *source.Node) *source.Node {
	if n == nil || n.IsScalar() || !s.Spend(1+len(n.Items)) {
		return nil
	}
	if args := n.Get("get_attribute"); args != nil && len(n.Items) == 1 && args.Kind == source.List && len(args.Items) > 0 && args.Items[0].Text == "SOURCE" {
		return args.Items[0]
	}
	for _, item := range n.Items {
		if at := s.attributeOfSource(item); at != nil {
			return at
		}
	}
	return nil
}

// checkInput evaluates a value that is assigned to an input and checks it
// against the definition, if there is one. That one is fixed is said elsewhere.
func (s *Service) checkInput(made Parameter, p *grammar.Property, at data.Place) {
	if p.Value == nil || made.fixed(s.Doc) {
		return
	}
	at.Meant = made.Def
	if v := s.eval.Eval(p.Value, at); v.OK && made.Def != nil {
		s.eval.CheckValue(v.Moved(p.Value), made.Def, at)
	}
}

// checkMapping checks where an output of an operation is written to: an
// attribute, most often one of the same node. Def is the output's own; nil: it
// has none.
func (s *Service) checkMapping(mapping *source.Node, def *data.Definition, p data.Place) {
	if mapping == nil || mapping.Kind != source.List {
		return
	}
	kind, _ := p.Self.Describe()
	switch {
	case len(mapping.Items) < 2 && (second(p.Doc) || third(p.Doc)):
		s.Errorf(mapping.Pos(), codeMapping, "%s must be written to an attribute: a list of SELF or a node template, and a name", p.Of)
		return
	case len(mapping.Items) < 2:
		return
	case third(p.Doc) && kind == data.NodeEntity && mapping.Items[0].Text != "SELF":
		s.Errorf(mapping.Items[0].Pos(), codeMapping, "%s must be written to an attribute of SELF (TOSCA 1.3, 3.6.15)", p.Of)
		return
	}
	name := mapping.Items[1]
	if mapping.Items[0].Text == "SELF" && name.IsScalar() && kind != data.CapabilityEntity && !s.hasAttribute(p.Self, name.Text) {
		s.Unknown(name.Pos(), codeMapping, name.Text, p.Self.Names(data.Attribute), "%s is written to attribute %q, which is not there", p.Of, name.Text)
		return
	}
	if second(p.Doc) {
		s.checkMappedPath(mapping, def, p)
	}
}

func (s *Service) hasAttribute(self data.Entity, name string) bool {
	if _, answer := self.Get(data.Attribute, name); answer != data.Missing || steps[name] {
		return true
	}
	_, answer := self.Lead(data.Step{Kind: data.ToCapability, Name: name}) // of 1.x
	return answer != data.Missing
}

// checkMappedPath follows the path to an attribute, and compares what is there
// with what is written to it (TOSCA 2.0, 9.10).
func (s *Service) checkMappedPath(mapping *source.Node, def *data.Definition, p data.Place) {
	reads := source.Scalar(source.String, "$get_attribute", mapping)
	v := s.eval.Eval(source.At(source.Map, []*source.Node{reads}, []*source.Node{mapping}, mapping), p)
	if !v.OK || v.Def == nil || def == nil {
		return
	}
	made, to := s.eval.Plain(def), s.eval.Plain(v.Def)
	if made != "" && to != "" && made != to && (made != "integer" || to != "float") || s.eval.Differs(def, v.Def) {
		s.Errorf(mapping.Pos(), codeMapping, "%s is of type %s, and the attribute that it is written to of type %s", p.Of, s.eval.Described(def), s.eval.Described(v.Def))
	}
}

// steps are the words that lead on in a path (TOSCA 2.0, 10.3).
var steps = map[string]bool{"RELATIONSHIP": true, "CAPABILITY": true, "SOURCE": true, "TARGET": true, "HOST": true}

// checkInterfaceDefs checks the interfaces that a type defines.
func (s *Service) checkInterfaceDefs(t *grammar.Type, faces []*grammar.Interface, of string) {
	for _, i := range faces {
		of := of
		if t.Kind != grammar.InterfaceType {
			of += ": interface " + quote(i.Name)
			s.known(t.Doc, grammar.InterfaceType, i.Type, of)
			s.checkDefinedOperations(t, i, of)
		}
		d := s.defining(t, i)
		d.parameters(i.Inputs, d.under.inputs, of)
		for _, o := range append(slices.Clone(i.Operations), i.Notifications...) {
			of := of + ": operation " + quote(o.Name)
			inherited := d.under.Operations[o.Name]
			if inherited == nil {
				inherited = &Operation{}
			}
			d.parameters(o.Inputs, inherited.Inputs, of)
			d.outputs(o.Outputs, inherited.Outputs, of)
			if t.Kind == grammar.InterfaceType && implemented(o) && !second(t.Doc) { // the grammar of 2.0 has no such keyword there
				s.Errorf(o.Pos, codeOpImplemented, "%s has an implementation, which only nodes and relationships can have", of)
			}
			s.checkInlineArtifacts(o, data.Place{Of: of, Doc: t.Doc, Self: d.self})
			if t.Kind == grammar.RelationshipType {
				s.checkBeforeSource(o, t.Doc, of)
			}
			s.checkHost(o, t.Kind == grammar.NodeType, t.Doc, of)
		}
	}
}

// checkHost checks where an operation is to run: what has its interface, or what
// that is hosted on, or of a relationship one of its ends (TOSCA 1.3, 3.6.16).
func (s *Service) checkHost(o *grammar.Operation, ofNode bool, doc *grammar.Document, of string) {
	places := []string{"SELF", "HOST", "ORCHESTRATOR"}
	if !ofNode {
		places = append(places, "SOURCE", "TARGET")
	}
	if o.Host.Name != "" && third(doc) && !slices.Contains(places, o.Host.Name) {
		s.Unknown(o.Host.Pos, codeShape, o.Host.Name, places, "%s: operation_host %q is none of %s", of, o.Host.Name, strings.Join(places, ", "))
	}
}

// checkDefinedOperations: since 2.0 only the type of an interface says which
// operations there are (TOSCA 2.0, 11.4).
func (s *Service) checkDefinedOperations(t *grammar.Type, i *grammar.Interface, of string) {
	if !second(t.Doc) {
		return
	}
	typ := s.interfaceType(t, i)
	if typ == nil {
		if i.Type.Name == "" && t.DerivedFrom.Name != "" && s.inherit(t).Whole { // else the grammar says so
			s.Errorf(i.Pos, codeIfaceType, "%s has no type, and inherits none", of)
		}
		return
	}
	if !s.inherit(typ).Whole {
		return
	}
	made := s.newInterface()
	for _, base := range slices.Backward(Ancestors(typ)) {
		for _, inherited := range base.Interfaces {
			s.lay(made, inherited, base.Doc)
		}
	}
	s.onlyDefined(i, made, t.Doc, of+": "+Quoted(typ))
}

// interfaceType finds the type of an interface, which may be inherited.
func (s *Service) interfaceType(t *grammar.Type, i *grammar.Interface) *grammar.Type {
	if i.Type.Name != "" {
		return t.Doc.Scope().Lookup(grammar.InterfaceType, i.Type.Name)
	}
	for _, at := range Ancestors(t)[1:] {
		for _, old := range at.Interfaces {
			if old.Name == i.Name && old.Type.Name != "" {
				return at.Doc.Scope().Lookup(grammar.InterfaceType, old.Type.Name)
			}
		}
	}
	return nil
}
