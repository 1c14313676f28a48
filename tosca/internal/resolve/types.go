package resolve

import (
	"fmt"
	"slices"
	"strings"

	"github.com/toskose/toskose/tosca/diag"
	"github.com/toskose/toskose/tosca/internal/data"
	"github.com/toskose/toskose/tosca/internal/grammar"
)

func quote(s string) string { return diag.Quote(s) }

// Quoted names a type in a message.
func Quoted(t *grammar.Type) string { return t.Kind.String() + " " + quote(t.Name) }

// ChainHas tells whether one of the types is the one named.
func ChainHas(chain []*grammar.Type, name string) bool {
	return slices.ContainsFunc(chain, func(t *grammar.Type) bool { return t.Name == name })
}

// bare tells whether a type is one of those of the Simple Profile that say nothing
// of properties, though the standard's own examples assign some.
func bare(t *grammar.Type) bool {
	return t.Doc.Embedded && strings.HasPrefix(t.Name, "tosca.") && !second(t.Doc)
}

// second tells whether the rules of TOSCA 2.0 apply, instead of those of 1.x.
func second(doc *grammar.Document) bool { return doc.Version == "tosca_2_0" }

// third tells whether a document is of 1.3, which says more than what was before
// it.
func third(doc *grammar.Document) bool { return doc.Version == "tosca_simple_yaml_1_3" }

// checkTypes looks at the types that are written in the archive, so that a
// mistake in a type is reported whether it is used or not.
func (s *Service) checkTypes() {
	for _, doc := range s.docs {
		if doc.Embedded || doc.Scope() == nil {
			continue
		}
		for _, types := range doc.Types {
			for _, t := range types {
				s.checkType(t)
			}
		}
		for _, f := range doc.Functions {
			s.checkFunction(f, doc)
		}
	}
}

// checkFunction checks the definition of a function (TOSCA 2.0, 10.4).
func (s *Service) checkFunction(f *grammar.FunctionDef, doc *grammar.Document) {
	for i, sig := range f.Signatures {
		p := data.Place{Of: fmt.Sprintf("function %q: signature %d", f.Name, i+1), Doc: doc}
		for _, schema := range append(slices.Clone(sig.Arguments), sig.Optional...) {
			s.eval.DeclareSchema(schema, doc, p)
		}
		s.eval.DeclareSchema(sig.Result, doc, p)
		if sig.Implementation != nil {
			s.checkInlineArtifacts(sig.Implementation, p)
		}
	}
}

func (s *Service) checkType(t *grammar.Type) {
	of := Quoted(t)
	if v := t.Version; v.Name != "" && !data.IsVersion(v.Name, second(t.Doc)) {
		s.Errorf(v.Pos, codeTypeVersion, "%s: %q is no version, such as \"1.2\" or 1.2.3.beta-4", of, v.Name)
	}
	if t.Kind == grammar.DataType {
		s.chain(t)
		s.eval.DeclareType(t, data.Place{Of: of})
		s.checkTyped(t, of)
		s.checkRefined(t)
		return
	}
	s.chain(t)
	for _, r := range t.Requirements {
		s.checkRequirementDef(t, r, of+": requirement "+quote(r.Name))
	}
	for _, d := range t.Capabilities {
		s.checkCapabilityDef(t, d, of+": capability "+quote(d.Name))
	}
	s.checkInterfaceDefs(t, t.Interfaces, of)
	s.checkTypeArtifacts(t, of)
	for _, trigger := range t.Triggers {
		s.checkWhen(trigger, of+": trigger "+quote(trigger.Name), data.Place{Doc: t.Doc, Self: data.Anything}, data.Anything)
	}
	s.checkValidLists(t, of)
	s.checkDefinitions(t, of)
	s.checkTyped(t, of)
	s.checkRefined(t)
}

