package data

import (
	"math/big"
	"slices"

	"github.com/toskose/toskose/tosca/internal/grammar"
	"github.com/toskose/toskose/tosca/internal/source"
)

// Type is a data type with all that it inherits.
type Type struct {
	name   string
	doc    *grammar.Document
	plain  string                 // the built-in type beneath; "" for a complex type
	chain  []*grammar.Type        // those that are not built in, eldest first
	whole  bool                   // the chain ends where it should, so all is known
	fields map[string]*Definition // of a complex type
	scalar *scalar                // of a concrete scalar type of 2.0
	entry  *Definition            // of a type that is derived from list or map; nil: not said
	key    *Definition
}

// Name is what the type is called where it is used.
func (t *Type) Name() string { return t.name }

// definition makes a definition of the type.
func (t *Type) definition() *Definition {
	if len(t.chain) == 0 {
		return Of(t.name, t.doc)
	}
	own := t.chain[len(t.chain)-1]
	return Of(own.Name, own.Doc)
}

// named finds a data type by the name that a document knows it by; nil if there
// is none, which is said where the name is checked.
func (e *Evaluator) named(name string, doc *grammar.Document) *Type {
	key := builtinName{name, doc.V2()}
	if made := e.plain[key]; made != nil && !dropped(made.plain, doc) {
		return made
	}
	plain, ok := builtin(name, doc)
	if !ok || dropped(plain, doc) {
		if made := e.defined(name, doc); made != nil || !ok {
			return made
		}
	}
	if e.plain[key] == nil {
		if e.plain == nil {
			e.plain = map[builtinName]*Type{}
		}
		e.plain[key] = &Type{name: name, doc: doc, plain: plain, whole: true}
	}
	return e.plain[key]
}

// defined finds a data type that is not built in.
func (e *Evaluator) defined(name string, doc *grammar.Document) *Type {
	if doc == nil || doc.Scope() == nil {
		return nil
	}
	t := doc.Scope().Lookup(grammar.DataType, name)
	if t == nil {
		return nil
	}
	if made, ok := e.types[t]; ok {
		return made
	}
	if e.types == nil {
		e.types = map[*grammar.Type]*Type{}
	}
	made := &Type{name: name, doc: t.Doc, fields: map[string]*Definition{}}
	e.types[t] = made
	e.derive(made, t)
	return made
}

// derive puts together what a type and its ancestors say. A cycle among them is
// cut, and reported where types are checked.
func (e *Evaluator) derive(made *Type, t *grammar.Type) {
	for t != nil && len(made.chain) < maxChain && !slices.Contains(made.chain, t) {
		made.chain = append(made.chain, t)
		parent := t.DerivedFrom.Name
		next := t.Doc.Scope().Lookup(grammar.DataType, parent)
		if plain, ok := builtin(parent, t.Doc); ok && (next == nil || !dropped(plain, t.Doc)) {
			made.plain = plain
		}
		if parent == "" || made.plain != "" {
			made.whole = true
			break
		}
		t = next
	}
	slices.Reverse(made.chain)
	for _, at := range made.chain {
		if !e.spend(1 + len(at.Properties)) {
			return
		}
		for _, p := range at.Properties {
			def := From(p, at.Doc)
			def.Refines = made.fields[p.Name]
			made.fields[p.Name] = def
		}
		if at.Entry != nil {
			made.entry = &Definition{Schema: at.Entry, Doc: at.Doc, Required: true, Refines: made.entry}
		}
		if at.Key != nil {
			made.key = &Definition{Schema: at.Key, Doc: at.Doc, Required: true, Refines: made.key}
		}
	}
	if made.plain == tScalar {
		made.scalar = e.scalar(made.chain)
	}
}

// scalar puts together the units of a scalar type. What is wrong with them is
// reported where the type is checked.
func (e *Evaluator) scalar(chain []*grammar.Type) *scalar {
	s := &scalar{units: map[string]*big.Rat{}, number: e.named(tFloat, nil)}
	bare, prefixes := map[string]*big.Rat{}, map[string]*big.Rat{}
	for _, t := range chain {
		multipliers(bare, t.Scalar.Units)
		multipliers(prefixes, t.Scalar.Prefixes)
		if name := t.Scalar.DataType.Name; name != "" {
			s.dataType = name
			if number := e.named(name, t.Doc); number != nil {
				s.number = number
			}
		}
		if t.Scalar.Canonical.Name != "" {
			s.canonical = t.Scalar.Canonical.Name
		}
	}
	s.bare, s.prefixed = bare, len(prefixes) > 0
	for name, worth := range bare {
		if !e.spend(1 + len(prefixes)) {
			return s
		}
		if len(prefixes) == 0 { // else the unit alone is one of them if there is an empty prefix
			s.units[name] = worth
		}
		for prefix, times := range prefixes {
			s.units[prefix+name] = new(big.Rat).Mul(worth, times)
		}
	}
	return s
}

func multipliers(to map[string]*big.Rat, from *source.Node) {
	for k, v := range from.Pairs() {
		if v.Kind != source.Int && v.Kind != source.Float {
			continue
		}
		if worth, ok := rational(v.Text); ok && worth.Sign() > 0 {
			to[k.Text] = worth
		}
	}
}

