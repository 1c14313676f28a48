// Package inherit computes types with all that they inherit: properties, requirements,
// capabilities and interfaces. It reports unknown types only, and starts no goroutine.
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

// Index holds the types of some documents with all that they inherit. Each is computed
// when it is first used.
type Index struct {
	*Reporter
	Docs  []*grammar.Document // the entry definition first
	types map[*grammar.Type]*Type
	flat  map[*grammar.Type]*NodeType
	faces map[*grammar.Type]map[string]*Interface
}

// NewIndex returns the index of some documents, the entry definition first.
func NewIndex(docs []*grammar.Document, draft bool) *Index {
	return &Index{
		Reporter: &Reporter{File: docs[0].File, Draft: draft, Limit: maxWork}, Docs: docs,
		types: map[*grammar.Type]*Type{}, flat: map[*grammar.Type]*NodeType{}, faces: map[*grammar.Type]map[string]*Interface{},
	}
}

func quote(s string) string { return diag.Quote(s) }

func (ix *Index) WholeNodeType(t *grammar.Type) *NodeType {
	if t == nil || !ix.Inherit(t).Complete {
		return nil
	}
	return ix.Flatten(t)
}

// AnyDerived reports whether has is true of one of the types derived from a node type. A
// filter may name members that only derived types have.
func (ix *Index) AnyDerived(t *NodeType, has func(*NodeType) bool) bool {
	for _, doc := range ix.Docs {
		for _, other := range doc.Types[grammar.NodeType] {
			if !ix.Spend(PerCandidate) {
				return true
			}
			if made := ix.Inherit(other); slices.ContainsFunc(made.Chain, t.Same) && (!made.Complete || has(ix.Flatten(other))) {
				return true
			}
		}
	}
	return false
}

// PerCandidate is the work of comparing a type with a filter.
const PerCandidate = 16

// Chain returns the ancestors of a type, as Ancestors does, and caches them. It returns
// nil for nil.
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

// Candidates is Keys while suggestions are still made, and nil after that.
func Candidates[V any](s interface{ Suggesting() bool }, m map[string]V) []string {
	if !s.Suggesting() {
		return nil
	}
	return Keys(m)
}

// Quoted returns the type's kind and name for a message.
func Quoted(t *grammar.Type) string { return t.Kind.String() + " " + quote(t.Name) }

// ChainHas reports whether one of the types has a name.
func ChainHas(chain []*grammar.Type, name string) bool {
	return slices.ContainsFunc(chain, func(t *grammar.Type) bool { return t.Name == name })
}

// Bare reports whether a type is one of the Simple Profile without properties. Examples
// in the standard assign properties of such types.
func Bare(t *grammar.Type) bool {
	return t.Doc.Embedded && strings.HasPrefix(t.Name, "tosca.") && !t.Doc.V2()
}

// Known is Lookup, or nil without a report if no name is given.
func (ix *Index) Known(doc *grammar.Document, kind grammar.Kind, ref grammar.Ref, of string) *grammar.Type {
	if ref.Name == "" {
		return nil
	}
	return ix.Lookup(doc, kind, ref, of)
}

// Lookup returns a type, or reports that it is unknown; of names the subject. The report
// is a warning if a missing file may define the type.
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
		ix.Perhaps(ref.Pos, code.TypeUnknown, ref.Name, candidates, "%s: unknown %s %q: it may be in a missing file", of, kind, ref.Name)
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

// isTosKers reports whether the type has a name of TosKer's.
func isTosKers(name string) bool { return strings.HasPrefix(name, "tosker.") }

// isToskoses reports whether the type has a name of Toskose's own types.
func isToskoses(name string) bool {
	return strings.HasPrefix(name, "toskose.nodes.") || strings.HasPrefix(name, "toskose.interfaces.")
}

// MaxDerived bounds the number of ancestors.
const MaxDerived = 100

// Ancestors returns a type and its ancestors. It stops without a report at an unknown
// ancestor or a cycle.
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

// IsA reports whether one of the types is typ. Normative types are also equal by name,
// as a document may define its own copy.
func IsA(chain []*grammar.Type, typ *grammar.Type) bool {
	return slices.ContainsFunc(chain, typ.Same) ||
		typ.Doc.Embedded && slices.ContainsFunc(chain, func(t *grammar.Type) bool { return t.Kind == typ.Kind && t.Name == typ.Name })
}

// MemberNames lists the properties or attributes for messages. Properties count as
// attributes, too.
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

// maxWork bounds the work for one document, such as values that are inherited by many
// types, compared with many others, or copied. The unit is a value or a byte. A topology
// of 100,000 nodes takes a tenth of it.
const maxWork = 200 << 20

// Reporter collects diagnostics of a service template and counts the work.
type Reporter struct {
	diag.Collector
	File  string // the entry definition
	Draft bool   // incomplete parts are warnings
	Work  int    // so far
	Limit int    // of Work
}

// Spend counts work and reports whether the limit is not exceeded. If false, the caller
// stops; the first excess is reported to the user.
func (r *Reporter) Spend(n int) bool {
	before := r.Work
	r.Work = min(r.Work+n, 2*r.Limit)
	if before <= r.Limit && r.Spent() {
		r.Errorf(diag.Position{File: r.File}, code.Work, "the document is too large once its types and functions are worked out")
	}
	return !r.Spent()
}

// Spent reports whether the limit of work is exceeded.
func (r *Reporter) Spent() bool { return r.Work > r.Limit }

// Incomplete reports a missing part: a warning in a draft, else an error.
func (r *Reporter) Incomplete(at diag.Position, code, format string, args ...any) {
	if r.Draft {
		r.Warnf(at, code, format, args...)
		return
	}
	r.Errorf(at, code, format, args...)
}
