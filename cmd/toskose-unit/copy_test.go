package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheUnitCopiesItself(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	file := filepath.Join(t.TempDir(), "supervisord")
	for range 2 { // an init container may run again
		if code := run(t.Context(), []string{"copy", file}, system{stdout: &out, stderr: &out}); code != exitOK {
			t.Fatalf("exit code %d: %s", code, &out)
		}
	}
	self, err := os.Stat("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	copied, err := os.Stat(file)
	if err != nil || copied.Size() != self.Size() || copied.Mode().Perm() != 0o755 {
		t.Errorf("the copy: %v, %v", copied, err)
	}
	for _, args := range [][]string{{"copy"}, {"copy", "--help"}} {
		if code := run(t.Context(), args, system{stdout: &out, stderr: &out}); code != exitConfig {
			t.Errorf("%q: exit code %d", args, code)
		}
	}
	if code := run(t.Context(), []string{"copy", filepath.Join(file, "x")}, system{stdout: &out, stderr: &out}); code != exitFailed || !strings.Contains(out.String(), "cannot copy the unit: ") {
		t.Errorf("exit code %d: %s", code, &out)
	}
}
