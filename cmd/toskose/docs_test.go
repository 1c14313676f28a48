package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/toskose/toskose/cmd/toskose/cli"
	"github.com/toskose/toskose/internal/docs"
)

// TestEveryLinkOfTheDocumentationLeadsSomewhere follows those within the repository.
func TestEveryLinkOfTheDocumentationLeadsSomewhere(t *testing.T) {
	t.Parallel()
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading := regexp.MustCompile("(?m)^#+ (.*)$")
	anchors := func(text string) string {
		var all strings.Builder
		for _, match := range heading.FindAllStringSubmatch(text, -1) {
			name := strings.ReplaceAll(strings.ToLower(match[1]), " ", "-")
			all.WriteString("#" + regexp.MustCompile(`[^a-z0-9_-]`).ReplaceAllString(name, "") + "\n")
		}
		return all.String()
	}
	links := 0
	for _, p := range docs.Pages(t) {
		for _, match := range link.FindAllStringSubmatch(p.Text, -1) {
			target, anchor, _ := strings.Cut(match[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			links++
			text := p.Text
			if target != "" {
				data, err := os.ReadFile(filepath.Join(docs.Root(t), filepath.Dir(p.Name), filepath.FromSlash(target)))
				if err != nil {
					t.Errorf("%s: %v", p.Name, err)
					continue
				}
				text = string(data)
			}
			if anchor != "" && !strings.Contains(anchors(text), "#"+anchor+"\n") {
				t.Errorf("%s: %s has no such heading", p.Name, match[1])
			}
		}
	}
	if links < 30 {
		t.Errorf("there are %d links", links)
	}
}

// TestTheGuideHasEveryNameOfTosKersTypes looks for each property, attribute,
// requirement and capability in the table of its type.
func TestTheGuideHasEveryNameOfTosKersTypes(t *testing.T) {
	t.Parallel()
	var text []byte
	for _, file := range []string{"tosker-types.yaml", "toskose-types.yaml"} {
		types, err := os.ReadFile("../../tosca/internal/grammar/types/" + file)
		if err != nil {
			t.Fatal(err)
		}
		text = append(text, types...)
	}
	guide, err := os.ReadFile("../../docs/writing-applications.md")
	if err != nil {
		t.Fatal(err)
	}
	table := func(name string) string {
		_, after, _ := strings.Cut(string(guide), "### "+name+"\n")
		table, _, _ := strings.Cut(after, "\n#")
		return table
	}
	typeLine := regexp.MustCompile(`^  ((?:tosker|toskose)\.nodes\.\w+|tosker\.policies\.\w+|toskose\.policies\.\w+|[a-z]+\.[a-z]+\.\S+):`)
	nameLine := regexp.MustCompile(`^      (?:- )?(\w+):`)
	name, found := "", 0
	for line := range strings.Lines(string(text)) {
		if match := typeLine.FindStringSubmatch(line); match != nil {
			name = strings.NewReplacer("toskose.policies", "tosker.policies", "toskose.interfaces", "toskose.nodes").Replace(match[1])
		} else if match := nameLine.FindStringSubmatch(line); match != nil {
			found++
			if !strings.Contains(table(name), "`"+match[1]+"`") {
				t.Errorf("the guide's table of %s has no %q", name, match[1])
			}
		}
	}
	if found < 30 {
		t.Errorf("the types have %d names", found)
	}
}

// TestTheDocumentationShowsWhatValidatePrints misspells the host that the example
// in docs/tosca.md misspells.
func TestTheDocumentationShowsWhatValidatePrints(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "examples", "thinking")
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("..", "..", "examples", "thinking"))); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "thinking.yaml")
	doc, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	wrong := bytes.Replace(doc, []byte("host: frontend"), []byte("host: frontnd"), 1)
	if err := os.WriteFile(path, wrong, 0o644); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	code := run(t.Context(), []string{"validate", dir}, environment{out: &out, err: &out})
	printed := strings.ReplaceAll(out.String(), dir, "examples/thinking")
	for _, shown := range []string{docs.Shown(t, "docs/tosca.md", "frontnd"), docs.Shown(t, "docs/diagnostics.md", "frontnd")} {
		if code != cli.ExitFailed || printed != shown {
			t.Errorf("validate exits with %d and prints\n%s\nand the documentation shows\n%s", code, printed, shown)
		}
	}
}

func TestColourIsForPeopleWhoWantIt(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		environ  []string
		terminal bool
		want     bool
	}{
		{nil, true, true},
		{nil, false, false},
		{[]string{"NO_COLOR=1"}, true, false},
		{[]string{"NO_COLOR="}, true, true},
		{[]string{"TERM=dumb"}, true, false},
	} {
		if got := (environment{environ: tt.environ}).colour(tt.terminal); got != tt.want {
			t.Errorf("%v on a terminal %v: %v", tt.environ, tt.terminal, got)
		}
	}
}