// checkTyped reports what has no type, and inherits none. Of a type that is
// derived from nothing the grammar says so.
func (s *Service) checkTyped(t *grammar.Type, of string) {
	whole := s.inherit(t)
	if t.DerivedFrom.Name == "" || !whole.Whole || second(t.Doc) {
		return
	}
	for _, list := range []struct {
		written []*grammar.Property
		made    map[string]*data.Definition
	}{{t.Properties, whole.Props}, {t.Attributes, whole.Attrs}} {
		for _, p := range list.written {
			if made := list.made[p.Name]; made != nil && made.TypeName() == "" && (p.Value == nil || !slices.Contains(t.Attributes, p)) {
				s.Errorf(p.Pos, codeUntyped, "%s: %q has no type, and inherits none", of, p.Name)
				made.Value, made.Required = nil, false // nobody can tell what fits it
			}
		}
	}
	if !slices.ContainsFunc(t.Capabilities, func(d *grammar.CapabilityDef) bool { return d.Type.Name == "" }) {
		return
	}
	typed := map[string]bool{} // of all that it inherits
	for _, at := range whole.Chain {
		if !s.Spend(len(at.Capabilities)) {
			return
		}
		for _, c := range at.Capabilities {
			typed[c.Name] = typed[c.Name] || c.Type.Name != ""
		}
	}
	for _, d := range t.Capabilities {
		if !typed[d.Name] {
			s.Errorf(d.Pos, codeUntyped, "%s: capability %q has no type, and inherits none", of, d.Name)
		}
	}
}

// checkDefinitions checks the properties and attributes of a type and of its
// capabilities, where they are written.
func (s *Service) checkDefinitions(t *grammar.Type, of string) {
	whole := s.inherit(t)
	s.declareAll(t.Properties, whole.Props, t, whole.Whole, of)
	s.declareAll(t.Attributes, whole.Attrs, t, whole.Whole, of)
	if t.Kind != grammar.NodeType {
		return
	}
	made := s.flatten(t)
	for _, d := range t.Capabilities {
		of := of + ": capability " + quote(d.Name)
		c := made.Caps[d.Name]
		s.declareAll(d.Properties, c.Props, t, false, of)
		s.declareAll(d.Attributes, c.Attrs, t, false, of)
		if c.Typ == nil && d.Type.Name == "" && t.DerivedFrom.Name != "" && whole.Whole && second(t.Doc) { // else the grammar says so
			s.Errorf(d.Pos, codeMissing, "%s has no type, and inherits none", of)
		}
	}
}

// declareAll checks definitions of properties or attributes. One that refines
// nothing needs a type; where a type is derived from nothing, the grammar says
// so.
func (s *Service) declareAll(props []*grammar.Property, made map[string]*data.Definition, t *grammar.Type, whole bool, of string) {
	for _, p := range props {
		def := s.refining(made[p.Name], p, t.Doc)
		of := of + ": " + quote(p.Name)
		if def.TypeName() == "" && whole && second(t.Doc) {
			if t.DerivedFrom.Name != "" {
				s.Errorf(p.Pos, codeMissing, "%s has no type, and inherits none", of)
			}
			continue
		}
		s.eval.Declare(def, data.Place{Of: of, Self: s.selfOfType(t)})
	}
}

// refining is the definition that was made of a property, which knows what it
// refines; where too much was made of others, one that does not.
func (s *Service) refining(made *data.Definition, p *grammar.Property, doc *grammar.Document) *data.Definition {
	if made != nil && made.Schema.Pos == p.Pos {
		return made
	}
	return data.From(p, doc)
}

// checkValidLists checks that the types exist which a type restricts others to.
func (s *Service) checkValidLists(t *grammar.Type, of string) {
	targets := map[grammar.Kind][]grammar.Kind{
		grammar.RelationshipType: {grammar.CapabilityType, grammar.NodeType},
		grammar.GroupType:        {grammar.NodeType, grammar.GroupType},
		grammar.PolicyType:       {grammar.NodeType, grammar.GroupType, grammar.RelationshipType},
	}
	if second(t.Doc) {
		targets[grammar.RelationshipType] = []grammar.Kind{grammar.CapabilityType}
		targets[grammar.PolicyType] = []grammar.Kind{grammar.NodeType, grammar.GroupType}
	}
	if kinds := targets[t.Kind]; kinds != nil {
		s.allKnown(t.Doc, t.Targets, of, kinds...)
	}
	s.allKnown(t.Doc, t.Sources, of, grammar.NodeType)
	s.allKnown(t.Doc, t.TargetNodes, of, grammar.NodeType)
	s.allKnown(t.Doc, t.Relations, of, grammar.RelationshipType)
}

