package tosca_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/toskose/toskose/spec"
	"github.com/toskose/toskose/tosca"
	"github.com/toskose/toskose/tosca/csar"
	"github.com/toskose/toskose/tosca/diag"
)

// Every code is in docs/diagnostics.md, with its title and a message that a test
// expects together with it.
func TestEveryCodeIsDocumentedByAMessageThatATestExpects(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile(filepath.Join("..", "docs", "diagnostics.md"))
	if err != nil {
		t.Fatal(err)
	}
	expected := linesByCode(t)
	row := regexp.MustCompile("(?m)^\\| <a id=\"(TOSCA-[A-Z]+-[0-9]+)\"></a>`(TOSCA-[A-Z]+-[0-9]+)` \\| ([^|]+) \\| (error|warning|error or warning) \\| (.+) \\|$")
	documented := map[string]bool{}
	for _, m := range row.FindAllStringSubmatch(string(doc), -1) {
		code, title, example := m[2], m[3], plainText(strings.ReplaceAll(m[5], `\|`, "|"))
		if m[1] != code || title != tosca.Title(code) {
			t.Errorf("%s is titled %q, not %q", code, title, tosca.Title(code))
		}
		if documented[code] {
			t.Errorf("%s is there twice", code)
		}
		documented[code] = true
		if !slices.ContainsFunc(expected[code], func(line string) bool { return strings.Contains(line, example) }) {
			t.Errorf("%s: no test expects %s", code, example)
		}
	}
	for _, code := range tosca.Codes() {
		if !documented[code] {
			t.Errorf("docs/diagnostics.md lacks %s", code)
		}
	}
	if len(documented) != len(tosca.Codes()) {
		t.Errorf("%d codes are documented, and there are %d", len(documented), len(tosca.Codes()))
	}
}

// linesByCode returns the lines of tests and their documents that name a code.
func linesByCode(t *testing.T) map[string][]string {
	t.Helper()
	code := regexp.MustCompile(`TOSCA-[A-Z]+-[0-9]+`)
	found := map[string][]string{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") && !strings.HasSuffix(path, ".txtar") {
			return err
		}
		data, err := os.ReadFile(path)
		for line := range strings.Lines(string(data)) {
			for _, c := range code.FindAllString(line, -1) {
				found[c] = append(found[c], plainText(line))
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// plainText is a text without what quotes it in Go and in Markdown.
func plainText(s string) string { return strings.NewReplacer("`", "", `\`, "").Replace(s) }

// What few documents have, or what is too large to write down.
func TestLimitsOfFilesAndImportsAreReported(t *testing.T) {
	t.Parallel()
	const header = "tosca_definitions_version: tosca_simple_yaml_1_3\n"
	many := map[string]string{"app.yaml": header + "imports:\n"}
	for i := range 1000 {
		name := fmt.Sprintf("f%d.yaml", i)
		many["app.yaml"] += "  - " + name + "\n"
		many[name] = header
	}
	dir := t.TempDir()
	large := filepath.Join(dir, "app.yaml")
	if err := os.WriteFile(large, []byte(header+"metadata: {a: ["+strings.Repeat(",", 7<<20)+"]}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	archive, err := csar.Open(large)
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	for want, a := range map[string]*csar.Archive{
		`TOSCA-IMP-004 app.yaml:1002:5: import "f999.yaml": at most 1000 files are imported`:                       zipped(t, many),
		`TOSCA-YAML-013 app.yaml: the file is too large: at most 33554432 bytes and about 6291456 values are read`: archive,
	} {
		_, list, _ := tosca.Load(t.Context(), a, tosca.Options{Draft: true})
		i := slices.IndexFunc(list, func(d diag.Diagnostic) bool { return d.Severity == diag.Error })
		if i < 0 || list[i].Code+" "+list[i].Error() != want {
			t.Errorf("got %v, want %s", list, want)
		}
	}
}

// Every field of `inspect --json` is in docs/model.md.
func TestEveryFieldOfTheModelIsDocumented(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile(filepath.Join("..", "docs", "model.md"))
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string]string{}
	for _, section := range strings.Split(string(doc), "\n## ")[1:] {
		title, rows, _ := strings.Cut(section, "\n")
		sections[title] = rows
	}
	seen := map[reflect.Type]bool{}
	var look func(of reflect.Type)
	look = func(of reflect.Type) {
		for of.Kind() == reflect.Slice || of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		if of.Kind() != reflect.Struct || seen[of] {
			return
		}
		seen[of] = true
		rows := sections[of.Name()]
		fields := 0
		for _, f := range reflect.VisibleFields(of) {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if f.Anonymous || name == "-" {
				continue // the fields of an embedded struct are visible, too
			}
			if !strings.Contains(rows, "\n| `"+name+"` |") {
				t.Errorf("docs/model.md lacks %q of %s", name, of.Name())
			}
			fields++
			look(f.Type)
		}
		if got := strings.Count(rows, "\n| `"); got != fields {
			t.Errorf("docs/model.md has %d fields of %s, and there are %d", got, of.Name(), fields)
		}
	}
	look(reflect.TypeFor[spec.Application]())
	if len(seen) != len(sections) {
		t.Errorf("docs/model.md has %d sections, and there are %d types", len(sections), len(seen))
	}
}
