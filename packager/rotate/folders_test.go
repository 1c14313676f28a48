package rotate_test

import (
	"bytes"
	"crypto/rand"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/output"
	"github.com/toskose/toskose/packager/release"
	"github.com/toskose/toskose/packager/rotate"
)

// offline replaces the secrets of a folder whose application does not run.
func offline(t *testing.T, dir string, others ...string) {
	t.Helper()
	opts := rotate.Options{
		Dir: dir, Nodes: []string{"backend"}, Passwords: true, Authority: true, Offline: true, Others: others,
		Random: rand.Reader, Now: time.Now(), Say: func(string) {},
	}
	r, err := rotate.New(opts)
	if err == nil {
		err = r.Begin()
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := output.UnfinishedRotation(dir); err == nil || !strings.Contains(err.Error(), "toskose rotate") {
		t.Errorf("packaging is told: %v", err)
	}
	if err := r.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// holding returns the files below a folder that a text is in.
func holding(t *testing.T, dir, text string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte(text)) {
			names = append(names, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// TestARollbackBringsNoOldSecretBack: the folder that is rotated keeps its release, and copies
// of it and other folders of the application get what is new.
func TestARollbackBringsNoOldSecretBack(t *testing.T) {
	t.Parallel()
	dir := packaged(t, true)
	id, err := release.ID(dir)
	if err == nil {
		err = release.Keep(dir, id)
	}
	if err != nil {
		t.Fatal(err)
	}
	other := t.TempDir()
	if err := os.CopyFS(other, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	stranger := packaged(t, true)
	was := map[string]string{}
	for _, name := range []string{"backend-password", packager.ManagerPassword, packager.ManagerSecretKey, "backend-tls.key", packager.TLSAuthority, packager.TLSAuthorityFile} {
		data, err := os.ReadFile(filepath.Join(dir, output.SecretsDir, name))
		if err != nil {
			t.Fatal(err)
		}
		was[name] = string(data)
	}
	foreign, err := os.ReadFile(filepath.Join(stranger, output.SecretsDir, "backend-password"))
	if err != nil {
		t.Fatal(err)
	}
	suffixes, err := output.Suffixes(dir)
	if err != nil {
		t.Fatal(err)
	}
	offline(t, dir, other, stranger)
	offline(t, dir, other, stranger) // and once more
	for name, text := range was {
		for _, in := range []string{dir, other} {
			if names := holding(t, in, strings.TrimSpace(text)); len(names) > 0 {
				t.Errorf("the old %s is in %q", name, names)
			}
		}
	}
	if names := holding(t, filepath.Join(dir, "releases"), "_"+suffixes["backend-password"]); len(names) > 0 {
		t.Errorf("a Swarm would look for the old secret by %q", names)
	}
	if len(holding(t, stranger, string(foreign))) == 0 {
		t.Error("a folder with another application's secrets was changed")
	}
	for _, in := range []string{dir, other, filepath.Join(dir, "releases", id)} {
		if now, err := release.ID(in); err != nil || now != id {
			t.Errorf("%q is release %s now and was %s: %v", in, now, id, err)
		}
	}
	again := release.Record{Release: id, Folder: dir}
	manifest := filepath.Join(dir, "docker-compose.yml")
	now, err := os.ReadFile(manifest)
	if err == nil {
		err = os.WriteFile(manifest, []byte(output.Header+"name: another release\n"), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := release.Return(again); err != nil {
		t.Fatal(err)
	}
	if back, err := os.ReadFile(manifest); err != nil || !bytes.Equal(back, now) {
		t.Errorf("%v, the manifest that came back is\n%s\nand was\n%s", err, back, now)
	}
	for name, text := range was {
		if names := holding(t, dir, strings.TrimSpace(text)); len(names) > 0 {
			t.Errorf("the old %s is back in %q", name, names)
		}
	}
}

// TestWhatWasNotGeneratedStays: a password of toskose.yml is not replaced, and that is said.
func TestWhatWasNotGeneratedStays(t *testing.T) {
	t.Parallel()
	dir := packaged(t, false)
	path := filepath.Join(dir, output.SecretsDir, "backend-password")
	if err := os.WriteFile(path, []byte("Mine, and secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := rotate.New(rotate.Options{Dir: dir, Nodes: []string{"backend"}, Passwords: true, Certificates: true, Offline: true, Random: rand.Reader, Now: time.Now(), Say: func(string) {}})
	if err != nil {
		t.Fatal(err)
	}
	said := strings.Join(r.Describe(), "\n")
	if !strings.Contains(said, "backend-password stays: it was not generated") || !strings.Contains(said, "passwords: manager-password, manager-secret-key\n") || strings.Contains(said, "Mine") {
		t.Errorf("it says\n%s", said)
	}
	if _, err := rotate.New(rotate.Options{Dir: dir, Authority: true, Now: time.Now()}); err == nil || !strings.Contains(err.Error(), "was packaged without --tls") {
		t.Errorf("error %v", err)
	}
}

// TestUnitsOfBeforeAreRefused: they would not read their passwords again.
func TestUnitsOfBeforeAreRefused(t *testing.T) {
	t.Parallel()
	var r rotate.Rotation
	err := r.Check(rotate.State{Units: []rotate.Unit{
		{Node: "backend", Replica: "10.0.0.1:9001", Accepted: true, Known: 1},
		{Node: "backend", Replica: "10.0.0.2:9001", Passwords: 1, Known: 1, Accepted: true},
		{Node: "frontend", Replica: "10.0.0.3:9001", Problem: "it does not answer"},
	}})
	if err == nil || !strings.Contains(err.Error(), `the unit of "backend" at 10.0.0.1:9001 does not reload its password`) ||
		!strings.Contains(err.Error(), "10.0.0.3:9001 cannot be reached: it does not answer") || strings.Contains(err.Error(), "10.0.0.2") {
		t.Errorf("error %v", err)
	}
}
