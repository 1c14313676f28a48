package api_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/toskose/toskose/manager/internal/fakeunit"
)

// dice makes requests of the document: most parts of them as it says, some not.
type dice struct {
	*rand.Rand
	document *openapi3.T
}

// words are names that exist, and what clients may get wrong.
var words = []string{
	"backend", "frontend", "store", "api", "gui", "start", "Standard.start", "push_default", "configure", "x1", "none", "up", "HUP",
	"", " ", "nowhere", "ä\U0001f600", "%", "../x", "a/b", "0", "-1", "99999999999999999999", "NaN", "1e400", "\x00", "host=h1", "7:a", strings.Repeat("x", 300),
}

func (d *dice) word() string { return words[d.IntN(len(words))] }

func (d *dice) rarely() bool { return d.IntN(5) == 0 }

// value is one of a schema, as JSON has it.
func (d *dice) value(ref *openapi3.SchemaRef, depth int) any {
	if ref == nil || ref.Value == nil || d.IntN(25) == 0 || depth > 4 {
		return []any{nil, true, -1.5, d.word(), []any{}, map[string]any{d.word(): 1}}[d.IntN(6)]
	}
	s := ref.Value
	switch {
	case len(s.Enum) > 0:
		return s.Enum[d.IntN(len(s.Enum))]
	case len(s.OneOf) > 0:
		return d.value(s.OneOf[d.IntN(len(s.OneOf))], depth+1)
	case s.Type.Is("boolean"):
		return d.IntN(2) == 0
	case s.Type.Is("integer"), s.Type.Is("number"):
		return d.IntN(3)
	case s.Type.Is("array"):
		all := []any{}
		for range d.IntN(3) {
			all = append(all, d.value(s.Items, depth+1))
		}
		return all
	case s.Type.Is("object"):
		object := map[string]any{}
		for _, name := range slices.Sorted(func(yield func(string) bool) {
			for name := range s.Properties {
				if !yield(name) {
					return
				}
			}
		}) {
			if d.IntN(2) == 0 {
				object[name] = d.value(s.Properties[name], depth+1)
			}
		}
		if extra := s.AdditionalProperties.Schema; extra != nil {
			object[d.word()] = d.value(extra, depth+1)
		}
		return object
	}
	return d.word()
}

// request is one of an operation of the document.
func (d *dice) request() (method, target, body string, headers []string) {
	paths := d.document.Paths.InMatchingOrder()
	slices.Sort(paths)
	path := paths[d.IntN(len(paths))]
	item := d.document.Paths.Value(path)
	var methods []string
	for m := range item.Operations() {
		methods = append(methods, m)
	}
	slices.Sort(methods)
	method = methods[d.IntN(len(methods))]
	query := url.Values{}
	target, headers = path, []string{asJSON}
	for _, p := range slices.Concat(item.Parameters, item.GetOperation(method).Parameters) {
		text := fmt.Sprint(d.value(p.Value.Schema, 0))
		switch {
		case p.Value.In == "path":
			target = strings.ReplaceAll(target, "{"+p.Value.Name+"}", url.PathEscape(text))
		case d.IntN(2) == 0:
		case p.Value.In == "query" && p.Value.Name != "wait" && p.Value.Name != "follow": // which take time
			query.Add(p.Value.Name, text)
		case p.Value.In == "header":
			headers = append(headers, p.Value.Name+": "+strings.Map(printable, text))
		}
	}
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	if content := item.GetOperation(method).RequestBody; content != nil && !d.rarely() {
		text, _ := json.Marshal(d.value(content.Value.Content.Get("application/json").Schema, 0))
		if body = string(text); d.rarely() {
			body = body[:d.IntN(len(body)+1)]
		}
	}
	return method, target, body, headers
}

func printable(r rune) rune {
	if r < ' ' {
		return -1
	}
	return r
}

// TestRequestsMadeOfTheDocument sends what the document allows, and what it nearly
// does. Whatever is asked, the answer is one that is documented, and no mistake of ours.
func TestRequestsMadeOfTheDocument(t *testing.T) {
	t.Parallel()
	l := enliven(t, nil, fakeunit.End{Target: "started"})
	seed := rand.Uint64()
	d := &dice{rand.New(rand.NewPCG(seed, 0)), document(t)}
	answered := map[int]int{}
	for range 600 {
		method, target, body, headers := d.request()
		w := l.ask(method, target, body, headers...)
		if answered[w.Code]++; w.Code == 500 {
			t.Errorf("%s %q %q %q: %s", method, target, headers, body, w.Body)
		}
		if t.Failed() {
			t.Fatalf("of seed %d: %s %q %q %q", seed, method, target, headers, body)
		}
	}
	if answered[200] == 0 || answered[404] == 0 || answered[422] == 0 {
		t.Errorf("answers were %v", answered)
	}
	t.Logf("answers were %v", answered)
}
