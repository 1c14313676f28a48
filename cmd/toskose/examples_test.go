package main

import (
	"bytes"
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/toskose/toskose/cmd/toskose/cli"
	"github.com/toskose/toskose/cmd/toskose/contexts"
	"github.com/toskose/toskose/packager/output"
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

// TestEveryExampleOfTheHelpAndTheDocumentationRuns runs those that look at a
// document, and the others as a dry run, or where they need an engine or a manager
// up to their arguments. Documents are validated, planned and packaged. A block of text below a block with one command is what that prints.
func TestEveryExampleOfTheHelpAndTheDocumentationRuns(t *testing.T) {
	pages := documentation(t)
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
	files := map[string]string{
		"production.yaml": "api_port: 9090\n", "toskose.yml": "{}\n",
		"notes/data/seed.txt": "first\n", "worker/images/worker/tool": "#!/bin/sh\n",
		"thinking-toskosed/docker-compose.yml": output.Header + "x-toskose: {app: thinking, manager: {port: 10000}}\n", "thinking-toskosed/secrets/names.json": "{}\n",
		"thinking.plan": "backend:Standard.create\n", "down.plan": "gui:Standard.stop\n",
	}
	documents := 0
	for _, p := range pages {
		for _, b := range p.blocks {
			name := b.file()
			if name != "" {
				files[name] = b.text
			} else if b.language == "yaml" && filepath.Base(p.name) == "writing-applications.md" {
				t.Errorf("%s: no test reads a block without a name:\n%s", p.name, b.text)
			}
		}
	}
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		mode := os.FileMode(0o644)
		if filepath.Ext(name) == ".sh" {
			mode = 0o755
		}
		if err := os.WriteFile(name, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	for name := range files {
		if filepath.Base(name) == "app.yaml" {
			documents++
			for _, line := range []string{"toskose validate --strict ", "toskose plan ", "toskose plan --down ", "toskose package --target all "} {
				runExample(t, line+filepath.Dir(name))
			}
		}
	}
	if documents < 2 {
		t.Errorf("the documentation has %d documents", documents)
	}
	lines := exampleLines(newCommand(environment{}))
	if len(lines) < 25 {
		t.Errorf("the help has %d examples", len(lines))
	}
	for _, line := range lines {
		runExample(t, line)
	}
	found := 0
	for _, p := range pages {
		for i, b := range p.blocks {
			commands := b.commands()
			found += len(commands)
			printed := ""
			for _, line := range commands {
				printed = runExample(t, line)
			}
			if len(commands) == 1 && i+1 < len(p.blocks) && p.blocks[i+1].language == "text" && printed != p.blocks[i+1].text {
				t.Errorf("%s shows\n%s\nand %s prints\n%s", p.name, p.blocks[i+1].text, commands[0], printed)
			}
		}
	}
	if found < 30 {
		t.Errorf("the documentation has %d examples", found)
	}
}

// runExample runs a command of the documentation and returns what it printed.
func runExample(t *testing.T, line string) string {
	t.Helper()
	if !strings.HasPrefix(strings.TrimSpace(line), "toskose ") {
		if out, err := exec.CommandContext(t.Context(), "sh", "-c", line).CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", line, err, out)
		}
		return ""
	}
	command, _, _ := strings.Cut(line, " #")
	command, _, _ = strings.Cut(command, "|")
	command, to, _ := strings.Cut(command, ">")
	args := strings.Fields(command)
	args = args[1:]
	var out, said bytes.Buffer
	env := environment{out: &out, err: &said, environ: []string{"DOCKER_HOST=unix:///nowhere/engine.sock", "TOSKOSE_CONFIG=contexts"}}
	cmd, rest, err := newCommand(env).Find(args)
	if err != nil {
		t.Errorf("%s: %v", line, err)
		return ""
	}
	has := func(words ...string) bool {
		return slices.ContainsFunc(words, func(word string) bool { return slices.Contains(args, word) })
	}
	switch {
	case strings.HasPrefix(cmd.CommandPath(), "toskose context ") && !has("--dir", "--ca", "--cert"):
		if err := cmp.Or(contexts.Deployed(env.environ, "thinking", "thinking-toskosed"), os.WriteFile("staging-password", nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	case slices.Contains([]string{"toskose deploy", "toskose undeploy", "toskose ps", "toskose release", "toskose rotate", "toskose diff", "toskose ls", "toskose volume ls", "toskose volume backup", "toskose volume restore"}, cmd.CommandPath()) || has("--dir", "direct", "-p", "--ca", "--cert"):
		if err := cmd.ParseFlags(rest); err != nil {
			t.Errorf("%s: %v", line, err)
		} else if err := cmd.ValidateArgs(cmd.Flags().Args()); err != nil {
			t.Errorf("%s: %v", line, err)
		}
		return ""
	case (!cmd.HasParent() || cmd.Name() == "package") && !slices.Contains(args, "--dry-run"):
		args = append(args, "--dry-run")
	}
	code := run(t.Context(), args, env)
	if code != cli.ExitOK {
		t.Errorf("%s exits with %d: %s", line, code, said.String())
	}
	if name := strings.TrimSpace(to); name != "" && filepath.IsLocal(name) {
		if err := os.WriteFile(name, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return out.String()
}
