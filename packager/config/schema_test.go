package config_test

import (
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toskose/toskose/internal/docs"
	"github.com/toskose/toskose/packager/config"
)

const schemaFile = "../../docs/toskose.schema.json"

// properties returns the keys that a schema knows, as paths; * is any name.
func properties(root, at map[string]any, path string, into map[string]bool) {
	if ref, ok := at["$ref"].(string); ok {
		at = root["$defs"].(map[string]any)[strings.TrimPrefix(ref, "#/$defs/")].(map[string]any)
	}
	if path != "" {
		into[path] = true
	}
	if more, ok := at["properties"].(map[string]any); ok {
		for key, value := range more {
			properties(root, value.(map[string]any), path+"/"+key, into)
		}
	}
	for _, key := range []string{"additionalProperties", "items"} {
		if any, ok := at[key].(map[string]any); ok {
			properties(root, any, path+"/*", into)
		}
	}
}

// keys returns those that the reader knows.
func keys(t reflect.Type, path string, into map[string]bool) {
	if path != "" {
		into[path] = true
	}
	if t == reflect.TypeFor[config.Fragment]() { // it takes any key
		into[path+"/*"] = true
		return
	}
	switch t.Kind() {
	case reflect.Struct:
		for i := range t.NumField() {
			if name, _, _ := strings.Cut(t.Field(i).Tag.Get("yaml"), ","); name != "-" {
				keys(t.Field(i).Type, path+"/"+name, into)
			}
		}
	case reflect.Map, reflect.Slice:
		keys(t.Elem(), path+"/*", into)
	case reflect.Pointer:
		keys(t.Elem(), path, into)
	default:
	}
}

func TestTheSchemaHasTheKeysThatTheReaderKnows(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.FromSlash(schemaFile))
	if err != nil {
		t.Fatal(err)
	}
	var root map[string]any
	if err := json.Unmarshal(data, &root); err != nil {
		t.Fatal(err)
	}
	published, known := map[string]bool{}, map[string]bool{}
	properties(root, root, "", published)
	keys(reflect.TypeFor[config.Config](), "", known)
	if diff := cmp.Diff(known, published); diff != "" {
		t.Errorf("the reader (-) and the schema (+):\n%s", diff)
	}
}

// TestEveryConfigurationOfTheDocumentationIsRead decodes each as it stands.
func TestEveryConfigurationOfTheDocumentationIsRead(t *testing.T) {
	t.Parallel()
	for _, b := range docs.Of(t, docs.Config) {
		if _, err := config.Parse("toskose.yml", []byte(b.Text)).Check(nil); err != nil {
			t.Errorf("%s:%d: %v\n%s", b.Page, b.Line, err, b.Text)
		}
	}
}

// TestThePageOnPackagingHasEveryKey compares the tables of docs/packaging.md, whose
// headings name what their keys are below, with the keys that the reader knows.
func TestThePageOnPackagingHasEveryKey(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.FromSlash("../../docs/packaging.md"))
	if err != nil {
		t.Fatal(err)
	}
	quoted := func(text string) []string {
		var names []string
		for i, part := range strings.Split(text, "`") {
			if i%2 == 1 {
				names = append(names, "/"+strings.ReplaceAll(strings.ReplaceAll(part, ".", "/"), "NAME", "*"))
			}
		}
		return names
	}
	listed := map[string]bool{}
	var below []string
	for line := range strings.Lines(string(page)) {
		switch {
		case strings.HasPrefix(line, "### Top level"):
			below = []string{""}
		case strings.HasPrefix(line, "#"):
			below = quoted(line)
		case strings.HasPrefix(line, "| `"):
			cell, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), " | ")
			for _, key := range quoted(cell) {
				for _, prefix := range below {
					listed[prefix+key] = true
				}
			}
		}
	}
	known := map[string]bool{}
	keys(reflect.TypeFor[config.Config](), "", known)
	for key := range known {
		for at := path.Dir(key); at != "/"; at = path.Dir(at) {
			delete(known, at) // the tables have what is below
		}
	}
	leaves := map[string]bool{}
	for key := range known {
		leaves[strings.TrimSuffix(strings.TrimSuffix(key, "/spread"), "/*")] = true
	}
	if diff := cmp.Diff(leaves, listed); diff != "" {
		t.Errorf("the reader (-) and docs/packaging.md (+):\n%s", diff)
	}
}

func TestMemoryIsReadAsComposeReadsIt(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		"1": 1, "10b": 10, "1k": 1024, "2KB": 2048, "1.5M": 1536 << 10, "1 gb": 1 << 30, "3G": 3 << 30, "": 0, "x": 0, "1Gi": 0, "-1": 0, "0": 0,
	} {
		if got, ok := config.Bytes(text); ok != (want > 0) || ok && got != want {
			t.Errorf("%q is %d, %v", text, got, ok)
		}
	}
}
