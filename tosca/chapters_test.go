package tosca_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/toskose/toskose/tosca"
	"github.com/toskose/toskose/tosca/diag"
)

// Each archive in testdata/tosca-1.0 to testdata/tosca-2.0 has the documents of
// a chapter of that text, or of a part of it: those below valid/ keep its rules,
// and each of those below invalid/ breaks some, with the codes of what is wrong
// behind "#!" in the line where it is. The others are there to be imported.
// -update rewrites the codes. A document that does not say its version is of 2.0.
func TestDocumentsAreValidOrNotAsTheTextSays(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"tosca-1.0", "tosca-1.1", "tosca-1.2", "tosca-1.3", "tosca-2.0"} {
		paths, err := filepath.Glob(filepath.Join("testdata", version, "*.txtar"))
		if err != nil || len(paths) == 0 {
			t.Fatalf("there are no documents in testdata/%s: %v", version, err)
		}
		for _, path := range paths {
			t.Run(version+"/"+strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
				t.Parallel()
				checkChapter(t, path)
			})
		}
	}
}

func checkChapter(t *testing.T, path string) {
	t.Helper()
	txt, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	shared := map[string]string{}
	for _, f := range txt.Files {
		if kind, _, _ := strings.Cut(f.Name, "/"); kind != "valid" && kind != "invalid" {
			shared[f.Name] = ofSecond(f.Data)
		}
	}
	for i, f := range txt.Files {
		kind, name, _ := strings.Cut(f.Name, "/")
		if shared[f.Name] != "" {
			continue
		}
		files := maps.Clone(shared)
		files["app.yaml"] = ofSecond(f.Data)
		_, list, loadErr := tosca.Load(t.Context(), zipped(t, files), tosca.Options{Draft: true})
		if loadErr != nil && len(list) == 0 {
			t.Errorf("%s: %v", f.Name, loadErr)
		}
		want, got := marks(files["app.yaml"]), problems(list)
		switch {
		case kind == "invalid" && *update:
			txt.Files[i].Data = marked(f.Data, got)
		case kind == "invalid" && len(got) == 0:
			t.Errorf("%s is accepted", name)
		case !slices.Equal(want, got):
			t.Errorf("%s: want %v, got %v:\n%s", f.Name, want, got, printed(list))
		}
	}
	if *update {
		if err := os.WriteFile(path, txtar.Format(txt), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

const secondVersion = "tosca_definitions_version: tosca_2_0\n"

// ofSecond returns a document its first line, unless it has one.
func ofSecond(text []byte) string {
	if strings.Contains(string(text), "tosca_definitions_version") {
		return string(text)
	}
	return secondVersion + string(text)
}

var mark = regexp.MustCompile(` *#! *(.*)$`)

// marks are what a document says is wrong with it: a line and a code each.
func marks(text string) (all []string) {
	for i, line := range strings.Split(text, "\n") {
		if m := mark.FindStringSubmatch(line); m != nil {
			for _, code := range strings.Fields(m[1]) {
				all = append(all, fmt.Sprintf("%d %s", i+1, code))
			}
		}
	}
	slices.Sort(all)
	return all
}

// problems are the errors of a list in the same form, each once; those of other
// files are in line 1.
func problems(list diag.List) (all []string) {
	for _, d := range list {
		line := max(d.Line, 1)
		if d.File != "app.yaml" {
			line = 1
		}
		if d.Severity == diag.Error {
			all = append(all, fmt.Sprintf("%d %s", line, strings.TrimPrefix(d.Code, "TOSCA-")))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// marked writes what was found into a document.
func marked(text []byte, found []string) []byte {
	lines := strings.Split(string(text), "\n")
	first := strings.Count(ofSecond(text), "\n") - strings.Count(string(text), "\n") + 1
	for i, line := range lines {
		lines[i] = mark.ReplaceAllString(line, "")
		codes := ""
		for _, at := range found {
			if number, code, _ := strings.Cut(at, " "); number == fmt.Sprint(i+first) {
				codes += " " + code
			}
		}
		if codes != "" {
			lines[i] += " #!" + codes
		}
	}
	return []byte(strings.Join(lines, "\n"))
}
