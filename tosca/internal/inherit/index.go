// Package inherit puts together what types define: each with all that it inherits,
// its properties, requirements, capabilities and interfaces. It reports names of
// types that nobody defines, and no more. It starts no goroutine.
package inherit

import (
	"maps"
	"slices"
	"strings"

	"github.com/toskose/toskose/tosca/diag"
	"github.com/toskose/toskose/tosca/internal/code"
	"github.com/toskose/toskose/tosca/internal/data"
	"github.com/toskose/toskose/tosca/internal/grammar"
)

// Index has the types of some documents with all that they inherit, each made when
// somebody asks for it.
type Index struct {
	*Reporter
	Docs  []*grammar.Document // the entry definition first
	types map[*grammar.Type]*Type
	flat  map[*grammar.Type]*NodeType
	faces map[*grammar.Type]map[string]*Interface
}

// NewIndex makes the index of some documents, the entry definition first.
func NewIndex(docs []*grammar.Document, draft bool) *Index {
	return &Index{
		Reporter: &Reporter{File: docs[0].File, Draft: draft, Limit: maxWork}, Docs: docs,
		types: map[*grammar.Type]*Type{}, flat: map[*grammar.Type]*NodeType{}, faces: map[*grammar.Type]map[string]*Interface{},
	}
}

func quote(s string) string { return diag.Quote(s) }

func (ix *Index) WholeNodeType(t *grammar.Type) *NodeType {
	if t == nil || !ix.Inherit(t).Whole {
		return nil
	}
	return ix.Flatten(t)
}

// Somewhere reports whether one of the node types that are derived from a type
// has what a filter names: it then chooses among those.
func (ix *Index) Somewhere(t *NodeType, has func(*NodeType) bool) bool {
	for _, doc := range ix.Docs {
		for _, other := range doc.Types[grammar.NodeType] {
			if !ix.Spend(PerCandidate) {
				return true
			}
			if made := ix.Inherit(other); slices.ContainsFunc(made.Chain, t.Same) && (!made.Whole || has(ix.Flatten(other))) {
				return true
			}
		}
	}
	return false
}

// PerCandidate is the work of looking at what a filter may choose.
const PerCandidate = 16

// Chain returns a type with its ancestors, as Ancestors does, once; none for nil.
func (ix *Index) Chain(t *grammar.Type) []*grammar.Type {
	if t == nil {
		return nil
	}
	return ix.Inherit(t).Chain
}

// Keys returns the keys of a map, sorted.
func Keys[V any](m map[string]V) []string {
	if len(m) == 0 {
		return nil
	}
	names := slices.AppendSeq(make([]string, 0, len(m)), maps.Keys(m))
	slices.Sort(names)
	return names
}

// Candidates is Keys as long as one of them may be suggested.
func Candidates[V any](s interface{ Suggesting() bool }, m map[string]V) []string {
	if !s.Suggesting() {
		return nil
	}
	return Keys(m)
}

// Quoted names a type in a message.
func Quoted(t *grammar.Type) string { return t.Kind.String() + " " + quote(t.Name) }

// ChainHas reports whether one of the types is the one named.
func ChainHas(chain []*grammar.Type, name string) bool {
	return slices.ContainsFunc(chain, func(t *grammar.Type) bool { return t.Name == name })
}

// Bare reports whether a type is one of those of the Simple Profile that say nothing
// of properties, though the standard's own examples assign some.
func Bare(t *grammar.Type) bool {
	return t.Doc.Embedded && strings.HasPrefix(t.Name, "tosca.") && !t.Doc.V2()
}

// Known looks a type up, if one is named.
func (ix *Index) Known(doc *grammar.Document, kind grammar.Kind, ref grammar.Ref, of string) *grammar.Type {
	if ref.Name == "" {
		return nil
	}
	return ix.Lookup(doc, kind, ref, of)
}

