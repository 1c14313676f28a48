package grammar

import (
	"context"
	"errors"
	"io/fs"

	"github.com/toskose/toskose/tosca/diag"
	"github.com/toskose/toskose/tosca/internal/source"
)

// maxFiles bounds the documents of one application.
const maxFiles = 1000

// Archive is what documents are read from.
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
	used     map[string]bool   // of embedded
	profiles map[string]string // paths of the files that define profiles; nil: not looked for yet
	lone     bool              // there may be files outside of the archive
	work     int               // done to build scopes
}

// Load reads the document entry and all that it imports, and returns them, the
// entry first; none where the entry itself cannot be read. The error is for
// what is no fault of the documents.
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
	borrow(l.order)
	for _, name := range keys(l.used) {
		all = append(all, embedded[name])
	}
	return all, nil
}

// borrow lets documents of 1.x know what those know that import them.
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

// read makes a document, empty where it is not YAML: what it may define is not known
// then.
func read(c *diag.Collector, name string, data []byte, embedded bool) *Document {
	root, bad := source.ParseWith(name, data, source.Options{ListKeys: listKeys})
	c.Add(bad...)
	if root == nil {
		return &Document{File: name, open: true}
	}
	return readDocument(c, name, embedded, root)
}

// listKeys tells from an entry of a file that its keys may be lists and maps:
// 2.0 has them in mappings, and where functions make keys.
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
