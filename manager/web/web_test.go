package web_test

import (
	"io/fs"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/toskose/toskose/manager/web"
)

func get(t *testing.T, h http.Handler, path string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, path, http.NoBody)
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

var file = regexp.MustCompile(`"(/web/[^"]+)"|from '\./([a-z]+\.js)'`)

// policy is what the page may do: run its own scripts and have its own styles and pictures, and
// talk to its own manager. Nothing else, neither what is written in the page nor what is elsewhere.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// The page is small, and names no file that is not there, no other host, and no script
// or style that its policy would not let it have.
func TestTheFilesOfThePage(t *testing.T) {
	t.Parallel()
	h, err := web.Handler()
	if err != nil {
		t.Fatal(err)
	}
	const most = 220_000
	total, todo, seen := 0, []string{"/"}, map[string]bool{}
	for len(todo) > 0 {
		path := todo[0]
		todo = todo[1:]
		if seen[path] {
			continue
		}
		seen[path] = true
		w := get(t, h, path)
		if w.Code != http.StatusOK || w.Header().Get("Content-Security-Policy") != policy || w.Header().Get("Content-Type") == "" {
			t.Fatalf("%s: %d %v", path, w.Code, w.Header())
		}
		text := w.Body.String()
		total += len(text)
		for _, found := range file.FindAllStringSubmatch(text, -1) {
			if todo = append(todo, found[1]); found[1] == "" {
				todo[len(todo)-1] = web.Prefix + "js/" + found[2]
			}
		}
		for _, foreign := range []string{"https://", "innerHTML", "eval(", "<style", "onclick="} {
			if strings.Contains(text, foreign) {
				t.Errorf("%s has %q", path, foreign)
			}
		}
		if again := get(t, h, path, "If-None-Match: "+w.Header().Get("ETag")); again.Code != http.StatusNotModified {
			t.Errorf("%s again: %d", path, again.Code)
		}
	}
	kept := 0
	err = filepath.WalkDir("static", func(_ string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			kept++
		}
		return err
	})
	if err != nil || kept != len(seen) {
		t.Errorf("%d files, of %d that are there: %v", len(seen), kept, err)
	}
	if total > most || total < most/10 || len(seen) < 5 {
		t.Errorf("%d bytes in %d files, at most %d bytes", total, len(seen), most)
	}
	if w := get(t, h, "/web/nothing.js"); w.Code != http.StatusNotFound {
		t.Errorf("what is not there: %d", w.Code)
	}
}
