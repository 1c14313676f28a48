package docs

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// SchemaKeys returns the keys that a JSON Schema in docs knows, as paths; * is any name.
func SchemaKeys(t testing.TB, name string) map[string]bool {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(Root(t), "docs", name))
	if err != nil {
		t.Fatal(err)
	}
	var root map[string]any
	if err := json.Unmarshal(data, &root); err != nil {
		t.Fatal(err)
	}
	all := map[string]bool{}
	properties(root, root, "", all)
	return all
}

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

// FieldKeys returns the keys that a struct with tags of yaml.v3 has, as SchemaKeys does. Types in open take any key.
func FieldKeys(of reflect.Type, open ...reflect.Type) map[string]bool {
	all := map[string]bool{}
	fields(of, open, "", all)
	return all
}

func fields(of reflect.Type, open []reflect.Type, path string, into map[string]bool) {
	if path != "" {
		into[path] = true
	}
	if slices.Contains(open, of) {
		into[path+"/*"] = true
		return
	}
	switch of.Kind() {
	case reflect.Struct:
		for i := range of.NumField() {
			if name, _, _ := strings.Cut(of.Field(i).Tag.Get("yaml"), ","); name != "-" && of.Field(i).IsExported() {
				fields(of.Field(i).Type, open, path+"/"+name, into)
			}
		}
	case reflect.Map, reflect.Slice:
		fields(of.Elem(), open, path+"/*", into)
	case reflect.Pointer:
		fields(of.Elem(), open, path, into)
	default:
	}
}