// Lookup finds a type, or says that there is none; of names the subject. Where
// a file is not at hand that may define it, that is a warning.
func (ix *Index) Lookup(doc *grammar.Document, kind grammar.Kind, ref grammar.Ref, of string) *grammar.Type {
	scope := doc.Scope()
	if t := scope.Lookup(kind, ref.Name); t != nil {
		if scope.Borrowed(kind, ref.Name) {
			ix.Warnf(ref.Pos, code.TypeUnknown, "%s: %s %q is defined in %q, which the file does not import", of, kind, ref.Name, t.Doc.File)
		}
		return t
	}
	if scope.Unread(kind) {
		return nil
	}
	var candidates []string
	if ix.Suggesting() {
		candidates = scope.Names(kind)
		if kind == grammar.DataType {
			candidates = append(candidates, data.TypeNames(doc)...)
		}
	}
	if scope.Open() {
		ix.Perhaps(ref.Pos, code.TypeUnknown, ref.Name, candidates, "%s: unknown %s %q: it may be in a file that is not at hand", of, kind, ref.Name)
		return nil
	}
	if isTosKers(ref.Name) && ix.Suggesting() && !slices.ContainsFunc(candidates, isTosKers) {
		ix.Errorf(ref.Pos, code.TypeUnknown, "%s: unknown %s %q: the file does not import tosker-types.yaml, which is built in", of, kind, ref.Name)
		return nil
	}
	if isToskoses(ref.Name) && ix.Suggesting() && !slices.ContainsFunc(candidates, isToskoses) {
		ix.Errorf(ref.Pos, code.TypeUnknown, "%s: unknown %s %q: the file does not import toskose-types.yaml, which is built in", of, kind, ref.Name)
		return nil
	}
	ix.Unknown(ref.Pos, code.TypeUnknown, ref.Name, candidates, "%s: unknown %s %q", of, kind, ref.Name)
	return nil
}

// isTosKers reports whether a type is named as TosKer's are.
func isTosKers(name string) bool { return strings.HasPrefix(name, "tosker.") }

// isToskoses reports whether a type is one of the kinds that Toskose's own types file has.
func isToskoses(name string) bool {
	return strings.HasPrefix(name, "toskose.nodes.") || strings.HasPrefix(name, "toskose.interfaces.")
}

// MaxDerived bounds how many types a type is derived through.
const MaxDerived = 100

// Ancestors returns a type and what it is derived from. It reports nothing, and
// ends where an ancestor is not known or is the type itself.
func Ancestors(t *grammar.Type) []*grammar.Type {
	var chain []*grammar.Type
	for t != nil && len(chain) < MaxDerived && !slices.Contains(chain, t) {
		chain = append(chain, t)
		t = t.Doc.Scope().Lookup(t.Kind, t.DerivedFrom.Name)
	}
	return chain
}

// Derives reports whether a type is another one or derived from it.
func Derives(t, from *grammar.Type) bool { return IsA(Ancestors(t), from) }

// IsA reports whether one of the types is the one asked for. What TOSCA defines asks
// for its types by name, also where a document has its own of them.
func IsA(chain []*grammar.Type, typ *grammar.Type) bool {
	return slices.ContainsFunc(chain, typ.Same) ||
		typ.Doc.Embedded && slices.ContainsFunc(chain, func(t *grammar.Type) bool { return t.Kind == typ.Kind && t.Name == typ.Name })
}

// MemberNames lists properties, or attributes, among which are all properties, for
// messages.
func MemberNames(m data.Member, props []string, attrs map[string]*data.Definition) []string {
	switch m {
	case data.Property:
		return slices.Clone(props)
	case data.Attribute:
		return append(slices.Clone(props), Keys(attrs)...)
	default:
		return nil
	}
}

// maxWork bounds what a document makes of itself: values inherited by many
// types, compared with many others, or written out many times. The unit is a
// value or a byte; a topology of 100,000 nodes needs a tenth of it.
const maxWork = 200 << 20

// Reporter gathers what is wrong with a service template, and counts the work
// that it makes.
type Reporter struct {
	diag.Collector
	File  string // the entry definition
	Draft bool   // it is still being written: what is incomplete is warned of
	Work  int    // done
	Limit int    // of it
}

// Spend counts work; it is false when there was too much, which is reported
// once. Whoever is told so leaves the rest undone.
func (r *Reporter) Spend(n int) bool {
	before := r.Work
	r.Work = min(r.Work+n, 2*r.Limit)
	if before <= r.Limit && r.Spent() {
		r.Errorf(diag.Position{File: r.File}, code.Work, "the document is too large once its types and functions are worked out")
	}
	return !r.Spent()
}

// Spent reports whether there was too much work.
func (r *Reporter) Spent() bool { return r.Work > r.Limit }

// Incomplete reports what a draft may lack, and nothing else.
func (r *Reporter) Incomplete(at diag.Position, code, format string, args ...any) {
	if r.Draft {
		r.Warnf(at, code, format, args...)
		return
	}
	r.Errorf(at, code, format, args...)
}
