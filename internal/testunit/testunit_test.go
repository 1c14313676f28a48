package testunit

import (
	"debug/buildinfo"
	"os"
	"path/filepath"
	"testing"
)

func TestTheUnitIsBuiltAsStrictAsTheTestIs(t *testing.T) {
	t.Parallel()
	strict, err := AsStrict(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{Shipped(t): false, strict: race} {
		info, err := buildinfo.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		detector := false
		for _, setting := range info.Settings {
			detector = detector || setting.Key == "-race" && setting.Value == "true"
		}
		if info.Path != "github.com/toskose/toskose/cmd/toskose-unit" || detector != want {
			t.Errorf("%s is %s, with the race detector: %v", path, info.Path, detector)
		}
	}
}

func TestABinaryThatWasHandedOnIsTakenAndMustBeThere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "unit")
	t.Setenv(shipped.env, path)
	if got, err := shipped.path(t.Context()); err == nil {
		t.Errorf("nothing is there, and the path is %s", got)
	}
	if err := os.WriteFile(path, nil, 0o700); err != nil {
		t.Fatal(err)
	}
	if got, err := shipped.path(t.Context()); got != path || err != nil {
		t.Errorf("got %s, %v", got, err)
	}
}
