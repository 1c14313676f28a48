package skew

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toskose/toskose/packager/compose"
	"github.com/toskose/toskose/packager/config"
	"github.com/toskose/toskose/packager/deploy"
	"github.com/toskose/toskose/packager/output"
	"github.com/toskose/toskose/packager/release"
)

// packaged is a copy of a folder that was packaged and deployed on an engine.
func packaged(t *testing.T) (dir, engine string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(contracts, "packaged"))); err != nil {
		t.Fatal(err)
	}
	var deployed map[string][]struct{ Folder string }
	text := recorded(t, "packaged", release.KeptDir, "deployed.json")
	if err := json.Unmarshal(text, &deployed); err != nil || len(deployed) != 1 {
		t.Fatalf("%v: %s", err, text)
	}
	for engine = range deployed {
		text = bytes.ReplaceAll(text, []byte(deployed[engine][0].Folder), []byte(dir))
	}
	if err := os.WriteFile(filepath.Join(dir, release.KeptDir, "deployed.json"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir, engine
}

// TestAFolderIsGoneOnWith: toskose packages into a folder again, deploys it, and asks the manager
// by what is in it.
func TestAFolderIsGoneOnWith(t *testing.T) {
	t.Parallel()
	dir, _ := packaged(t)
	info, err := compose.ReadInfo(dir)
	if err != nil || !strings.HasPrefix(info.App, "thinking-") || info.Version == "" || info.Manager.User != "admin" || info.Manager.Service != "toskose-manager" ||
		info.Manager.Bind != "127.0.0.1" || info.Manager.TLS || !slices.Equal(info.Nodes, []string{"backend", "frontend"}) {
		t.Errorf("it is of %+v, %v", info, err)
	}
	if !deploy.Packaged(dir) {
		t.Error("it cannot be deployed")
	}
	password, err := output.ManagerPassword(dir)
	if want := recorded(t, "packaged", "secrets", "manager-password"); err != nil || password == "" || password != string(bytes.TrimSpace(want)) {
		t.Errorf("the password is %q, %v", password, err)
	}
	suffixes, err := output.Suffixes(dir)
	if err != nil || len(suffixes) != 5 {
		t.Errorf("the secrets are %q, %v", suffixes, err)
	}
	manifest := recorded(t, "packaged", compose.SwarmFile)
	for name, suffix := range suffixes {
		if suffix == "" || !bytes.Contains(manifest, []byte(name+"_"+suffix)) {
			t.Errorf("the manifest has no secret %s_%s", name, suffix)
		}
	}
	text := recorded(t, "packaged", "toskose.yml")
	conf, err := config.Parse("toskose.yml", text).Check(nil)
	if err != nil {
		t.Fatal(err)
	}
	again, err := config.Encode(conf)
	if err != nil {
		t.Fatal(err)
	}
	sameYAML(t, text, again)
	if api := conf.Nodes["backend"].Components["api"]; api.Readiness.TCP != "8081" || conf.Manager.Port != info.Manager.Port {
		t.Errorf("toskose.yml says %+v, and port %d", api, conf.Manager.Port)
	}
}

// TestWhatWasDeployedIsKnown: it is listed, compared, and returned to.
func TestWhatWasDeployedIsKnown(t *testing.T) {
	t.Parallel()
	dir, engine := packaged(t)
	log := release.ReadLog(dir, engine)
	deployed, ok := log.Current()
	if !ok || !strings.Contains(deployed.By, "@") || deployed.At.IsZero() || deployed.Before != "" {
		t.Fatalf("what was deployed is %+v", log)
	}
	if id, err := release.ID(dir); err != nil || id != deployed.Release {
		t.Errorf("the folder is release %s, not %s, %v", id, deployed.Release, err)
	}
	folder, err := release.Read(dir, release.Compose)
	if err != nil {
		t.Fatal(err)
	}
	if api := folder.Components["api"]; api.Node != "backend" || api.Initial != "deleted" || len(api.States) != 4 || len(api.Moves) != 7 || len(api.Operations) != 6 || api.Files == "" || api.Settings == "" {
		t.Errorf("api is %+v", api)
	}
	for _, name := range []string{"backend", "frontend", "store", "toskose-manager"} {
		if image := folder.Containers[name]["image"]; image.Value == "" || !image.Replaces() {
			t.Errorf("%s is %+v", name, folder.Containers[name])
		}
	}
	// Packaged again: the copy is what is returned to.
	manifest := filepath.Join(dir, compose.SwarmFile)
	other := bytes.ReplaceAll(recorded(t, "packaged", compose.SwarmFile), []byte("redis:7"), []byte("redis:8"))
	for _, name := range []string{manifest, filepath.Join(dir, compose.LocalFile)} {
		if err := os.WriteFile(name, other, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	from, err := release.Find(deployed)
	if err != nil || from == dir {
		t.Fatalf("it is found in %s, %v", from, err)
	}
	kept, err := release.Read(from, release.Compose)
	if err != nil {
		t.Fatal(err)
	}
	if diff := release.Compare(folder, kept); !diff.Same() {
		t.Errorf("the copy differs by %+v", diff)
	}
	if back, err := release.Return(deployed); err != nil || back != dir {
		t.Fatalf("%s, %v", back, err)
	}
	if now, err := os.ReadFile(manifest); err != nil || !bytes.Equal(now, recorded(t, "packaged", compose.SwarmFile)) {
		t.Errorf("after the return it is %v\n%s", err, now)
	}
}
