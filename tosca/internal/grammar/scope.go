package grammar

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/toskose/toskose/tosca/diag"
	"github.com/toskose/toskose/tosca/internal/code"
)

// importedDoc is a document with the import that names it.
type importedDoc struct {
	doc *Document
	by  Import
}

// Scope resolves names in a document: its own types, imported types with their prefixes,
// and before 2.0 the normative types.
type Scope struct {
	types        [kinds]map[string]*Type
	functions    map[string]*FunctionDef
	repositories map[string]*Repository
	prefixes     []string
	open         bool
	unread       [kinds]bool
	sorted       [kinds]func() []string // names of types
	sortedCalls  func() []string        // names of functions
	importer     *Scope                 // for 1.x, the first document that imports it
}

// Scope returns the document's scope.
func (d *Document) Scope() *Scope { return d.scope }

// Open reports whether a direct or indirect import is missing. Unknown names may be
// defined there.
func (s *Scope) Open() bool { return s.open }

// Unread reports whether types of a kind are unreadable (already reported). Unknown
// names may be theirs.
func (s *Scope) Unread(kind Kind) bool { return s.unread[kind] }

// Lookup returns a type by its name in the document, or nil. A document of 1.x also
// knows the types of documents that import it, though it should not.
func (s *Scope) Lookup(kind Kind, name string) *Type {
	t := s.lookup(kind, name)
	for up := s.importer; t == nil && up != nil && name != ""; up = up.importer {
		t = up.lookup(kind, name)
	}
	return t
}

// Borrowed reports whether only a document that imports this one defines the type.
func (s *Scope) Borrowed(kind Kind, name string) bool {
	return s.lookup(kind, name) == nil && s.Lookup(kind, name) != nil
}

func (s *Scope) lookup(kind Kind, name string) *Type {
	types := s.types[kind]
	if t := types[name]; t != nil || name == "" {
		return t
	}
	// The short forms of normative types (TOSCA 1.3, 5.2): tosca:Root and Root, with the
	// prefix of their import.
	at := strings.LastIndexByte(name, ':') + 1
	prefix, short := name[:at], name[at:]
	for _, full := range normativePrefixes[kind] {
		if t := types[prefix+full+short]; t != nil {
			return t
		}
		if prefix == "tosca:" {
			if t := types[full+short]; t != nil {
				return t
			}
		}
	}
	if t := types[short]; t != nil && prefix == "tosca:" && t.Doc.Embedded {
		return t
	}
	if full := otherNames[kind][short]; full != "" {
		if t := types[prefix+full]; t != nil {
			return t
		}
		if t := types[full]; t != nil && prefix == "tosca:" {
			return t
		}
	}
	// A prefix with a dot, as in some documents.
	for _, p := range s.prefixes {
		if rest, ok := strings.CutPrefix(name, strings.TrimSuffix(p, ":")+"."); ok && types[p+rest] != nil {
			return types[p+rest]
		}
	}
	return nil
}

var normativePrefixes = [kinds][]string{
	NodeType:         {"tosca.nodes.", "tosca.nodes.network.", "tosca.nodes.Storage."},
	RelationshipType: {"tosca.relationships.", "tosca.relationships.network."},
	CapabilityType:   {"tosca.capabilities.", "tosca.capabilities.network."},
	InterfaceType:    {"tosca.interfaces.node.lifecycle.", "tosca.interfaces.relationship.", "tosca.interfaces."},
	ArtifactType: {
		"tosca.artifacts.", "tosca.artifacts.Implementation.", "tosca.artifacts.Deployment.", "tosca.artifacts.Deployment.Image.",
		"tosca.artifacts.Deployment.Image.Container.",
	},
	DataType:   {"tosca.datatypes.", "tosca.datatypes.network."},
	GroupType:  {"tosca.groups."},
	PolicyType: {"tosca.policies."},
}

// otherNames are other names of normative types: names in 1.0 and 1.1, which 1.2
// changed, and shorthand names (TOSCA 1.3, 5.9.9 and 9.1.4).
var otherNames = [kinds]map[string]string{
	NodeType: {
		"tosca.nodes.BlockStorage":  "tosca.nodes.Storage.BlockStorage",
		"tosca.nodes.ObjectStorage": "tosca.nodes.Storage.ObjectStorage",
		"AbstractStorage":           "tosca.nodes.Abstract.Storage",
	},
	ArtifactType: {
		"Template.Jinja2": "tosca.artifacts.template.Jinja2", "template.jinja2": "tosca.artifacts.template.Jinja2",
		"Template.Twig": "tosca.artifacts.template.Twig", "template.twig": "tosca.artifacts.template.Twig",
	},
}

