package spec_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/toskose/toskose/spec"
	"github.com/toskose/toskose/spec/protocol"
)

var update = flag.Bool("update", false, "rewrite the schemas in docs")

// schemas are the published JSON Schemas by their files in docs.
var schemas = map[string]struct {
	title string
	of    reflect.Type
}{
	"application.schema.json": {"The application that a manager reads", reflect.TypeFor[spec.Application]()},
	"container.schema.json":   {"The container that a unit reads", reflect.TypeFor[spec.Container]()},
}

// enums are the values of strings that are not free.
var enums = map[reflect.Type][]any{
	reflect.TypeFor[spec.ImageKind](): {string(spec.ImageBase), string(spec.ImageService), string(spec.ImageFile), string(spec.ImageFileService)},
	reflect.TypeFor[protocol.Kind]():  {string(protocol.KindRun), string(protocol.KindStart), string(protocol.KindStop)},
}

// generator makes a JSON Schema of Go types. Comments of fields become descriptions.
type generator struct {
	comments map[string]string // by Type.Field
	defs     map[string]any
}

func (g *generator) read(t *testing.T, folder string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			of, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if structure, ok := of.Type.(*ast.StructType); ok {
				for _, field := range structure.Fields.List {
					for _, name := range field.Names {
						g.comments[of.Name.Name+"."+name.Name] = strings.Join(strings.Fields(field.Doc.Text()+field.Comment.Text()), " ")
					}
				}
			}
			return true
		})
	}
}

func (g *generator) schema(of reflect.Type) map[string]any {
	if values := enums[of]; values != nil {
		return map[string]any{"enum": values}
	}
	if of == reflect.TypeFor[spec.Duration]() {
		return map[string]any{"type": "string", "pattern": `^([0-9]+(\.[0-9]*)?(ns|us|µs|ms|s|m|h))+$|^0$`}
	}
	switch of.Kind() {
	case reflect.Pointer:
		return g.schema(of.Elem())
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Int:
		return map[string]any{"type": "integer"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Slice:
		return map[string]any{"type": "array", "items": g.schema(of.Elem())}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": g.schema(of.Elem())}
	case reflect.Struct:
		if _, known := g.defs[of.Name()]; !known {
			g.defs[of.Name()] = nil // a type may contain itself
			g.defs[of.Name()] = g.object(of)
		}
		return map[string]any{"$ref": "#/$defs/" + of.Name()}
	default: // any
		return map[string]any{}
	}
}

func (g *generator) object(of reflect.Type) map[string]any {
	properties, required := map[string]any{}, []string{}
	for _, f := range reflect.VisibleFields(of) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous || name == "-" {
			continue // the fields of an embedded struct are visible, too
		}
		property := g.schema(f.Type)
		owner := of
		if len(f.Index) > 1 {
			owner = of.FieldByIndex(f.Index[:1]).Type
		}
		if comment := g.comments[owner.Name()+"."+f.Name]; comment != "" {
			property["description"] = comment
		}
		if !strings.Contains(options, "omit") {
			required = append(required, name)
			if f.Type.Kind() == reflect.Slice { // nil is null
				property["type"] = []string{"array", "null"}
			}
		}
		if name == "format" {
			property["const"] = spec.FormatVersion
		}
		properties[name] = property
	}
	return map[string]any{"type": "object", "additionalProperties": false, "properties": properties, "required": required}
}

// TestTheSchemasMatchTheTypes: -update writes them.
func TestTheSchemasMatchTheTypes(t *testing.T) {
	t.Parallel()
	for name, s := range schemas {
		g := generator{comments: map[string]string{}, defs: map[string]any{}}
		g.read(t, ".")
		g.read(t, "protocol")
		schema := g.schema(s.of)
		schema["$schema"], schema["title"], schema["$defs"] = "https://json-schema.org/draft/2020-12/schema", s.title, g.defs
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		if err := enc.Encode(schema); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join("..", "docs", name)
		if *update {
			if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		published, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(published, b.Bytes()) {
			t.Errorf("docs/%s does not match the types; go test ./spec -update rewrites it", name)
		}
	}
}
