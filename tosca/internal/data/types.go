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
	plain  string                 // built-in base type; "" for a complex type
	chain  []*grammar.Type        // types that are not built in, root first
	whole  bool                   // all ancestors are known
	fields map[string]*Definition // of a complex type
	scalar *scalar                // of a concrete scalar type of 2.0
	entry  *Definition            // of a type derived from list or map; nil if undefined
	key    *Definition
}

// Name returns the name of the type where it is used.
func (t *Type) Name() string { return t.name }

// definition returns a definition of the type.
func (t *Type) definition() *Definition {
	if len(t.chain) == 0 {
		return Of(t.name, t.doc)
	}
	own := t.chain[len(t.chain)-1]
	return Of(own.Name, own.Doc)
}

// named returns a data type by its name in the document, or nil, which is reported where
// the name is checked.
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

// defined returns a data type that is not built in.
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

// derive combines a type with its ancestors. A cycle is cut here, and reported by the
// check of types.
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

// scalar combines the units of a scalar type. Errors are reported by the check of the
// type.
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
		if len(prefixes) == 0 { // else a plain unit needs an empty prefix
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

// format returns the required format of a string, for the normative types of JSON and
// XML (TOSCA 1.3, 5.3.2 and 5.3.3), or "".
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

// Definition describes valid values: of a property, attribute or parameter, or of keys
// or entries.
type Definition struct {
	Schema   *grammar.Schema
	Doc      *grammar.Document // resolves its names
	Default  *source.Node
	Value    *source.Node // fixed, in 2.0
	Required bool
	Refines  *Definition // the parent type's definition, which still applies
}

// From returns the definition of a property in a document.
func From(p *grammar.Property, doc *grammar.Document) *Definition {
	s := &grammar.Schema{
		Pos: p.Pos, Type: p.Type, Constraints: p.Constraints, Validation: p.Validation, Key: p.KeySchema, Entry: p.EntrySchema,
	}
	if s.Entry == nil && (p.EntryType.Name != "" || len(p.Entry) > 0) {
		s.Entry = &grammar.Schema{Pos: p.EntryType.Pos, Type: p.EntryType, Constraints: p.Entry}
	}
	return &Definition{Schema: s, Doc: doc, Default: p.Default, Value: p.Value, Required: p.Required}
}

// Of returns a definition of a type.
func Of(typ string, doc *grammar.Document) *Definition {
	return &Definition{Schema: &grammar.Schema{Type: grammar.Ref{Name: typ}}, Doc: doc}
}

func (d *Definition) nested(s *grammar.Schema) *Definition {
	if s == nil {
		return nil
	}
	return &Definition{Schema: s, Doc: d.Doc, Required: true}
}

// TypeName returns the name of the type, which may be inherited.
func (d *Definition) TypeName() string {
	for ; d != nil; d = d.Refines {
		if d.Schema.Type.Name != "" {
			return d.Schema.Type.Name
		}
	}
	return ""
}

// Fallback returns the value used if none is given: the fixed value, or the default,
// which may be inherited.
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

// markInvalid marks a default or fixed value as wrong.
func (e *Evaluator) markInvalid(v *source.Node) {
	if e.invalid == nil {
		e.invalid = map[*source.Node]bool{}
	}
	e.invalid[v] = true
}

// IsInvalid reports whether Declare has reported a default or fixed value, so that its
// users need not.
func (e *Evaluator) IsInvalid(v *source.Node) bool { return e.invalid[v] }

// Fixed reports whether the definition has a fixed value, which cannot be assigned
// (TOSCA 2.0, 9.4).
func (d *Definition) Fixed() bool {
	for ; d != nil; d = d.Refines {
		if d.Value != nil {
			return true
		}
	}
	return false
}

// Type returns the data type, or nil if unknown.
func (e *Evaluator) Type(d *Definition) *Type {
	for ; d != nil; d = d.Refines {
		if d.Schema.Type.Name != "" {
			return e.named(d.Schema.Type.Name, d.Doc)
		}
	}
	return nil
}

// Plain returns the built-in base type of a definition, "map" for a complex type, or ""
// if unknown.
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

// Entry returns the definition of the entries of a list or map, or nil if unknown.
func (e *Evaluator) Entry(d *Definition) *Definition { return e.entry(d) }

// Key returns the definition of the keys of a map, or nil if unknown.
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

// entry returns the definition of the entries of a list or map, or nil if unknown.
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

// Within returns the definition of a part of a value, by keys and indices, or nil if
// unknown. ok is false if there can be no such part.
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
