//go:build !windows

package main

import (
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/toskose/toskose/internal/docs"
	"github.com/toskose/toskose/packager/config"
)

var emptyConfig config.Config

// exampleLines gives the commands in the help of a command and of those below it.
func exampleLines(cmd *cobra.Command) []string {
	var lines []string
	if cmd.HasExample() {
		lines = strings.Split(cmd.Example, "\n")
	}
	for _, c := range cmd.Commands() {
		if c.Name() != "completion" && c.Name() != "help" { // cobra's own
			lines = append(lines, exampleLines(c)...)
		}
	}
	return lines
}

// exampleFiles are the files that blocks of the documentation show, and small ones that its commands name.
func exampleFiles(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{
		"production.yaml": "api_port: 9090\n", "toskose.yml": "{}\n",
		"notes/data/seed.txt": "first\n", "worker/images/worker/tool": "#!/bin/sh\n",
		"thinking.plan": "backend:Standard.create\n", "down.plan": "gui:Standard.stop\n",
	}
	for _, b := range slices.Concat(docs.Of(t, docs.File), docs.Of(t, docs.Config), docs.Of(t, docs.Supervisor)) {
		if name := b.File(); name != "" && name != "toskose.yml" { // which is each application's
			files[name] = b.Text
		}
	}
	return files
}

// TestEveryDocumentOfTheDocumentationIsPackaged validates each archive that blocks show, plans and packages it.
func TestEveryDocumentOfTheDocumentationIsPackaged(t *testing.T) {
	t.Parallel()
	d := &desk{dir: t.TempDir()}
	documents := 0
	files := exampleFiles(t)
	for name, text := range files {
		d.file(t, name, text)
	}
	d.surround(t)
	for name := range files {
		if path.Base(name) != "app.yaml" {
			continue
		}
		documents++
		for _, line := range []string{"toskose validate --strict ", "toskose plan ", "toskose plan --down ", "toskose package --target all "} {
			d.sh(t, line+path.Dir(name))
		}
	}
	if documents < 2 {
		t.Errorf("the documentation has %d documents", documents)
	}
}

// TestEveryExampleOfTheHelpRuns does with them what is done with those of the documentation.
func TestEveryExampleOfTheHelpRuns(t *testing.T) {
	t.Parallel()
	lines := exampleLines(newCommand(environment{}))
	if len(lines) < 25 {
		t.Errorf("the help has %d examples", len(lines))
	}
	d := newDesk(t, docs.Page{Name: "help", Text: strings.Join(lines, "\n")})
	for _, line := range lines {
		d.sh(t, strings.TrimSpace(line))
	}
}
