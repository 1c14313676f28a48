package output_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/output"
)

// zeros is a source of random bytes that are none.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// writes is a target with these manifests.
func writes(names ...string) output.Target {
	return func(*packager.Plan, output.Secrets) ([]output.File, error) {
		var files []output.File
		for _, name := range names {
			files = append(files, output.File{Name: name, Mode: 0o644, Data: []byte(output.Header)})
		}
		return files, nil
	}
}

func packaged(t *testing.T, dir string, opts output.Options) {
	t.Helper()
	plan := &packager.Plan{App: "shop", Secrets: []packager.Secret{{Name: packager.ManagerPassword}}}
	opts.Random = zeros{}
	if err := output.Write(dir, plan, opts); err != nil {
		t.Fatal(err)
	}
}

// files returns the paths in a folder.
func files(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestManifestsThatAreOutOfDateAreRemovedAndTheUsersFilesAreNot(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	packaged(t, dir, output.Options{Targets: []output.Target{
		writes("docker-compose.yml", "docker-compose.local.yml"), writes("kustomization.yaml", "kubernetes/old.yaml", "kubernetes/new.yaml"),
	}})
	for _, name := range []string{"kubernetes/mine.yaml", "notes.txt"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("mine\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	packaged(t, dir, output.Options{Targets: []output.Target{writes("kustomization.yaml", "kubernetes/new.yaml")}})
	want := []string{
		"kubernetes/mine.yaml", "kubernetes/new.yaml", "kustomization.yaml", "notes.txt",
		"secrets/manager-password", "secrets/names.json", "secrets/netrc", "toskose.yml",
	}
	if diff := cmp.Diff(want, files(t, dir)); diff != "" {
		t.Error(diff)
	}
	if err := output.Check(dir, ""); err == nil || !strings.Contains(err.Error(), "has a kubernetes/mine.yaml that toskose did not write") {
		t.Errorf("error %v", err)
	}
}

func TestAFileThatIsAsItShouldBeIsLeftAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	packaged(t, dir, output.Options{})
	for name, replaced := range map[string]bool{"secrets/manager-password": false, "secrets/netrc": true} {
		path := filepath.Join(dir, name)
		before, err := os.Stat(path)
		if err == nil && replaced {
			err = os.WriteFile(path, []byte("another\n"), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		packaged(t, dir, output.Options{})
		if after, err := os.Stat(path); err != nil || os.SameFile(before, after) == replaced {
			t.Errorf("%s: %v, the same file: %v", name, err, !replaced)
		}
	}
}

func TestExternalSecretsAreNeitherDrawnNorWritten(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var told output.Secrets
	packaged(t, dir, output.Options{External: true, Targets: []output.Target{
		func(_ *packager.Plan, secrets output.Secrets) ([]output.File, error) {
			told = secrets
			return nil, nil
		},
	}})
	if diff := cmp.Diff(output.Secrets{External: true}, told); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"toskose.yml"}, files(t, dir)); diff != "" {
		t.Error(diff)
	}
	if _, err := output.ManagerPassword(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v", err)
	}
}

// TestASecretThatNoContainerHasIsRemoved packages a secret, then goes without it while a
// container still has its file, and then when none has.
func TestASecretThatNoContainerHasIsRemoved(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(mounted func(string) bool, names ...string) []string {
		plan := &packager.Plan{App: "shop", Version: "1", Services: []packager.Service{{IsManager: true}}}
		for _, name := range names {
			plan.Secrets = append(plan.Secrets, packager.Secret{Name: name})
		}
		if err := output.Write(dir, plan, output.Options{Random: zeros{}, Mounted: mounted}); err != nil {
			t.Fatal(err)
		}
		entries, err := os.ReadDir(filepath.Join(dir, output.SecretsDir))
		if err != nil {
			t.Fatal(err)
		}
		var left []string
		for _, e := range entries {
			if e.Name() != packager.SecretNamesFile && e.Name() != packager.NetrcFile {
				left = append(left, e.Name())
			}
		}
		return left
	}
	write(nil, "api.token", "manager-password")
	if err := os.WriteFile(filepath.Join(dir, output.SecretsDir, "mine"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	whole := filepath.Join(dir, output.SecretsDir, "api.token")
	if left := write(func(path string) bool { return path == whole }, "manager-password"); !slices.Equal(left, []string{"api.token", "manager-password", "mine"}) {
		t.Errorf("while a container has it: %q", left)
	}
	if left := write(func(string) bool { return false }, "manager-password"); !slices.Equal(left, []string{"manager-password", "mine"}) {
		t.Errorf("when none has it: %q", left)
	}
}
