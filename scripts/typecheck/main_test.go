package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestErrorsOfAnotherSystemAreFound(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":          "module example.com/m\n\ngo 1.26\n",
		"main.go":         "package main\n\nimport \"fmt\"\n\nfunc main() { fmt.Println(name) }\n",
		"name_linux.go":   "package main\n\nconst name = \"linux\"\n",
		"name_windows.go": "package main\n\nconst name = 1 + \"windows\"\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	t.Setenv("GOWORK", "off")
	t.Setenv("GOFLAGS", "")
	if err := run(t.Context(), "linux", []string{"."}); err != nil {
		t.Errorf("linux: %v", err)
	}
	if err := run(t.Context(), "windows", []string{"."}); err == nil || !strings.Contains(err.Error(), "name_windows.go:3") {
		t.Errorf("windows: got %v, want an error of name_windows.go:3", err)
	}
	if err := run(t.Context(), "darwin", []string{"."}); err == nil || !strings.Contains(err.Error(), "undefined: name") {
		t.Errorf("darwin: got %v, want that name is undefined", err)
	}
}
