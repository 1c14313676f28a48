package grammar_test

import (
	"fmt"
	"io/fs"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/toskose/toskose/tosca/diag"
	"github.com/toskose/toskose/tosca/internal/grammar"
	"github.com/toskose/toskose/tosca/internal/source"
)

// files is an archive in memory.
type files struct{ fstest.MapFS }

func (f files) ReadFile(name string, _ int64) ([]byte, error) { return fs.ReadFile(f.MapFS, name) }

// load reads the files of a txtar archive but "want", app.yaml first.
func load(tb testing.TB, txt *txtar.Archive) ([]*grammar.Document, diag.List) {
	tb.Helper()
	archive := files{fstest.MapFS{}}
	for _, f := range txt.Files {
		if f.Name != "want" {
			archive.MapFS[f.Name] = &fstest.MapFile{Data: f.Data}
		}
	}
	var c diag.Collector
	docs, err := grammar.Load(tb.Context(), archive, "app.yaml", &c)
	if err != nil {
		tb.Fatal(err)
	}
	return docs, c.List()
}

func printed(list diag.List) string {
	var b strings.Builder
	for _, d := range list {
		fmt.Fprintf(&b, "%s %s\n", d.Code, d.Error())
	}
	return b.String()
}

// unsaid are fields that say where something is written, or say it again.
var unsaid = []string{
	"Document.File", "Document.Embedded", "Document.InputsRead", "Type.Kind", "Operation.File",
	"Artifact.In", "Property.EntryType", "Property.Entry", "Output.Value", "Requirement.Properties",
}

// dump writes what a tree holds, a value a line, and nothing that is empty.
func dump(b *strings.Builder, path string, v reflect.Value) {
	if v.IsZero() && v.Kind() != reflect.Bool {
		return
	}
	switch x := v.Interface().(type) {
	case diag.Position:
		return
	case grammar.Ref:
		fmt.Fprintf(b, "%s = %s\n", path, x.Name)
		return
	case *grammar.Document:
		if path != "" {
			return // what something stands in
		}
	case *source.Node:
		fmt.Fprintf(b, "%s = %s\n", path, text(x))
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		dump(b, path, v.Elem())
	case reflect.Struct:
		before := b.Len()
		for _, f := range reflect.VisibleFields(v.Type()) {
			if f.Anonymous {
				continue // its fields are those of v
			}
			if f.IsExported() && !slices.Contains(unsaid, v.Type().Name()+"."+f.Name) && (f.Name != "Name" || path == "") {
				dump(b, strings.TrimPrefix(path+"."+f.Name, "."), v.FieldByIndex(f.Index))
			}
		}
		if b.Len() == before {
			fmt.Fprintln(b, path)
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			dump(b, path+"["+elementName(v, i)+"]", v.Index(i))
		}
	case reflect.Map:
		for _, k := range slices.SortedFunc(slices.Values(v.MapKeys()), func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) }) {
			dump(b, path+"["+k.String()+"]", v.MapIndex(k))
		}
	case reflect.Bool:
		if strings.HasSuffix(path, ".Required") == v.Bool() {
			return // what is required by default is not said
		}
		fmt.Fprintf(b, "%s = %v\n", path, v.Bool())
	default:
		fmt.Fprintf(b, "%s = %v\n", path, v.Interface())
	}
}

// elementName is the name of an element, or its index where it has none.
func elementName(v reflect.Value, i int) string {
	if v.Kind() == reflect.Array {
		return grammar.Kind(i).String()
	}
	if e := v.Index(i); e.Kind() == reflect.Pointer {
		if name := e.Elem().FieldByName("Name"); name.IsValid() && name.String() != "" {
			return name.String()
		}
	}
	return fmt.Sprint(i)
}

// text writes a value in one line.
func text(n *source.Node) string {
	var parts []string
	switch n.Kind {
	case source.List:
		for _, item := range n.Items {
			parts = append(parts, text(item))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case source.Map:
		for k, v := range n.Pairs() {
			parts = append(parts, k.Text+": "+text(v))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case source.Null:
		return "null"
	default:
		return n.Text
	}
}

func dumped(doc *grammar.Document) string {
	var b strings.Builder
	dump(&b, "", reflect.ValueOf(doc))
	return b.String()
}
