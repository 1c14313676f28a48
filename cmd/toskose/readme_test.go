package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTheReadmeShowsWhatValidatePrints misspells the host that the README's
// example misspells, and runs the commands beside it.
func TestTheReadmeShowsWhatValidatePrints(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(readme), "## Looking at a TOSCA document")
	section, _, _ = strings.Cut(section, "\n## ")
	blocks := strings.Split(section, "```")
	if len(blocks) != 5 {
		t.Fatalf("the section has %d blocks, not commands and an output", len(blocks)/2)
	}
	dir := filepath.Join(t.TempDir(), "examples", "thinking")
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("..", "..", "examples", "thinking"))); err != nil {
		t.Fatal(err)
	}
	call := func(args ...string) (int, string) {
		var out bytes.Buffer
		code := run(t.Context(), args, environment{out: &out, err: &out})
		return code, strings.ReplaceAll(out.String(), dir, "examples/thinking")
	}
	for line := range strings.Lines(strings.TrimSpace(strings.TrimPrefix(blocks[1], "sh"))) {
		command, _, _ := strings.Cut(line, "#")
		args := strings.Fields(command)[1:]
		for i := range args {
			args[i] = strings.Replace(args[i], "examples/thinking", dir, 1)
			args[i] = strings.Replace(args[i], "thinking.svg", filepath.Join(filepath.Dir(dir), "thinking.svg"), 1)
		}
		if code, out := call(args...); code != exitOK {
			t.Errorf("%s exits with %d:\n%s", command, code, out)
		}
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
	code, out := call("validate", dir)
	if code != exitError || strings.TrimSpace(out) != strings.TrimSpace(blocks[3]) {
		t.Errorf("validate exits with %d and prints\n%s\nand the README shows\n%s", code, out, blocks[3])
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