// Names returns the sorted names of a kind. The result must not be changed.
func (s *Scope) Names(kind Kind) []string { return s.sorted[kind]() }

// Function returns a function that the document or an import defines, or nil.
func (s *Scope) Function(name string) *FunctionDef { return s.functions[name] }

// FunctionNames returns the sorted names of functions. The result must not be changed.
func (s *Scope) FunctionNames() []string { return s.sortedCalls() }

// Repository returns a repository that the document or an import defines, or nil.
func (s *Scope) Repository(name string) *Repository { return s.repositories[name] }

// RepositoryNames returns the sorted names of repositories.
func (s *Scope) RepositoryNames() []string { return keys(s.repositories) }

func keys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// fill adds the types of a document whose names are not in use.
func (s *Scope) fill(from *Document) {
	for kind, types := range from.Types {
		for _, t := range types {
			if s.types[kind][t.Name] == nil {
				s.types[kind][t.Name] = t
			}
		}
	}
}

func (l *loader) define(s *Scope, doc *Document, at route) {
	for kind, types := range at.doc.Types {
		for _, t := range types {
			name := at.prefix + t.Name
			other := s.types[kind][name]
			switch {
			case other == nil || other == t:
				s.types[kind][name] = t
			case l.normative(t) || l.normative(other):
				l.replace(s, doc, t, other, name)
			case at.doc != doc && other.Doc != doc && t.Same(other): // the same type
			default:
				at.reportDuplicate(l, doc, t, other, name)
			}
		}
	}
	for _, f := range at.doc.Functions {
		l.defineFunction(s, doc, at, f)
	}
	for name, repo := range at.doc.Repositories {
		if s.repositories[at.prefix+name] == nil {
			s.repositories[at.prefix+name] = repo
		}
	}
}

// defineFunction adds a function. A definition in a service template is for its own
// document, and refines the imported function of its name.
func (l *loader) defineFunction(s *Scope, doc *Document, at route, f *FunctionDef) {
	name := at.prefix + f.Name
	other := s.functions[name]
	switch {
	case f.Local && at.doc != doc || other == f:
	case other == nil:
		s.functions[name] = f
	case f.Local:
		s.functions[name] = l.refined(other, f)
	case other.Local:
		made := l.refined(f, other)
		made.Local = false // a further definition collides
		s.functions[name] = made
	default:
		l.Errorf(at.by.Pos, code.TypeTwice, "function %q is defined in %s and in %s", name, other.Doc.File, f.Doc.File)
	}
}

// normative reports whether a type is one of TOSCA's own.
func (l *loader) normative(t *Type) bool {
	return t.Doc == l.embedded[normativeFile] || t.Doc == l.embedded[profileFile]
}

// replace lets a document redefine a normative type, as documents do that include the
// normative types.
func (l *loader) replace(s *Scope, doc *Document, t, other *Type, name string) {
	own := other
	if l.normative(other) {
		own = t
	}
	s.types[own.Kind][name] = own
	if own.Doc == doc {
		l.Warnf(own.Pos, code.TypeTwice, "%s %q is a normative type, and is defined here anew", own.Kind, name)
	}
}

// reportDuplicate reports the second definition of a name, with the position of the
// first.
func (r route) reportDuplicate(l *loader, doc *Document, t, other *Type, name string) {
	if theirs, ours := t.Doc.Namespace.Name, other.Doc.Namespace.Name; theirs != "" && ours != "" && theirs != ours && other.Doc == doc {
		l.Warnf(r.by.Pos, code.TypeTwice, "%s %q of namespace %q is hidden by the one that is defined here: import it with a namespace_prefix", t.Kind, name, theirs)
		return
	}
	if other.Doc == doc || t.Doc.Embedded {
		t, other = other, t
	}
	l.Errorf(t.Pos, code.TypeTwice, "%s %q is defined here, and in %s", t.Kind, name, other.Pos)
}