// known looks a type up, if one is named.
func (s *Service) known(doc *grammar.Document, kind grammar.Kind, ref grammar.Ref, of string) *grammar.Type {
	if ref.Name == "" {
		return nil
	}
	return s.Lookup(doc, kind, ref, of)
}

// allKnown looks types up, each of which may be of one of some kinds.
func (s *Service) allKnown(doc *grammar.Document, refs []grammar.Ref, of string, kinds ...grammar.Kind) {
next:
	for _, ref := range refs {
		for _, kind := range kinds {
			if doc.Scope().Lookup(kind, ref.Name) != nil {
				continue next
			}
		}
		s.known(doc, kinds[0], ref, of)
	}
}

// Lookup finds a type, or says that there is none; of names the subject. Where
// a file is not at hand that may define it, that is a warning.
func (s *Service) Lookup(doc *grammar.Document, kind grammar.Kind, ref grammar.Ref, of string) *grammar.Type {
	scope := doc.Scope()
	if t := scope.Lookup(kind, ref.Name); t != nil {
		return t
	}
	if scope.Unread(kind) {
		return nil
	}
	var candidates []string
	if s.Suggesting() {
		candidates = scope.Names(kind)
		if kind == grammar.DataType {
			candidates = append(candidates, data.TypeNames(doc)...)
		}
	}
	if scope.Open() {
		s.Perhaps(ref.Pos, codeTypeUnknown, ref.Name, candidates, "%s: unknown %s %q: it may be in a file that is not at hand", of, kind, ref.Name)
		return nil
	}
	s.Unknown(ref.Pos, codeTypeUnknown, ref.Name, candidates, "%s: unknown %s %q", of, kind, ref.Name)
	return nil
}

// maxDerived bounds how many types a type is derived through.
const maxDerived = 100

// chain walks a type and its ancestors. A cycle is reported, and so is an
// unknown ancestor.
func (s *Service) chain(t *grammar.Type) {
	var chain []*grammar.Type
	for t != nil {
		if slices.Contains(chain, t) {
			s.Errorf(t.DerivedFrom.Pos, codeTypeCycle, "%s is derived from itself", Quoted(t))
			return
		}
		if len(chain) == maxDerived {
			s.Errorf(t.DerivedFrom.Pos, codeTypeCycle, "%s is derived through more than %d types", Quoted(chain[0]), maxDerived)
			return
		}
		chain = append(chain, t)
		parent := t.DerivedFrom
		if parent.Name == "" || (t.Kind == grammar.DataType && data.IsBuiltin(parent.Name, t.Doc)) {
			return
		}
		t = s.Lookup(t.Doc, t.Kind, parent, Quoted(t))
	}
}

// Ancestors gives a type and what it is derived from. It reports nothing, and
// ends where an ancestor is not known or is the type itself.
func Ancestors(t *grammar.Type) []*grammar.Type {
	var chain []*grammar.Type
	for t != nil && len(chain) < maxDerived && !slices.Contains(chain, t) {
		chain = append(chain, t)
		t = t.Doc.Scope().Lookup(t.Kind, t.DerivedFrom.Name)
	}
	return chain
}

// derives tells whether a type is another one or derived from it.
func derives(t, from *grammar.Type) bool { return isA(Ancestors(t), from) }

// isA tells whether one of the types is the one asked for. What TOSCA defines asks
// for its types by name, also where a document has its own of them.
func isA(chain []*grammar.Type, typ *grammar.Type) bool {
	return slices.ContainsFunc(chain, typ.Same) ||
		typ.Doc.Embedded && slices.ContainsFunc(chain, func(t *grammar.Type) bool { return t.Kind == typ.Kind && t.Name == typ.Name })
}
