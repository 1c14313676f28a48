package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

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

// TestEveryExampleOfTheHelpAndTheReadmeRuns runs those that look at a document, and
// the others as a dry run, or where they need an engine up to their arguments.
func TestEveryExampleOfTheHelpAndTheReadmeRuns(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	thinking, err := filepath.Abs(filepath.Join("..", "..", "examples", "thinking"))
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	for _, dir := range []string{"thinking.csar", filepath.Join("examples", "thinking")} {
		if err := os.CopyFS(dir, os.DirFS(thinking)); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{
		"production.yaml": "api_port: 9090\n", "my-registry.yml": "{}\n", "toskose.yml": "{}\n",
		"thinking.plan": "backend:Standard.create\n", "down.plan": "gui:Standard.stop\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	lines := exampleLines(newCommand(environment{}))
	if len(lines) < 25 {
		t.Errorf("the help has %d examples", len(lines))
	}
	for line := range strings.Lines(string(readme)) {
		if strings.HasPrefix(line, "toskose ") && !strings.ContainsAny(line, "[…") && !strings.Contains(line, " DIR ") {
			lines = append(lines, line)
		}
	}
	for _, line := range lines {
		runExample(t, line)
	}
}

func runExample(t *testing.T, line string) {
	t.Helper()
	command, _, _ := strings.Cut(line, " #")
	command, _, _ = strings.Cut(command, "|")
	command, to, _ := strings.Cut(command, ">")
	args := strings.Fields(command)
	if len(args) < 2 || args[0] != "toskose" {
		t.Errorf("%q is no example", line)
		return
	}
	args = args[1:]
	var out, said bytes.Buffer
	env := environment{out: &out, err: &said, environ: []string{"DOCKER_HOST=unix:///nowhere/engine.sock"}}
	cmd, rest, err := newCommand(env).Find(args)
	if err != nil {
		t.Errorf("%s: %v", line, err)
		return
	}
	switch {
	case slices.Contains([]string{"deploy", "undeploy"}, cmd.Name()) || slices.Contains(args, "direct") || slices.Contains(args, "-p"):
		if err := cmd.ParseFlags(rest); err != nil {
			t.Errorf("%s: %v", line, err)
		} else if err := cmd.ValidateArgs(cmd.Flags().Args()); err != nil {
			t.Errorf("%s: %v", line, err)
		}
		return
	case !cmd.HasParent() && !slices.Contains(args, "--dry-run"):
		args = append(args, "--dry-run")
	}
	code := run(t.Context(), args, env)
	if code != exitOK {
		t.Errorf("%s exits with %d: %s", line, code, said.String())
	}
	if name := strings.TrimSpace(to); name != "" && filepath.IsLocal(name) {
		if err := os.WriteFile(name, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
