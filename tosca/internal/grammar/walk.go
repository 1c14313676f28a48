package grammar

import (
	"slices"
	"sync"

	"github.com/toskose/toskose/tosca/diag"
	"github.com/toskose/toskose/tosca/internal/code"
)

// route is a document as it is seen from another: what is imported by an
// import with a prefix is under that prefix.
type route struct {
	doc    *Document
	prefix string
	by     Import
	from   *route // what imports it; nil: it is where the walk begins
	deep   int    // how many documents lead to it
}

// within reports whether a document is reached, or imports what is, so that it
// would import itself.
func (r *route) within(doc *Document) bool {
	for ; r != nil; r = r.from {
		if r.doc == doc {
			return true
		}
	}
	return false
}

// The work of all scopes is bounded: files that all import each other make a
// product. Its unit is an import that is followed.
const (
	maxScoped = 128 << 20
	perName   = 16 // a definition that is put in a scope
)

// scoped counts work; it is false when there was too much, which is reported
// once.
func (l *loader) scoped(work int, doc *Document) bool {
	before := l.work
	if l.work = min(before+work, 2*maxScoped); before <= maxScoped && l.work > maxScoped {
		l.Errorf(diag.Position{File: doc.File}, code.TooManyFiles, "the files import each other too often: too many names would have to be kept")
	}
	return l.work <= maxScoped
}

// walk goes through all that a document imports, the nearest first.
type walk struct {
	doc   *Document
	queue []*route
	seen  map[place]bool
	met   map[*Document]bool // the documents of seen
	scope *Scope
	known map[string]bool // the prefixes of scope
}

type place struct {
	doc    *Document
	prefix string
}

func (w *walk) add(r route) {
	at := place{r.doc, r.prefix}
	if !w.seen[at] {
		w.seen[at], w.met[r.doc] = true, true
		w.queue = append(w.queue, &r)
	}
}

// follow goes on with what a document imports.
func (w *walk) follow(at *route) (work int) {
	for i := range at.doc.imported {
		to := &at.doc.imported[i]
		next := route{doc: to.doc, prefix: at.prefix, by: at.by, from: at, deep: at.deep + 1}
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
		if w.met[next.doc] { // else nothing that leads here is it
			if work += at.deep / perName; at.within(next.doc) {
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

// buildScope walks the imports from doc on, so that files that import each
// other do no harm.
func (l *loader) buildScope(doc, normative *Document) {
	s := &Scope{functions: map[string]*FunctionDef{}, repositories: map[string]*Repository{}}
	for kind := range kinds {
		s.types[kind] = map[string]*Type{}
		s.sorted[kind] = sync.OnceValue(func() []string { return slices.Clip(keys(s.types[kind])) })
	}
	s.sortedCalls = sync.OnceValue(func() []string { return slices.Clip(keys(s.functions)) })
	doc.scope = s
	w := walk{doc: doc, seen: map[place]bool{}, met: map[*Document]bool{}, scope: s, known: map[string]bool{}}
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
		if own := at.from == nil; !l.scoped(at.doc.names()*(perName+len(at.prefix)), doc) && !own {
			s.open = true // what is missing may be there
			return
		}
		s.open = s.open || at.doc.open
		for kind, unread := range at.doc.unread {
			s.unread[kind] = s.unread[kind] || unread
		}
		l.define(s, doc, *at)
		l.scoped(w.follow(at), doc)
	}
	if !doc.Embedded && doc.Version != version20 {
		s.fill(l.embedded[examplesFile])
	}
}

// names counts what a document defines.
func (d *Document) names() int {
	count := len(d.Functions) + len(d.Repositories)
	for _, types := range d.Types {
		count += len(types)
	}
	return count
}
