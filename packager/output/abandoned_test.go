//go:build unix

package output

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestWhatAKilledProcessStagedIsRemoved with the next file that is written in the folder.
func TestWhatAKilledProcessStagedIsRemoved(t *testing.T) {
	t.Parallel()
	ended := exec.Command("true")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, stays := range map[string]bool{
		fmt.Sprintf(".a%s%d-1", stagedBy, ended.Process.Pid): false,
		fmt.Sprintf(".a%s%d-1", stagedBy, os.Getpid()):       true,
		".a" + stagedBy + "x":                                true,
		".mine":                                              true,
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := WriteFile(filepath.Join(dir, "b"), 0o600, []byte("text")); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(path); (err == nil) != stays {
			t.Errorf("%s: %v", name, err)
		}
	}
}
