package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// version is what a version of Thinking has that the one before has not.
type version func(t *testing.T, dir string)

// edit replaces in a file of an archive; the text has to be there.
func edit(t *testing.T, dir, name, old, with string) {
	t.Helper()
	path := filepath.Join(dir, name)
	text := read(t, path)
	if !strings.Contains(text, old) {
		t.Fatalf("%s has no %q", name, old)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(text, old, with, 1)), 0o755); err != nil {
		t.Fatal(err)
	}
}

// secondVersion has another start of gui, and a component more in frontend.
func secondVersion(t *testing.T, dir string) {
	t.Helper()
	edit(t, dir, "scripts/gui/start.sh", "cd /opt", "echo 'of the second version'\ncd /opt")
	edit(t, dir, "thinking.yaml", "    # The containers.\n", `    clock:
      type: tosker.nodes.Software
      requirements:
        - host: frontend
      interfaces:
        Standard:
          start:
            implementation: scripts/clock/start.sh

    # The containers.
`)
	if err := os.Mkdir(filepath.Join(dir, "scripts", "clock"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "scripts", "clock", "start.sh"), []byte("#!/bin/sh\nexec sleep 1000000\n"), 0o755); err != nil {
		t.Fatal(err)
	}
}

// thirdVersion has no frontend. As nobody dials api any more, backend does not have that name.
func thirdVersion(t *testing.T, dir string) {
	t.Helper()
	secondVersion(t, dir)
	path := filepath.Join(dir, "thinking.yaml")
	text, _, found := strings.Cut(read(t, path), "    - gui_protocol:\n") // it is the last
	if !found {
		t.Fatal("gui has no protocol of its own any more")
	}
	for _, name := range []string{"gui", "clock", "frontend"} {
		block := regexp.MustCompile(`(?m)^    ` + name + `:\n(?:(?:      .*)?\n)+`)
		if !block.MatchString(text) {
			t.Fatalf("there is no %s", name)
		}
		text = block.ReplaceAllString(text, "")
	}
	write(t, path, text)
}

// brokenVersion has a store that does not come up.
func brokenVersion(t *testing.T, dir string) {
	t.Helper()
	edit(t, dir, "thinking.yaml", "    store:\n      type: tosker.nodes.Container\n", "    store:\n      type: tosker.nodes.Container\n      properties:\n        command: redis-server --no-such-option x\n")
}

// brokenUnit has a unit in frontend that does not come up.
func (a *application) brokenUnit(t *testing.T, _ string) {
	t.Helper()
	write(t, a.config, read(t, a.config)+"components:\n  gui: {user: ghost}\n")
}

// packageVersion packages a version into the application's folder.
func (s surroundings) packageVersion(t *testing.T, a *application, change version, frontend bool) {
	t.Helper()
	if s.configure != nil {
		s.configure(t, frontend)
	}
	source := filepath.Join(t.TempDir(), "thinking")
	if err := os.CopyFS(source, os.DirFS("../examples/thinking")); err != nil {
		t.Fatal(err)
	}
	change(t, source)
	archive := a.packaging[len(a.packaging)-2]
	if err := os.RemoveAll(archive); err != nil {
		t.Fatal(err)
	}
	must(t, "", "zipcsar", renamed(t, source, a.name), archive)
	must(t, "", "toskose", a.packaging...)
	a.password = strings.TrimSpace(read(t, filepath.Join(a.dir, "secrets", "manager-password")))
	if s.packaged != nil {
		s.packaged(t)
	}
}
