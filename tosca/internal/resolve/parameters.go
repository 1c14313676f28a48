package resolve

import (
	"slices"
	"strings"

	"github.com/toskose/toskose/tosca/internal/data"
	"github.com/toskose/toskose/tosca/internal/grammar"
	"github.com/toskose/toskose/tosca/internal/source"
)

// defining checks the parameters of an interface where a type defines it,
// against what is below: of the parent type, and of the interface's own type.
type defining struct {
	*Service
	t     *grammar.Type
	self  data.Entity
	under *Interface
}

func (s *Service) defining(t *grammar.Type, i *grammar.Interface) *defining {
	d := &defining{Service: s, t: t, self: s.selfOfType(t), under: s.newInterface()}
	if !second(t.Doc) {
		return d
	}
	if t.Kind == grammar.InterfaceType {
		for _, base := range slices.Backward(Ancestors(t)[1:]) {
			for _, inherited := range base.Interfaces {
				s.lay(d.under, inherited, base.Doc)
			}
		}
		return d
	}
	parent := t.Doc.Scope().Lookup(t.Kind, t.DerivedFrom.Name)
	if parent != nil && !derives(parent, t) {
		if old := s.typeInterfaces(s.inherit(parent))[i.Name]; old != nil && s.Spend(perCandidate*(1+len(old.Operations))) {
			d.under = s.layered(old, nil)
		}
	}
	s.extend(d.under, &grammar.Interface{Name: i.Name, Type: i.Type}, t.Doc)
	return d
}

// parameters checks inputs. Up to 1.3, those that only have a value, or nothing,
// are no definitions.
func (d *defining) parameters(params []*grammar.Property, under map[string]Parameter, of string) {
	if !second(d.t.Doc) {
		d.declareParameters(params, d.t.Doc, of)
		return
	}
	old := map[string]*data.Definition{}
	for _, p := range params {
		was, has := under[p.Name]
		if !has {
			continue
		}
		old[p.Name] = was.Def
		if was.Value != nil { // what has a value in a type is fixed
			old[p.Name] = &data.Definition{Schema: &grammar.Schema{}, Doc: d.t.Doc, Value: was.Value, Refines: was.Def}
		}
	}
	d.definitions(params, old, of)
	for _, p := range params {
		d.onlySelf(p.Default, of+": "+quote(p.Name))
		d.onlySelf(p.Value, of+": "+quote(p.Name))
	}
}

// outputs checks outputs, and the attributes that they are written to.
func (d *defining) outputs(params []*grammar.Property, under map[string]*data.Definition, of string) {
	if !second(d.t.Doc) {
		d.declareParameters(params, d.t.Doc, of)
		if d.t.Kind == grammar.NodeType || d.t.Kind == grammar.RelationshipType {
			self := d.self
			if d.t.Kind == grammar.NodeType {
				self = d.anyNodeOf(d.t, false)
			}
			for _, p := range params {
				d.checkMapping(p.Mapping, nil, data.Place{Of: of + ": output " + quote(p.Name), Doc: d.t.Doc, Self: self})
			}
		}
		return
	}
	d.definitions(params, under, of)
	for _, p := range params {
		def := data.From(p, d.t.Doc)
		def.Refines = under[p.Name]
		if d.t.Kind == grammar.InterfaceType {
			continue
		}
		of := of + ": output " + quote(p.Name)
		if m := p.Mapping; m != nil && m.Kind == source.List && len(m.Items) > 0 && m.Items[0].Text != "SELF" {
			d.Errorf(m.Items[0].Pos(), codeMapping, "%s must be written to an attribute of SELF: a type knows no other node (TOSCA 2.0, 11.4)", of)
			continue
		}
		d.checkMapping(p.Mapping, def, data.Place{Of: of, Doc: d.t.Doc, Self: d.self})
	}
}

// definitions checks definitions against those that they refine.
func (d *defining) definitions(params []*grammar.Property, old map[string]*data.Definition, of string) {
	for name, def := range old {
		if def == nil {
			delete(old, name)
		}
	}
	r := &refiner{Service: d.Service, t: d.t, strict: true}
	r.properties(params, old, of, "parameter")
	for _, p := range params {
		def := data.From(p, d.t.Doc)
		if def.Refines = old[p.Name]; def.Refines != nil && def.Refines.Fixed() {
			continue // said so
		}
		d.eval.Declare(def, data.Place{Of: of + ": " + quote(p.Name), Self: d.self})
	}
}

// onlySelf refuses functions that read a node or relationship where there is none
// yet, in the type of an interface, and those that read one by its name in the
// type of a node or relationship (TOSCA 2.0, 11.4).
func (d *defining) onlySelf(n *source.Node, of string) {
	if n == nil || !d.Spend(1) {
		return
	}
	for k, path := range n.Pairs() {
		if k.Text != "$get_property" && k.Text != "$get_attribute" {
			continue
		}
		if d.t.Kind == grammar.InterfaceType {
			d.Errorf(k.Pos(), codeFunctionPlace, "%s: %s means nothing in an interface type, which has no node or relationship yet", of, k.Text)
			return
		}
		if path.Kind != source.List || len(path.Items) < 2 {
			continue
		}
		if at := path.Items[0]; at.Kind == source.String && !rooted[at.Text] && !strings.HasPrefix(at.Text, "$") {
			d.Errorf(at.Pos(), codeFunctionPlace, "%s: %s names %q, and a type knows no other node than SELF", of, k.Text, at.Text)
			return
		}
	}
	for _, item := range n.Items {
		d.onlySelf(item, of)
	}
}

