package output_test

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/output"
)

// shop packages an application with secrets of all kinds, and returns the folder.
func shop(t *testing.T, given string, from string, more ...string) string {
	t.Helper()
	tls := func(name string, key bool) packager.Secret {
		return packager.Secret{Name: name, TLS: &packager.TLS{For: "api", Names: []string{"api"}, Key: key}}
	}
	plan := &packager.Plan{App: "shop", Secrets: []packager.Secret{
		{Name: packager.ManagerPassword},
		{Name: packager.ManagerSecretKey},
		{Name: packager.ManagerUsers, Begin: `{"users": []}`},
		{Name: "given", Given: given},
		{Name: packager.TLSAuthority, TLS: &packager.TLS{}},
		tls("api-tls.crt", false), tls("api-tls.key", true),
	}}
	for _, name := range more {
		plan.Secrets = append(plan.Secrets, packager.Secret{Name: name})
	}
	dir := t.TempDir()
	if err := output.Write(dir, plan, output.Options{From: from, Random: rand.Reader, Now: time.Now()}); err != nil {
		t.Fatal(err)
	}
	return dir
}

// kept are the secrets of a folder, by name, each with what ends its name.
func kept(t *testing.T, dir string) map[string]string {
	t.Helper()
	suffixes, err := output.Suffixes(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, name := range files(t, dir) {
		if name, ok := strings.CutPrefix(name, "secrets/"); ok && name != packager.SecretNamesFile {
			all[name] = read(t, filepath.Join(dir, "secrets", name)) + " " + suffixes[name]
		}
	}
	return all
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestAnotherFolderTakesTheApplicationsSecretsOver(t *testing.T) {
	t.Parallel()
	first := shop(t, "one", "")
	users := `{"users": [{"name": "ada"}]}`
	if err := os.WriteFile(output.UsersFile(first), []byte(users), 0o600); err != nil {
		t.Fatal(err)
	}
	second := shop(t, "one", first, "new-password")
	was, is := kept(t, first), kept(t, second)
	if !strings.HasPrefix(is[packager.ManagerUsers], users) || len(is["new-password"]) < 20 {
		t.Errorf("the users are %s, and the new secret %q", is[packager.ManagerUsers], is["new-password"])
	}
	for _, all := range []map[string]string{was, is} {
		delete(all, packager.ManagerUsers) // which have a name of their own for what was changed by hand
		delete(all, "new-password")
	}
	if diff := cmp.Diff(was, is); diff != "" || len(is) != 8 {
		t.Errorf("(-first +second)\n%s", diff)
	}
	changed := kept(t, shop(t, "two", first))
	if text, _, _ := strings.Cut(changed["given"], " "); text != "two" || changed["given"][3:] == was["given"][3:] {
		t.Errorf("what toskose.yml gives is %q, and was %q", changed["given"], was["given"])
	}
	if changed[packager.ManagerPassword] != was[packager.ManagerPassword] {
		t.Error("another value that was given draws another password")
	}
	if other := kept(t, shop(t, "one", "")); other[packager.ManagerPassword] == was[packager.ManagerPassword] || other["tls-ca.key"] == was["tls-ca.key"] {
		t.Error("a folder by itself has the secrets of another")
	}
}
