package skew

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/toskose/toskose/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

const contracts = "testdata/contracts"

func recorded(t *testing.T, path ...string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(append([]string{contracts}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// understood decodes a JSON value into one of this version's and returns it. Whatever the
// recorded value says has to be in it: encoded again, it says the same, but for the fields
// that are ignored, which are given as in "runs.pid".
func understood[T any](t *testing.T, text []byte, ignored ...string) T {
	t.Helper()
	var value T
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatalf("%v:\n%.2000s", err, text)
	}
	again, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	var said, says any
	if err := errorsOf(json.Unmarshal(text, &said), json.Unmarshal(again, &says)); err != nil {
		t.Fatal(err)
	}
	for _, path := range unsaid("", said, says) {
		if !slices.Contains(ignored, path) {
			t.Errorf("%T does not understand %q of %.300s", value, path, text)
		}
	}
	return value
}

func errorsOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// unsaid returns where a value says something that another one does not. Zero and nothing
// are the same.
func unsaid(path string, said, says any) (paths []string) {
	switch said := said.(type) {
	case map[string]any:
		other, _ := says.(map[string]any)
		for name, value := range said {
			paths = append(paths, unsaid(strings.TrimPrefix(path+"."+name, "."), value, other[name])...)
		}
	case []any:
		other, _ := says.([]any)
		for i, value := range said {
			var at any
			if i < len(other) {
				at = other[i]
			}
			paths = append(paths, unsaid(path, value, at)...)
		}
	default:
		if said != nil && said != says && !reflect.ValueOf(said).IsZero() && !sameTime(said, says) {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// sameTime reports whether both are one time, which may be written with zeros at its end.
func sameTime(said, says any) bool {
	a, err := time.Parse(time.RFC3339Nano, fmt.Sprint(said))
	b, otherErr := time.Parse(time.RFC3339Nano, fmt.Sprint(says))
	return err == nil && otherErr == nil && a.Equal(b)
}

// sameYAML is understood for what is kept as YAML.
func sameYAML(t *testing.T, text, again []byte) {
	t.Helper()
	var said, says any
	if err := errorsOf(yaml.Unmarshal(text, &said), yaml.Unmarshal(again, &says)); err != nil {
		t.Fatal(err)
	}
	if paths := unsaid("", said, says); len(paths) > 0 {
		t.Errorf("%q are lost of\n%s\nwhich are now\n%s", paths, text, again)
	}
}

// exchange is a request with how it was answered.
type exchange struct {
	Method, URI, Asked, Type string
	Status                   int
	Answer                   json.RawMessage
}

// text is the answer as it was sent.
func (e exchange) text() []byte {
	var text string
	if json.Unmarshal(e.Answer, &text) == nil {
		return []byte(text)
	}
	var line bytes.Buffer
	_ = json.Compact(&line, e.Answer) // it was decoded before
	return line.Bytes()
}

type exchanges []exchange

func recordedExchanges(t *testing.T, name string) (all exchanges) {
	t.Helper()
	if err := json.Unmarshal(recorded(t, name), &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// find returns the first that was asked for at a path, with words in its query.
func (all exchanges) find(method, uri string) (exchange, error) {
	path, query, _ := strings.Cut(uri, "?")
	var near []exchange
	for _, e := range all {
		of, words, _ := strings.Cut(e.URI, "?")
		if e.Method == method && of == path && words == query {
			return e, nil
		}
		if e.Method == method && of == path {
			near = append(near, e)
		}
	}
	if len(near) == 0 {
		return exchange{}, fmt.Errorf("nobody has asked %s %s", method, uri)
	}
	return near[0], nil
}

// answer returns how a request was answered.
func (all exchanges) answer(t *testing.T, method, uri string) []byte {
	t.Helper()
	e, err := all.find(method, uri)
	if err != nil {
		t.Fatal(err)
	}
	return e.text()
}

// serve answers as was answered.
func (all exchanges) serve(t *testing.T, headers map[string]string) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		e, err := all.find(r.Method, r.URL.RequestURI())
		if err != nil {
			t.Error(err)
			w.WriteHeader(http.StatusTeapot)
			return
		}
		w.Header().Set("Content-Type", e.Type)
		for name, value := range headers {
			w.Header().Set(name, value)
		}
		w.WriteHeader(e.Status)
		_, _ = io.Copy(w, bytes.NewReader(e.text()))
	}))
	t.Cleanup(server.Close)
	return server
}
