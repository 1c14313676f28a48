package grammar

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"sync"

	"github.com/toskose/toskose/tosca/diag"
	"github.com/toskose/toskose/tosca/internal/source"
)

// maxFiles bounds the number of documents.
const maxFiles = 1000

// Archive is the source of documents.
type Archive interface {
	fs.FS
	ReadFile(name string, limit int64) ([]byte, error)
}

type loader struct {
	*diag.Collector
	archive  Archive
	embedded map[string]*Document
	docs     map[string]*Document // of the archive, by path
	order    []*Document
	used     map[string]bool   // of embedded, by name
	profiles map[string]string // paths by profile; nil until needed
	lone     bool              // files outside of the archive may be imported
	work     int               // to build scopes
}

// Load reads the entry document and all its imports, and returns them, the entry first.
// It returns none if the entry is unreadable. The error is not about the documents'
// content.
func Load(ctx context.Context, archive Archive, entry string, c *diag.Collector) ([]*Document, error) {
	embedded, err := builtins()
	if err != nil {
		return nil, err
	}
	l := &loader{Collector: c, archive: archive, embedded: embedded, docs: map[string]*Document{}, used: map[string]bool{normativeFile: true}}
	if a, ok := archive.(interface{ Lone() bool }); ok {
		l.lone = a.Lone()
	}
	_, err = l.file(entry)
	var bad diag.List
	switch {
	case errors.As(err, &bad):
		for _, d := range bad {
			l.Errorf(diag.Position{File: entry}, d.Code, "%s", d.Message)
		}
		return nil, nil
	case err != nil:
		return nil, err
	}
	for i := 0; i < len(l.order); i++ { // grows while imports are followed
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := l.follow(l.order[i]); err != nil {
			return nil, err
		}
	}
	all := l.order
	for _, d := range l.order {
		l.buildScope(d, embedded[normativeFile])
	}
	for _, name := range []string{toskerFile, toskoseFile} {
		if types := l.embedded[name]; types.scope == nil { // extended by a copy
			l.buildScope(types, embedded[normativeFile])
		}
	}
	borrow(l.order)
	for _, name := range keys(l.used) {
		all = append(all, l.embedded[name])
	}
	return all, nil
}

// borrow lets documents of 1.x use types of the documents that import them.
func borrow(docs []*Document) {
	borrows := map[*Document]bool{docs[0]: true}
	for _, doc := range docs {
		for _, i := range doc.imported {
			if to := i.doc; !borrows[to] && !to.Embedded && !to.V2() && to.scope != nil && doc.scope != nil {
				borrows[to], to.scope.importer = true, doc.scope
			}
		}
	}
}

func (l *loader) builtin(name string) *Document {
	l.used[name] = true
	return l.embedded[name]
}

// file reads a document of the archive once.
func (l *loader) file(name string) (*Document, error) {
	if doc, ok := l.docs[name]; ok {
		return doc, nil
	}
	data, err := l.archive.ReadFile(name, source.MaxBytes)
	if err != nil {
		return nil, err
	}
	doc := read(l.Collector, name, data, false)
	l.docs[name] = doc
	l.order = append(l.order, doc)
	return doc, nil
}

// read returns the document, or an empty one with unknown definitions if it is not YAML.
func read(c *diag.Collector, name string, data []byte, embedded bool) *Document {
	root, bad := source.ParseWith(name, data, source.Options{ListKeys: listKeys})
	c.Add(bad...)
	if root == nil {
		return &Document{File: name, open: true}
	}
	return readDocument(c, name, embedded, root)
}

// listKeys reports whether a top-level entry shows that keys may be lists and maps, as
// in mappings and computed keys of 2.0.
func listKeys(key, value string) bool {
	return key == "tosca_definitions_version" && value == version20
}

func (l *loader) follow(doc *Document) error {
	for _, i := range doc.Imports {
		target, err := l.resolve(doc, i)
		if err != nil {
			return err
		}
		if target != nil && target != doc {
			doc.imported = append(doc.imported, importedDoc{target, i})
		}
	}
	return nil
}

// inputsRead returns the inputs that a get_input anywhere in a file names, also where
// nothing is evaluated. It walks aliases each time; the parser bounds their expansion.
func inputsRead(root *source.Node) map[string]bool {
	found := map[string]bool{}
	var walk func(n *source.Node)
	walk = func(n *source.Node) {
		if n.IsNull() || n.IsScalar() {
			return
		}
		for k, v := range n.Pairs() {
			if k.Text == "get_input" || k.Text == "$get_input" {
				readName(found, v)
			}
		}
		for _, item := range n.Items {
			walk(item)
		}
	}
	walk(root)
	return found
}

func readName(found map[string]bool, arg *source.Node) {
	if !arg.IsNull() && arg.Kind == source.List && len(arg.Items) > 0 {
		arg = arg.Items[0]
	}
	if !arg.IsNull() && arg.IsScalar() {
		found[arg.Text] = true
	}
}

//go:embed types/*.yaml
var embedded embed.FS

// The embedded files: the normative types, known to each document of 1.x; the types of
// the standard's examples, which documents may redefine; the profile of the normative
// types for 2.0; TosKer's types; and Toskose's own.
const (
	normativeFile = "types/tosca-simple.yaml"
	examplesFile  = "types/tosca-non-normative.yaml"
	profileFile   = "types/tosca-simple-2.0.yaml"
	toskerFile    = "types/tosker-types.yaml"
	toskoseFile   = "types/toskose-types.yaml"
)

// builtins reads the embedded documents once. They are immutable.
var builtins = sync.OnceValues(func() (map[string]*Document, error) {
	l := &loader{Collector: &diag.Collector{}, embedded: map[string]*Document{}}
	for _, file := range []string{normativeFile, examplesFile, profileFile, toskerFile, toskoseFile} {
		data, err := embedded.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("cannot read the embedded %q: %w", file, err)
		}
		l.embedded[file] = read(l.Collector, path.Base(file), data, true)
	}
	normative, profile := l.embedded[normativeFile], l.embedded[profileFile]
	profile.imported = []importedDoc{{doc: normative}}
	l.embedded[toskoseFile].imported = []importedDoc{{doc: l.embedded[toskerFile]}}
	for _, doc := range l.embedded {
		l.buildScope(doc, normative)
	}
	if err := l.List().Err(); err != nil {
		return nil, fmt.Errorf("an embedded file is wrong: %w", err)
	}
	return l.embedded, nil
})
