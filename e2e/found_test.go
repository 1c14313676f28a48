package e2e

import (
	"os/exec"
	"testing"
)

// found gives the path of a command that a test cannot do without.
func found(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}
