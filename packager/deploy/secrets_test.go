package deploy

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toskose/toskose/packager/compose"
	"github.com/toskose/toskose/packager/mounted"
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
		running suffixes
		change  func(*deployer)
		want    []string // empty: it is deployed
	}{
		"the same":                         {suffixes{"manager-password": {"a1"}, "backend-password": {"b1"}}, nil, nil},
		"nothing is known of what runs":    {nil, nil, nil},
		"the manager's":                    {suffixes{"manager-password": {"a0"}, "backend-password": {"b1"}}, nil, []string{"(manager-password)", "--from /srv/r1", "--new-secrets"}},
		"all":                              {suffixes{"manager-password": {"a0"}, "backend-password": {"b0"}}, nil, []string{"(manager-password, backend-password)"}},
		"what is left of one that failed":  {suffixes{"manager-password": {"a1", "a0"}}, nil, nil},
		"users, and what inputs say":       {suffixes{"manager-users": {"c0"}, "api.token": {"d0"}}, nil, nil},
		"a container that runs no longer":  {suffixes{"store-password": {"e0"}}, nil, nil},
		"they are to be new":               {suffixes{"manager-password": {"a0"}}, func(d *deployer) { d.opts.NewSecrets = true }, nil},
		"they are somebody else's to make": {suffixes{"manager-password": {"a0"}}, func(d *deployer) { d.info.External = []string{"x"} }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := &deployer{
				opts: Options{Dir: withSecrets(t, ours), Progress: &bytes.Buffer{}}, info: output.Info{App: "shop", Nodes: []string{"backend"}},
				where: target{secrets: func(context.Context) (suffixes, error) { return tt.running, nil }},
				log:   release.Log{{Release: "1", Folder: "/srv/r1"}},
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
	d := &deployer{opts: Options{Dir: withSecrets(t, ours)}, where: target{secrets: func(context.Context) (suffixes, error) { return nil, errors.New("no answer") }}}
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
	d := &deployer{opts: Options{Mounted: t.TempDir(), Progress: &bytes.Buffer{}}, engineID: "engine", info: output.Info{App: "shop"}, kind: Compose}
	d.where = onProject(d)
	before := packaged("old")
	if _, err := mounted.Of(d.opts.Mounted, d.engineID, "shop").Take(before); err != nil {
		t.Fatal(err)
	}
	for password, refused := range map[string]bool{"old": false, "new": true} {
		d.opts.Dir = packaged(password)
		if err := d.checkSecrets(t.Context()); (err != nil) != refused {
			t.Errorf("%s: error %v", password, err)
		}
	}
}
