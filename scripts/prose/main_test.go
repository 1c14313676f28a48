package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPhrasesAreCountedInCommentsMessagesAndPages(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a.go":            "package a\n\n// A returns what is asked for.\nfunc A() string { return \"nobody can read what it says\" }\n",
		"a_test.go":       "package a\n\n// what is here does not count\n",
		"page.md":         "Those that read this page know the client.\n",
		"testdata/big.md": "whatever whatever whatever\n",
		"clean.go":        "package a\n\n// B returns the client.\nfunc B() string { return \"what is\" }\n",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for limit, want := range map[string]int{"1": 1, "1000": 0} {
		var out, errs bytes.Buffer
		if code := run([]string{"-list", "-max", limit, dir}, &out, &errs); code != want || !strings.Contains(out.String(), "prose: 4 phrases in 24 words, 166.7 per 1,000") {
			t.Errorf("-max %s: exit %d, %s%s", limit, code, out.String(), errs.String())
		}
	}
	var out bytes.Buffer
	if code := run([]string{"-max", "x"}, &out, &out); code != 2 {
		t.Errorf("a limit that is not a number: exit %d", code)
	}
}
