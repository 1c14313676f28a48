package docs

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"
)

// Keys gives the names of all members of a JSON value, with their paths: what an example
// and an answer have in common.
func Keys(t testing.TB, text string) []string {
	t.Helper()
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	found := map[string]bool{}
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for name, member := range v {
				found[path+"."+name] = true
				walk(path+"."+name, member)
			}
		case []any:
			for _, item := range v {
				walk(path, item)
			}
		}
	}
	walk("", value)
	return slices.Sorted(maps.Keys(found))
}
