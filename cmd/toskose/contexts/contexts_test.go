package contexts_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toskose/toskose/cmd/toskose/cli"
	"github.com/toskose/toskose/cmd/toskose/contexts"
)

// packaged is as much of a packaged application as says where its manager is.
func packaged(t *testing.T, port string) string {
	t.Helper()
	dir := t.TempDir()
	put(t, filepath.Join(dir, "docker-compose.yml"), "x-toskose: {app: shop, manager: {port: "+port+", user: admin}}\n")
	put(t, filepath.Join(dir, "secrets", "manager-password"), "pw-"+port+"\n")
	return dir
}

func put(t *testing.T, path, text string) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// command runs `toskose context` with some arguments.
func command(t *testing.T, environ []string, args ...string) (string, error) {
	t.Helper()
	var out strings.Builder
	cmd := contexts.Command(cli.Streams{Out: &out, Err: &out}, environ)
	cmd.SetArgs(args)
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

func must(t *testing.T, environ []string, args ...string) string {
	t.Helper()
	out, err := command(t, environ, args...)
	if err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	return out
}

func TestACommandAsksTheManagerThatItIsToldOf(t *testing.T) {
	home := t.TempDir()
	environ := []string{"TOSKOSE_CONFIG=" + home}
	one, two, three := packaged(t, "10001"), packaged(t, "10002"), packaged(t, "10003")
	for name, dir := range map[string]string{"one": one, "two": two} {
		if err := contexts.Deployed(environ, name, dir); err != nil {
			t.Fatal(err)
		}
	}
	must(t, environ, "use", "one")
	for _, tt := range []struct {
		name, working, dir, context, variable, port string
	}{
		{"the context in use", home, "", "", "", "10001"},
		{"the working directory comes before it", three, "", "", "", "10003"},
		{"the variable comes before that", three, "", "", "two", "10002"},
		{"a context that is named", three, "", "one", "two", "10001"},
		{"a folder that is named", one, two, "", "one", "10002"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Chdir(tt.working)
			at, err := contexts.Choose(append(environ, "TOSKOSE_CONTEXT="+tt.variable), tt.dir, tt.context)
			if err != nil || at.Address != "http://localhost:"+tt.port || at.Password != "pw-"+tt.port {
				t.Errorf("%+v, %v", at, err)
			}
		})
	}
}

func TestWhoIsToldOfNoManagerIsToldHow(t *testing.T) {
	home := t.TempDir()
	t.Chdir(home)
	environ := []string{"HOME=" + home}
	_, err := contexts.Choose(environ, "", "")
	var missing *contexts.NotFoundError
	if !errors.As(err, &missing) || !errors.Is(err, contexts.ErrNone) || !strings.Contains(err.Error(), "--dir") {
		t.Errorf("nothing is known: %v", err)
	}
	if _, err = contexts.Choose(environ, home, "one"); err == nil || !strings.Contains(err.Error(), "give one") {
		t.Errorf("a folder and a context: %v", err)
	}
	if _, err = contexts.Choose(environ, "", "one"); !errors.Is(err, contexts.ErrUnknown) {
		t.Errorf("an unknown context: %v", err)
	}
	if _, err = contexts.Choose(nil, "", "one"); err == nil || !strings.Contains(err.Error(), "TOSKOSE_CONFIG") {
		t.Errorf("no place: %v", err)
	}
}

func TestContextsAreMadeListedAndRemoved(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	environ := []string{"XDG_CONFIG_HOME=" + home}
	dir := packaged(t, "10001")
	if err := contexts.Deployed(environ, "shop", dir); err != nil {
		t.Fatal(err)
	}
	password := filepath.Join(t.TempDir(), "password")
	put(t, password, "a-word\n")
	must(t, environ, "create", "staging", "--manager", "https://10.0.0.7:10000", "--user", "ada", "--password-file", password)
	if got := must(t, environ, "ls"); !strings.Contains(got, "shop      http://localhost:10001   admin   "+dir) || !strings.Contains(got, "*   staging   https://10.0.0.7:10000   ada     -") {
		t.Errorf("it lists\n%s", got)
	}
	if at, err := contexts.Choose(environ, "", "staging"); err != nil || at.Password != "a-word" || at.User != "ada" {
		t.Errorf("%+v, %v", at, err)
	}
	if got := must(t, environ, "show"); !strings.Contains(got, `"name": "staging"`) || strings.Contains(got, "a-word") {
		t.Errorf("it shows\n%s", got)
	}
	if got := must(t, environ, "show", "-o", "yaml"); !strings.Contains(got, "name: staging\n") {
		t.Errorf("as YAML it shows\n%s", got)
	}
	must(t, environ, "rm", "staging")
	if got := must(t, environ, "show"); !strings.Contains(got, `"name": "shop"`) {
		t.Errorf("the only context is not used: %s", got)
	}
	if err := contexts.Undeployed(environ, dir); err != nil {
		t.Fatal(err)
	}
	if got := must(t, environ, "ls", "-o", "json"); got != "[]\n" {
		t.Errorf("it lists\n%s", got)
	}
	err := filepath.WalkDir(home, func(path string, d os.DirEntry, err error) error {
		if err != nil || path == home {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("others may read %s", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestAContextThatCannotBeIsRefused(t *testing.T) {
	t.Parallel()
	environ := []string{"TOSKOSE_CONFIG=" + t.TempDir()}
	dir, password, open := packaged(t, "10001"), filepath.Join(t.TempDir(), "password"), filepath.Join(t.TempDir(), "open")
	put(t, password, "a-word\n")
	put(t, open, "a-word\n")
	if err := os.Chmod(open, 0o640); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args, says string
	}{
		{"create ../up --dir " + dir, "letters, digits"},
		{"create a", "--dir or, without one"},
		{"create a --manager http://x:1 --user u", "--password-file"},
		{"create a --manager https://x:1 --cert c", "give both"},
		{"create a --manager https://x:1 --cert /no/such --key /no/such", "no such file"},
		{"create a --manager https://x:1 --ca /no/such --token-file " + password, "no such file"},
		{"create a --manager https://x:1 --ca " + password + " --token-file " + password, "holds no certificate"},
		{"create a --manager https://x:1 --token-file /no/such", "no such file"},
		{"create a --manager http://x:1 --ca c --token-file t", "begins with https"},
		{"create a --manager http://x:1 --user u --password-file p --token-file t", "give one"},
		{"create a --manager http://x:1 --token-file " + open, "`chmod 600` it"},
		{"create a --manager http://x:1 --user u --password-file " + open, "`chmod 600` it"},
		{"create a --manager x:1 --user u --password-file f", "is not a URL"},
		{"create a --manager http://u:p@x:1 --user u --password-file f", "give --user"},
		{"create a --manager http://x:1 --user u --password-file /no/such", "no such file"},
		{"create a --dir /no/such", "packaged"},
		{"use nobody", "no such context"},
		{"rm nobody", "no such context"},
		{"show nobody", "no such context"},
		{"show", "no context is selected"},
	} {
		if _, err := command(t, environ, strings.Fields(tt.args)...); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v", tt.args, err)
		}
	}
}
