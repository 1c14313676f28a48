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
	for _, name := range []string{toskerFile, toskoseFile} {
		if types := l.embedded[name]; types.scope == nil { // with more than is embedded
			l.buildScope(types, embedded[normativeFile])
		}
	}
	borrow(l.order)
	for _, name := range keys(l.used) {
		all = append(all, l.embedded[name])
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

// inputsRead gathers the names that get_input is given anywhere in a file, also
// where nothing is evaluated. What aliases stand for is walked each time: the
// parser bounds how much that is.
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

// The embedded files: TOSCA's normative types, which every document of 1.x
// knows, those that its examples use and that anyone may define otherwise, the
// profile of the normative ones that documents of 2.0 import by name, TosKer's, and
// Toskose's own.
const (
	normativeFile = "types/tosca-simple.yaml"
	examplesFile  = "types/tosca-non-normative.yaml"
	profileFile   = "types/tosca-simple-2.0.yaml"
	toskerFile    = "types/tosker-types.yaml"
	toskoseFile   = "types/toskose-types.yaml"
)

// builtins reads the embedded documents, once for all that is loaded: they are
// complete then, and never changed.
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
