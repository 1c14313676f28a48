package user_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/toskose/toskose/cmd/toskose/cli"
	"github.com/toskose/toskose/cmd/toskose/user"
	"github.com/toskose/toskose/manager/access"
	"github.com/toskose/toskose/packager/compose"
)

// toskose runs `toskose user` with words, and returns what it printed.
func toskose(stdin string, words ...string) (out, said string, err error) {
	return toskoseWith("", stdin, words...)
}

// toskoseWith is toskose where containers mount secrets below a folder.
func toskoseWith(mounted, stdin string, words ...string) (out, said string, err error) {
	var stdout, stderr bytes.Buffer
	quiet := false
	cmd := user.Command(cli.Streams{In: strings.NewReader(stdin), Out: &stdout, Err: &stderr}, &quiet, mounted)
	cmd.SetArgs(words)
	cmd.SetOut(&stdout)
	cmd.SetErr(&stderr)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err = cmd.Execute()
	return stdout.String(), stderr.String(), err
}

// application is as much of a packaged application as users need.
func application(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range map[string]string{
		"docker-compose.yml": "x-toskose: {app: shop, manager: {port: 10000, user: admin}}\n", "secrets/manager-users": `{"users": []}`,
		"docker-compose.local.yml": "secrets: {manager-users: {file: ./secrets/manager-users}}\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestUsersComeChangeAndGo(t *testing.T) {
	t.Parallel()
	dir, root := application(t), t.TempDir()
	if _, err := compose.MountedSecretsOf(root, "engine", "shop").Update(dir, false); err != nil {
		t.Fatal(err)
	}
	copies, err := filepath.Glob(filepath.Join(root, "*", "shop", "secrets", "manager-users"))
	if err != nil || len(copies) != 1 {
		t.Fatalf("the manager has %q mounted: %v", copies, err)
	}
	file := copies[0]
	before, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	gate, err := access.New(access.Options{First: "admin", Password: access.Always("pw"), Users: func() ([]byte, error) { return os.ReadFile(file) }})
	if err != nil {
		t.Fatal(err)
	}
	may := func(name, password string) string {
		c, err := gate.Password(t.Context(), name, password, "10.0.0.1")
		if err != nil {
			return ""
		}
		return string(c.Role)
	}
	do := func(stdin string, words ...string) string {
		t.Helper()
		out, said, err := toskoseWith(root, stdin, append(words, "--dir", dir)...)
		if err != nil {
			t.Fatalf("%q: %v", words, err)
		}
		if words[0] != "ls" && !strings.Contains(said, "With Compose the change applies at once") {
			t.Errorf("%q says %q", words, said)
		}
		return strings.TrimSuffix(out, "\n")
	}
	first := do("", "add", "ann")
	if len(first) < 20 || may("ann", first) != "viewer" {
		t.Errorf("with %q ann is %q", first, may("ann", first))
	}
	if out := do("chosen by bob\n", "add", "bob", "--role", "operator", "--password-stdin"); out != "" || may("bob", "chosen by bob") != "operator" {
		t.Errorf("bob is %q, and it prints %q", may("bob", "chosen by bob"), out)
	}
	do("", "role", "ann", "admin")
	if may("ann", first) != "admin" {
		t.Error("her role is as before")
	}
	second := do("", "passwd", "ann")
	if may("ann", second) != "admin" || may("ann", first) != "" {
		t.Error("her password is as before")
	}
	if out := do("", "ls"); out != "NAME    ROLE\nadmin   admin\nann     admin\nbob     operator" {
		t.Error(out)
	}
	if out := do("", "ls", "-o", "json"); !strings.Contains(out, `"name": "bob"`) || strings.Contains(out, "argon2id") {
		t.Error(out)
	}
	do("", "rm", "ann", "bob")
	if may("bob", "chosen by bob") != "" {
		t.Error("bob is still there")
	}
	if after, err := os.Stat(file); err != nil || !os.SameFile(before, after) || after.Mode() != before.Mode() {
		t.Error("a container that has the file mounted would not see the change")
	}
}

func TestUsersThatCannotBeMeantAreRefused(t *testing.T) {
	t.Parallel()
	dir := application(t)
	if _, _, err := toskose("", "add", "ann", "--dir", dir); err != nil {
		t.Fatal(err)
	}
	broken := filepath.Join(t.TempDir(), "users")
	if err := os.WriteFile(broken, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	for says, words := range map[string][]string{
		`already a user "ann"`:                      {"add", "ann", "--dir", dir},
		`"admin" is the manager's own user`:         {"add", "admin", "--dir", dir},
		`"boss" is not a role`:                      {"add", "bob", "--role", "boss", "--dir", dir},
		`there is no user "bob"`:                    {"role", "bob", "viewer", "--dir", dir},
		"8 to 1024 bytes":                           {"passwd", "ann", "--password-stdin", "--dir", dir},
		"no application with a file of users is in": {"ls", "--dir", t.TempDir()},
		"unexpected EOF":                            {"ls", "--file", broken},
		"0 arguments given":                         {"rm"},
		"--output":                                  {"ls", "-o", "xml"},
	} {
		if _, _, err := toskose("short\n", words...); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", words, err)
		}
	}
	if out, _, err := toskose("", "ls", "--dir", dir); err != nil || out != "NAME    ROLE\nadmin   admin\nann     viewer\n" {
		t.Errorf("%s %v", out, err)
	}
}

func TestAFileOfOnesOwnIsMade(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "users")
	if out, said, err := toskose("", "add", "ann", "--file", file); err != nil || said != "" || out == "" {
		t.Errorf("%q %q %v", out, said, err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	if out, _, err := toskose("", "ls", "--file", file); err != nil || out != "NAME   ROLE\nann    viewer\n" {
		t.Errorf("%q %v", out, err)
	}
}

func TestTwoChangesAtOnceAreBothMade(t *testing.T) {
	t.Parallel()
	own := filepath.Join(t.TempDir(), "users")
	for _, words := range [][]string{{"--dir", application(t)}, {"--file", own}} {
		var all sync.WaitGroup
		for i := range 6 {
			all.Go(func() {
				if _, _, err := toskose("", append([]string{"add", fmt.Sprint("ann", i)}, words...)...); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		out, _, err := toskose("", append([]string{"ls"}, words...)...)
		if n := strings.Count(out, "viewer"); err != nil || n != 6 {
			t.Errorf("%q: %d users of 6, %v", words, n, err)
		}
	}
}
