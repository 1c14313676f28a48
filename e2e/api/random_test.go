package api_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"

	storydice "github.com/toskose/toskose/internal/dice"
	"github.com/toskose/toskose/internal/fakeunit"
	"github.com/toskose/toskose/manager/users"
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
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
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

// asked is a request for an operation of the document.
type asked struct {
	method, path, target, body string // path: as the document has it
	headers                    []string
	params                     map[string]string // of the path
	role                       users.Role        // empty: nobody's
}

func (a asked) String() string {
	return fmt.Sprintf("%s %q %q %q", a.method, a.target, a.body, a.headers)
}

// request is one of an operation of the document.
func (d *dice) request() asked {
	path := d.of(slices.Sorted(maps.Keys(d.document.Paths.Map())))
	item := d.document.Paths.Value(path)
	a := asked{path: path, method: d.of(slices.Sorted(maps.Keys(item.Operations()))), target: path, headers: []string{asJSON}, params: map[string]string{}}
	if a.role = users.Roles[d.IntN(len(users.Roles))]; d.IntN(50) == 0 {
		a.role = ""
	}
	a.headers = append(a.headers, "Authorization: "+credentials(a.role))
	query := url.Values{}
	for _, p := range slices.Concat(item.Parameters, item.GetOperation(a.method).Parameters) {
		text := fmt.Sprint(d.value(p.Value.Schema, 0))
		switch {
		case p.Value.In == "path":
			a.params[p.Value.Name] = text
			a.target = strings.ReplaceAll(a.target, "{"+p.Value.Name+"}", url.PathEscape(text))
		case d.IntN(2) == 0:
		case p.Value.In == "query" && p.Value.Name != "wait" && p.Value.Name != "follow": // which take time
			query.Add(p.Value.Name, text)
		case p.Value.In == "header":
			a.headers = append(a.headers, p.Value.Name+": "+strings.Map(printable, text))
		}
	}
	if len(query) > 0 {
		a.target += "?" + query.Encode()
	}
	if content := item.GetOperation(a.method).RequestBody; content != nil && !d.rarely() {
		text, _ := json.Marshal(d.value(content.Value.Content.Get("application/json").Schema, 0))
		if a.body = string(text); d.rarely() {
			a.body = a.body[:d.IntN(len(a.body)+1)]
		}
	}
	return a
}

func (d *dice) of(all []string) string { return all[d.IntN(len(all))] }

func printable(r rune) rune {
	if r < ' ' {
		return -1
	}
	return r
}

// credentials are those of the user of a role.
func credentials(role users.Role) string {
	if role == "" {
		return "Bearer nobody's"
	}
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(string(role)+"-1:pw-of-"+string(role)))
}

// wrong is what the document has against a request; nil: nothing.
func (a asked) wrong(t *testing.T) error {
	t.Helper()
	d := document(t)
	r := request(a.method, a.target, withoutNulls(a.body), a.headers...)
	r.Header.Set("Content-Type", "application/json")
	item := d.Paths.Value(a.path)
	return openapi3filter.ValidateRequest(t.Context(), &openapi3filter.RequestValidationInput{
		Request: r, PathParams: a.params,
		Route:   &routers.Route{Spec: d, Path: a.path, PathItem: item, Method: a.method, Operation: item.GetOperation(a.method)},
		Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc},
	})
}

// withoutNulls leaves out members that are null, as the manager does.
func withoutNulls(body string) string {
	var object map[string]any
	if json.Unmarshal([]byte(body), &object) != nil || !strings.Contains(body, "null") {
		return body
	}
	maps.DeleteFunc(object, func(_ string, value any) bool { return value == nil })
	if len(object) == 0 {
		return ""
	}
	text, _ := json.Marshal(object)
	return string(text)
}

// viewers may send these, which change nothing.
var harmless = map[string]bool{"/api/v1/tokens": true, "/api/v1/session": true, "/api/v1/app/plan": true}

// TestRequestsMadeOfTheDocument sends what the document allows, and what it nearly
// does, as every role. Whatever is asked, the answer is one that is documented, and no
// mistake of ours; what the document does not allow is no success, nor is what a role may not.
func TestRequestsMadeOfTheDocument(t *testing.T) {
	t.Parallel()
	l := enliven(t, nil, fakeunit.End{Target: "started"})
	seed, many := storydice.Seed(), 600
	if os.Getenv("TOSKOSE_TEST_LONG") != "" {
		many = 20_000
	}
	d := &dice{rand.New(rand.NewPCG(seed, 0)), document(t)}
	answered, refused := map[int]int{}, 0
	for range many {
		a := d.request()
		w := l.ask(a.method, a.target, a.body, a.headers...)
		answered[w.Code]++
		wrong := a.wrong(t)
		switch open := d.document.Paths.Value(a.path).GetOperation(a.method).Security != nil; {
		case w.Code == 500:
			t.Error(w.Body)
		case wrong != nil && w.Code < 300 && pattern(l.Handler, a.method, request(a.method, a.target, "").URL.EscapedPath()) == a.path:
			t.Errorf("answered by %d, though %v", w.Code, wrong)
		case open || w.Code >= 300:
		case a.role == "", a.role == users.Viewer && a.method != "GET" && !harmless[a.path]:
			t.Errorf("who is %q was answered by %d", a.role, w.Code)
		}
		if wrong != nil {
			refused++
		}
		if t.Failed() {
			t.Fatalf("TOSKOSE_TEST_SEED=%d: %s", seed, a)
		}
	}
	for _, code := range []int{200, 401, 403, 404, 422} {
		if answered[code] == 0 {
			t.Errorf("answers were %v", answered)
		}
	}
	t.Logf("TOSKOSE_TEST_SEED=%d: answers were %v; the document does not allow %d", seed, answered, refused)
}
