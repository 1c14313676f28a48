package data

import (
	"github.com/toskose/toskose/tosca/internal/grammar"
	"github.com/toskose/toskose/tosca/internal/source"
)

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
