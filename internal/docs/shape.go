package docs

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"
)

// Keys returns the paths of all members of a JSON value, to compare the shape of an example with
// an actual response.
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
