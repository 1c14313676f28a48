package scripts

import (
	"encoding/json"
	"os/exec"
	"testing"
)

// required returns the versions of the modules that a go.mod requires.
func required(t *testing.T, folder string) map[string]string {
	t.Helper()
	cmd := exec.Command("go", "mod", "edit", "-json")
	cmd.Dir = folder
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var mod struct {
		Require []struct{ Path, Version string }
	}
	if err := json.Unmarshal(out, &mod); err != nil {
		t.Fatal(err)
	}
	versions := map[string]string{}
	for _, m := range mod.Require {
		versions[m.Path] = m.Version
	}
	return versions
}

// In the workspace, tests use the higher version of a module that both go.mod files require, but releases
// are built with the version in the root's go.mod.
func TestBothModulesRequireTheSameVersions(t *testing.T) {
	t.Parallel()
	tests := required(t, "../e2e")
	for path, version := range required(t, "..") {
		if used, ok := tests[path]; ok && used != version {
			t.Errorf("%s: go.mod has %s, e2e/go.mod %s", path, version, used)
		}
	}
}