// format is what a string of the type must be written in, by the normative
// types for JSON and XML (TOSCA 1.3, 5.3.2 and 5.3.3); "" for any other.
func (t *Type) format() string {
	for _, at := range t.chain {
		switch at.Name {
		case "tosca.datatypes.json":
			return "JSON"
		case "tosca.datatypes.xml":
			return "XML"
		}
	}
	return ""
}

// Definition says what a value must be: a property's, attribute's or
// parameter's definition, or a schema of keys or entries.
type Definition struct {
	Schema   *grammar.Schema
	Doc      *grammar.Document // whose names it uses
	Default  *source.Node
	Value    *source.Node // fixed; in 2.0
	Required bool
	Refines  *Definition // the one of the parent type: what it demands is still demanded
}

// From makes a definition of what a document says of a property.
func From(p *grammar.Property, doc *grammar.Document) *Definition {
	s := &grammar.Schema{
		Pos: p.Pos, Type: p.Type, Constraints: p.Constraints, Validation: p.Validation, Key: p.KeySchema, Entry: p.EntrySchema,
	}
	if s.Entry == nil && (p.EntryType.Name != "" || len(p.Entry) > 0) {
		s.Entry = &grammar.Schema{Pos: p.EntryType.Pos, Type: p.EntryType, Constraints: p.Entry}
	}
	return &Definition{Schema: s, Doc: doc, Default: p.Default, Value: p.Value, Required: p.Required}
}

// Of makes a definition of nothing but a type.
func Of(typ string, doc *grammar.Document) *Definition {
	return &Definition{Schema: &grammar.Schema{Type: grammar.Ref{Name: typ}}, Doc: doc}
}

func (d *Definition) nested(s *grammar.Schema) *Definition {
	if s == nil {
		return nil
	}
	return &Definition{Schema: s, Doc: d.Doc, Required: true}
}

// TypeName is the name of the type, the parent's where none is written.
func (d *Definition) TypeName() string {
	for ; d != nil; d = d.Refines {
		if d.Schema.Type.Name != "" {
			return d.Schema.Type.Name
		}
	}
	return ""
}

// Fallback is what stands where no value is given, if anything: the fixed value,
// or else the default, which may be the parent's.
func (d *Definition) Fallback() *source.Node {
	for at := d; at != nil; at = at.Refines {
		if at.Value != nil {
			return at.Value
		}
		if at.Default != nil {
			return at.Default
		}
	}
	return nil
}

// blame remembers a default or fixed value that is wrong.
func (e *Evaluator) blame(v *source.Node) {
	if e.blamed == nil {
		e.blamed = map[*source.Node]bool{}
	}
	e.blamed[v] = true
}

// Blamed reports whether a default or fixed value is wrong, and Declare said so:
// whoever falls back on it need not say it again.
func (e *Evaluator) Blamed(v *source.Node) bool { return e.blamed[v] }

// Fixed reports whether the value may not be assigned, for it was said where the
// property was defined (TOSCA 2.0, 9.4).
func (d *Definition) Fixed() bool {
	for ; d != nil; d = d.Refines {
		if d.Value != nil {
			return true
		}
	}
	return false
}

// Type returns the data type; nil where it is not known.
func (e *Evaluator) Type(d *Definition) *Type {
	for ; d != nil; d = d.Refines {
		if d.Schema.Type.Name != "" {
			return e.named(d.Schema.Type.Name, d.Doc)
		}
	}
	return nil
}

// Plain returns the built-in type that a definition comes down to, "map" for a
// complex type, and "" where that is not known.
func (e *Evaluator) Plain(d *Definition) string {
	t := e.Type(d)
	switch {
	case t == nil:
		return ""
	case t.plain == "" && len(t.fields) > 0:
		return tMap
	}
	return t.plain
}

// Entry and Key return what the entries and keys of a list or map are; nil where
// that is not known.
func (e *Evaluator) Entry(d *Definition) *Definition { return e.entry(d) }

// Key is described at Entry.
func (e *Evaluator) Key(d *Definition) *Definition {
	for at := d; at != nil; at = at.Refines {
		if at.Schema.Key != nil {
			return at.nested(at.Schema.Key)
		}
	}
	if t := e.Type(d); t != nil {
		return t.key
	}
	return nil
}

// entry returns what the entries of a list or map are; nil where that is not
// known.
func (e *Evaluator) entry(d *Definition) *Definition {
	for at := d; at != nil; at = at.Refines {
		if at.Schema.Entry != nil {
			return at.nested(at.Schema.Entry)
		}
	}
	if t := e.Type(d); t != nil {
		return t.entry
	}
	return nil
}

// Within returns what a part of a value is, by keys and indices; nil where that
// is not known. ok is false where there can be no such part.
func (e *Evaluator) Within(d *Definition, path ...string) (part *Definition, ok bool) {
	for i, step := range path {
		t := e.Type(d)
		switch {
		case t == nil:
			return nil, true
		case t.plain == "" || t.plain == tMap && len(t.fields) > 0:
			field := t.fields[step]
			if field == nil && t.plain == "" {
				return nil, !t.whole
			}
			d = field
		case t.plain == tList || t.plain == tMap:
			d = e.entry(d)
		case t.plain == tRange:
			return Of(tInteger, d.Doc), i == len(path)-1
		default:
			return nil, false
		}
		if d == nil {
			return nil, true
		}
	}
	return d, true
}
