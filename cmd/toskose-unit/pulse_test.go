package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestAge(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		stat, uptime string
		want         time.Duration
	}{
		"a name with spaces and brackets": {"1 (a) b) S 0 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 90000 1 2 3\n", "907.50 100.00\n", 7500 * time.Millisecond},
		"cut off":                         {"1 (unit) S 0 1\n", "907.50 100.00\n", 0},
		"no number":                       {"1 (unit) S 0 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 x 1\n", "907.50 100.00\n", 0},
		"no time":                         {"1 (unit) S 0 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 90000 1\n", "\n", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			proc := t.TempDir()
			for path, text := range map[string]string{"1/stat": c.stat, "uptime": c.uptime} {
				at := filepath.Join(proc, path)
				if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if got := age(proc); got != c.want {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
	if got := age(t.TempDir()); got != 0 {
		t.Errorf("without /proc: %v", got)
	}
	if age("/proc") <= 0 {
		t.Error("the first process of this machine has no age")
	}
}