// rooted are the words at the beginning of a path that are no names: SELF, and
// those of 1.x, of which is said elsewhere that they are that.
var rooted = map[string]bool{"SELF": true, "SOURCE": true, "TARGET": true, "HOST": true}

// declareParameters checks definitions of parameters; those that only have a
// value, or nothing, are none.
func (s *Service) declareParameters(params []*grammar.Property, doc *grammar.Document, of string) {
	for _, p := range params {
		if p.Type.Name != "" {
			s.eval.Declare(data.From(p, doc), data.Place{Of: of + ": " + quote(p.Name)})
		}
	}
}

// onlyDefined checks that an interface has the operations that are defined and no
// others. Since 2.0, notifications have a place of their own.
func (s *Service) onlyDefined(i *grammar.Interface, made *Interface, doc *grammar.Document, of string) {
	for at, o := range append(slices.Clone(i.Operations), i.Notifications...) {
		notice := at >= len(i.Operations)
		switch has := made.Operations[o.Name]; {
		case has == nil && made.typ == nil && !second(doc) && !s.isSlip(o.Name, suggestable(s, made.Operations)): // as an example of relationships has it (TOSCA 1.3, 10.1.4.4)
			s.Warnf(o.Pos, codeOpUnknown, "%s has no operation %q, and no type that says which it has", of, o.Name)
		case has == nil:
			s.Unknown(o.Pos, codeOpUnknown, o.Name, suggestable(s, made.Operations), "%s has no operation %q", of, o.Name)
		case has.notice != notice && second(doc):
			s.Errorf(o.Pos, codeOpUnknown, "%s: %q is a notification, or is written among the notifications and is none", of, o.Name)
		}
	}
}

// isSlip tells whether a name is another one with a slip in it, and not with more
// to it. Where so many are wrong that nobody compares them any more, it is one.
func (s *Service) isSlip(name string, known []string) bool {
	near := s.Nearest(name, known)
	return !s.Suggesting() || near != "" && len(name)-len(near) < 3 && len(near)-len(name) < 3
}

// notFixed checks that a template does not assign what its type has fixed: the
// value of an input, or the attribute that an output is written to (TOSCA 2.0,
// 9.9 and 9.10).
func (s *Service) notFixed(i *grammar.Interface, defined *Interface, doc *grammar.Document, of string) {
	if defined == nil || !second(doc) {
		return
	}
	inputs := func(assigned []*grammar.Property, defs map[string]Parameter, of string) {
		for _, p := range assigned {
			if defs[p.Name].Value != nil {
				s.Errorf(p.Pos, codePropFixed, "%s: input %q has a fixed value, so it cannot be assigned", of, p.Name)
			}
		}
	}
	inputs(i.Inputs, defined.inputs, of)
	for _, o := range append(slices.Clone(i.Operations), i.Notifications...) {
		made := defined.Operations[o.Name]
		if made == nil {
			continue
		}
		of := of + ": operation " + quote(o.Name)
		inputs(o.Inputs, made.Inputs, of)
		for _, p := range o.Outputs {
			if p.Mapping != nil && made.mapped[p.Name] {
				s.Errorf(p.Pos, codePropFixed, "%s: output %q is written to an attribute already, so it cannot be mapped", of, p.Name)
			}
		}
	}
}

// checkInlineArtifacts checks the artifacts that an implementation holds.
func (s *Service) checkInlineArtifacts(o *grammar.Operation, p data.Place) {
	doc, of := p.Doc, p.Of
	for _, a := range o.Artifacts() {
		s.checkComputed(a, p)
		s.known(doc, grammar.ArtifactType, a.Type, of)
		if a.Repository.Name != "" && (second(doc) || a == o.Primary) {
			s.checkRepository(a.Repository, doc, of)
		}
	}
}

// checkTypeArtifacts checks the artifacts of a node type.
func (s *Service) checkTypeArtifacts(t *grammar.Type, of string) {
	for _, a := range t.Artifacts {
		of := of + ": artifact " + quote(a.Name)
		s.checkComputed(a, data.Place{Of: of, Doc: t.Doc, Self: s.selfOfType(t)})
		typ := s.known(t.Doc, grammar.ArtifactType, a.Type, of)
		if !second(t.Doc) {
			continue
		}
		if a.Repository.Name != "" {
			s.checkRepository(a.Repository, t.Doc, of)
		}
		if made := s.inherit(typ); made != nil {
			h := holder{s: s, self: s.selfOfType(t), of: of, doc: t.Doc, pos: a.Pos, props: made.Props, whole: made.Whole, assigned: a.Properties}
			h.check(Quoted(typ))
		}
	}
}