// route is a chain of imports to a document. Prefixes of the chain apply to the
// document's names.
type route struct {
	doc    *Document
	prefix string
	by     Import
	from   *route // nil at the first document
	depth  int    // length of the chain
}

// within reports whether a document is on the route, so that it imports itself.
func (r *route) within(doc *Document) bool {
	for ; r != nil; r = r.from {
		if r.doc == doc {
			return true
		}
	}
	return false
}

// Limits of the work for all scopes, as files that import each other make a product. The
// unit is an import.
const (
	maxScoped = 128 << 20
	perName   = 16 // a definition in a scope
)

// spendScopeWork counts work and reports whether the limit is not exceeded. The first
// excess is reported to the user.
func (l *loader) spendScopeWork(work int, doc *Document) bool {
	before := l.work
	if l.work = min(before+work, 2*maxScoped); before <= maxScoped && l.work > maxScoped {
		l.Errorf(diag.Position{File: doc.File}, code.TooManyFiles, "the files import each other too often: too many names would have to be kept")
	}
	return l.work <= maxScoped
}

// walk visits all imports of a document, breadth first.
type walk struct {
	doc     *Document
	queue   []*route
	seen    map[place]bool
	visited map[*Document]bool // the documents of seen
	scope   *Scope
	known   map[string]bool // the prefixes of scope
}

type place struct {
	doc    *Document
	prefix string
}

func (w *walk) add(r route) {
	at := place{r.doc, r.prefix}
	if !w.seen[at] {
		w.seen[at], w.visited[r.doc] = true, true
		w.queue = append(w.queue, &r)
	}
}

// follow adds the imports of a document.
func (w *walk) follow(at *route) (work int) {
	for i := range at.doc.imported {
		to := &at.doc.imported[i]
		next := route{doc: to.doc, prefix: at.prefix, by: at.by, from: at, depth: at.depth + 1}
		if at.doc == w.doc {
			next.by = to.by
		}
		if to.by.Prefix != "" {
			next.prefix += to.by.Prefix + ":"
			work += len(next.prefix) / perName
		}
		if work++; w.seen[place{next.doc, next.prefix}] {
			continue
		}
		if w.visited[next.doc] { // else it cannot be on the route
			if work += at.depth / perName; at.within(next.doc) {
				continue
			}
		}
		if next.prefix != "" && !w.known[next.prefix] {
			w.known[next.prefix] = true
			w.scope.prefixes = append(w.scope.prefixes, next.prefix)
		}
		w.add(next)
	}
	return work
}

// buildScope visits all imports of doc; cycles are harmless.
func (l *loader) buildScope(doc, normative *Document) {
	s := &Scope{functions: map[string]*FunctionDef{}, repositories: map[string]*Repository{}}
	for kind := range kinds {
		s.types[kind] = map[string]*Type{}
		s.sorted[kind] = sync.OnceValue(func() []string { return slices.Clip(keys(s.types[kind])) })
	}
	s.sortedCalls = sync.OnceValue(func() []string { return slices.Clip(keys(s.functions)) })
	doc.scope = s
	w := walk{doc: doc, seen: map[place]bool{}, visited: map[*Document]bool{}, scope: s, known: map[string]bool{}}
	w.add(route{doc: doc})
	if doc.Version != version20 {
		w.add(route{doc: normative})
	}
	for count := 1; len(w.queue) > 0; count++ {
		at := w.queue[0]
		w.queue = w.queue[1:]
		if count > 2*maxFiles {
			l.Errorf(at.by.Pos, code.TooManyFiles, "imports with prefixes lead to more than %d names of files", 2*maxFiles)
			return
		}
		if own := at.from == nil; !l.spendScopeWork(at.doc.names()*(perName+len(at.prefix)), doc) && !own {
			s.open = true // it may define unknown names
			return
		}
		s.open = s.open || at.doc.open
		for kind, unread := range at.doc.unread {
			s.unread[kind] = s.unread[kind] || unread
		}
		l.define(s, doc, *at)
		l.spendScopeWork(w.follow(at), doc)
	}
	if !doc.Embedded && doc.Version != version20 {
		s.fill(l.embedded[examplesFile])
	}
}

// names returns the number of definitions in a document.
func (d *Document) names() int {
	count := len(d.Functions) + len(d.Repositories)
	for _, types := range d.Types {
		count += len(types)
	}
	return count
}
