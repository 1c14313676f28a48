package deploy

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toskose/toskose/packager/compose"
	"github.com/toskose/toskose/packager/deploy/backend"
	"github.com/toskose/toskose/packager/deploy/engine"
	"github.com/toskose/toskose/packager/deploy/project"
	"github.com/toskose/toskose/packager/output"
	"github.com/toskose/toskose/packager/release"
)

// withSecrets is a folder whose secrets have names that end so.
func withSecrets(t *testing.T, names string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, output.SecretsDir), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, output.SecretsDir, "names.json"), []byte(names), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestOtherSecretsThanThoseThatRunAreRefused(t *testing.T) {
	t.Parallel()
	const ours = `{"manager-password": {"suffix": "a1"}, "backend-password": {"suffix": "b1"}, "manager-users": {"suffix": "c1"}, "api.token": {"suffix": "d1"}}`
	for name, tt := range map[string]struct {
		running backend.Suffixes
		change  func(*deployer)
		want    []string // empty: it is deployed
	}{
		"the same":                         {backend.Suffixes{"manager-password": {"a1"}, "backend-password": {"b1"}}, nil, nil},
		"nothing is known of what runs":    {nil, nil, nil},
		"the manager's":                    {backend.Suffixes{"manager-password": {"a0"}, "backend-password": {"b1"}}, nil, []string{"(manager-password)", "--from /srv/r1", "--new-secrets"}},
		"all":                              {backend.Suffixes{"manager-password": {"a0"}, "backend-password": {"b0"}}, nil, []string{"(manager-password, backend-password)"}},
		"what is left of one that failed":  {backend.Suffixes{"manager-password": {"a1", "a0"}}, nil, nil},
		"users, and what inputs say":       {backend.Suffixes{"manager-users": {"c0"}, "api.token": {"d0"}}, nil, nil},
		"a container that runs no longer":  {backend.Suffixes{"store-password": {"e0"}}, nil, nil},
		"they are to be new":               {backend.Suffixes{"manager-password": {"a0"}}, func(d *deployer) { d.opts.NewSecrets = true }, nil},
		"they are somebody else's to make": {backend.Suffixes{"manager-password": {"a0"}}, func(d *deployer) { d.Info.External = []string{"x"} }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := &deployer{
				Application: &backend.Application{
					Dir: withSecrets(t, ours), Progress: &bytes.Buffer{}, Info: output.Info{App: "shop", Nodes: []string{"backend"}},
					Log: release.Log{{Release: "1", Folder: "/srv/r1"}},
				},
				existing: backend.Existing{Running: true},
				secrets:  &fakeBackend{secrets: func() (backend.Suffixes, error) { return tt.running, nil }},
			}
			if tt.change != nil {
				tt.change(d)
			}
			err := d.checkSecrets(t.Context())
			if (err != nil) != (tt.want != nil) {
				t.Errorf("error %v", err)
			}
			for _, want := range tt.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("error %v lacks %q", err, want)
				}
			}
		})
	}
	d := &deployer{
		Application: &backend.Application{Dir: withSecrets(t, ours)},
		existing:    backend.Existing{Running: true},
		secrets:     &fakeBackend{secrets: func() (backend.Suffixes, error) { return nil, errors.New("no answer") }},
	}
	if err := d.checkSecrets(t.Context()); err == nil || err.Error() != "no answer" {
		t.Errorf("error %v", err)
	}
}

func TestWhatContainersMountIsComparedWhereTheirFolderIsGone(t *testing.T) {
	t.Parallel()
	packaged := func(password string) string {
		dir := withSecrets(t, `{"manager-password": {"suffix": "`+password+`"}}`)
		for name, text := range map[string]string{
			compose.LocalFile:          "secrets:\n  manager-password:\n    file: ./secrets/manager-password\n",
			"secrets/manager-password": password,
		} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	root := t.TempDir()
	d := &deployer{Application: &backend.Application{Progress: &bytes.Buffer{}, Info: output.Info{App: "shop"}}, kind: Compose, existing: backend.Existing{Running: true}}
	d.use(project.Of(&engine.Engine{Application: d.Application, ID: "engine"}, root))
	before := packaged("old")
	if _, err := compose.MountedSecretsOf(root, "engine", "shop").Update(before, false); err != nil {
		t.Fatal(err)
	}
	for password, refused := range map[string]bool{"old": false, "new": true} {
		d.Dir = packaged(password)
		if err := d.checkSecrets(t.Context()); (err != nil) != refused {
			t.Errorf("%s: error %v", password, err)
		}
	}
}
