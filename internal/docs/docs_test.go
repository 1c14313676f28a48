package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/toskose/toskose/internal/docs"
)

// testCode is the code of all tests.
func testCode(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(docs.Root(t), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		code, err := os.ReadFile(path)
		all.Write(code)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// TestSomeTestChecksEveryBlockOfTheDocumentation looks for a test that takes all blocks of its kind or,
// of what a page shows as printed, for one that compares it.
func TestSomeTestChecksEveryBlockOfTheDocumentation(t *testing.T) {
	t.Parallel()
	code := testCode(t)
	names := map[docs.Kind]string{
		docs.Shell: "Shell", docs.UnitCalls: "UnitCalls", docs.File: "File", docs.Templates: "Templates", docs.Config: "Config",
		docs.Prometheus: "Prometheus", docs.Workflow: "Workflow", docs.Supervisor: "Supervisor", docs.Dockerfile: "Dockerfile",
		docs.Message: "Message", docs.Resource: "Resource", docs.Cluster: "Cluster", docs.Level: "Level",
	}
	for kind, name := range names {
		if !strings.Contains(code, "docs.Of(t, docs."+name+")") {
			t.Errorf("no test asks for blocks with %s: docs.Of(t, docs.%s)", kind, name)
		}
		docs.Of(t, kind)
	}
	compared := map[string]bool{}
	for _, match := range regexp.MustCompile(`docs\.Shown\(t, "([^"]+)", ("(?:[^"\\]|\\.)+"|\x60[^\x60]+\x60)\)`).FindAllStringSubmatch(code, -1) {
		words, err := strconv.Unquote(match[2])
		if err != nil {
			t.Fatalf("%s: %v", match[0], err)
		}
		compared[match[1]+"\n"+docs.Shown(t, match[1], words)] = true
	}
	for _, p := range docs.Pages(t) {
		for _, b := range p.Blocks {
			switch {
			case b.Kind() == docs.Printed && !compared[b.Page+"\n"+b.Text]:
				t.Errorf("%s:%d: no test compares this with what is printed: docs.Shown(t, %q, …)\n%s", b.Page, b.Line, b.Page, b.Text)
			case b.Kind() != docs.Printed && names[b.Kind()] == "":
				t.Errorf("%s:%d: no kind of check knows this block of %q:\n%s", b.Page, b.Line, b.Language, b.Text)
			}
		}
	}
}

// TestEveryBlockOfTheDocumentationIsFenced finds those that a reader sees as a block, too, and no test does.
func TestEveryBlockOfTheDocumentationIsFenced(t *testing.T) {
	t.Parallel()
	indented := regexp.MustCompile("\n\n(?:    |\t)[^\n]+")
	for _, p := range docs.Pages(t) {
		if strings.Count("\n"+p.Text, "\n```")%2 != 0 || regexp.MustCompile("\n[ \t>]+```|\n~~~").MatchString(p.Text) {
			t.Errorf("%s has a fence that does not begin or end a block", p.Name)
		}
		text := p.Text
		for _, b := range p.Blocks {
			text = strings.Replace(text, b.Text, "", 1)
		}
		if found := indented.FindString(text); found != "" {
			t.Errorf("%s has an indented block, which no test reads:%s", p.Name, found)
		}
	}
}

// TestEveryTargetOfMakeInTheDocumentationExists reads what is in blocks, and what is in the middle of a sentence.
func TestEveryTargetOfMakeInTheDocumentationExists(t *testing.T) {
	t.Parallel()
	makefile, err := os.ReadFile(filepath.Join(docs.Root(t), "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	check, err := os.ReadFile(filepath.Join(docs.Root(t), "scripts", "distcheck.sh")) // which has a variable, too
	if err != nil {
		t.Fatal(err)
	}
	called := regexp.MustCompile(`(?:^|with [0-9] )make((?: +[A-Za-z0-9_-]+(?:=(?:"[^"]*"|\S+))?)*)`)
	found := 0
	for _, p := range docs.Pages(t) {
		lines := p.Spans()
		for _, b := range p.Blocks {
			lines = append(lines, strings.Split(b.Text, "\n")...)
		}
		for _, line := range lines {
			for _, match := range called.FindAllStringSubmatch(line, -1) {
				for word := range strings.FieldsSeq(regexp.MustCompile(`"[^"]*"`).ReplaceAllString(match[1], "")) {
					if name, _, variable := strings.Cut(word, "="); variable {
						if !strings.Contains(string(makefile)+string(check), name) {
							t.Errorf("%s: %s: the Makefile has no %s", p.Name, line, name)
						}
						continue
					}
					found++
					if !regexp.MustCompile(`(?m)^([a-z0-9 -]+ )?` + regexp.QuoteMeta(word) + `( [a-z0-9 -]+)?:`).Match(makefile) {
						t.Errorf("%s: %s: there is no make %s", p.Name, line, word)
					}
				}
			}
		}
	}
	if found < 50 {
		t.Errorf("only %d targets are found", found)
	}
}
