package main

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toskose/toskose/internal/freeport"
	"github.com/toskose/toskose/internal/leak"
	"github.com/toskose/toskose/internal/testunit"
	"github.com/toskose/toskose/spec"
)

func TestMain(m *testing.M) { leak.Main(m) }

const (
	appJSON = `{"format":1,"name":"thinking","version":"","nodes":[{"name":"backend","type":"tosker.nodes.Container","image":{"kind":"Image","name":"x"},"protocol":` + oneState + `,"unit":{"port":9001,"user":"admin"}}],
		"components":[{"name":"api","type":"Api","host":"backend","node":"backend","protocol":` + oneState + `,"interfaces":[{"name":"Standard","operations":[{"name":"start","script":"s.sh"}]}]}],"volumes":[]}`
	oneState = `{"initial":"on","states":[{"name":"on"}],"transitions":[]}`
)

// image lays out what the manager's image and container have, and gives the
// arguments and the environment.
func image(t *testing.T) (args []string, env map[string]string) {
	t.Helper()
	folder := t.TempDir()
	for name, content := range map[string]string{
		"app.json": appJSON, "backend-password": "unit's\n", "manager-password": "ours\n", "manager-secret-key": "key",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return []string{"--app", filepath.Join(folder, "app.json")}, map[string]string{
		"TOSKOSE_MANAGER_PORT": strconv.Itoa(freeport.Find(t)), "TOSKOSE_APP_MODE": "testing", "TOSKOSE_DISCOVERY": "alias",
		"TOSKOSE_MANAGER_USER": "admin", "TOSKOSE_MANAGER_PASSWORD_FILE": filepath.Join(folder, "manager-password"),
		"SECRET_KEY_FILE": filepath.Join(folder, "manager-secret-key"), "TOSKOSE_SECRETS": folder,
	}
}

func get(env map[string]string) func(string) string {
	return func(name string) string { return env[name] }
}

func TestTheManagerServesUntilItIsTold(t *testing.T) {
	t.Parallel()
	args, env := image(t)
	ctx, term := context.WithCancel(t.Context())
	var out, logs testunit.Output
	ended := make(chan int, 1)
	go func() { ended <- run(ctx, args, get(env), &out, &logs) }()
	deadline := time.Now().Add(time.Minute)
	for run(t.Context(), []string{"health"}, get(env), &out, &out) != 0 {
		if time.Now().After(deadline) {
			t.Fatalf("it does not become healthy: %s", logs.String())
		}
		time.Sleep(5 * time.Millisecond) // there is nothing else to wait on
	}
	term()
	if code := <-ended; code != 0 {
		t.Errorf("it ended with %d: %s", code, logs.String())
	}
	if code := run(t.Context(), []string{"health"}, get(env), &out, &out); code != 1 {
		t.Errorf("what does not serve is healthy")
	}
	if text := logs.String(); strings.Contains(text, "ours") || strings.Contains(text, "unit's") {
		t.Errorf("a password is in the log: %s", text)
	}
}

func TestAllThatIsWrongIsSaidAtOnce(t *testing.T) {
	t.Parallel()
	args, env := image(t)
	env["TOSKOSE_MANAGER_PORT"] = "tcp://10.0.0.1:10000" // as Kubernetes would set it
	env["TOSKOSE_APP_MODE"] = "fast"
	delete(env, "TOSKOSE_DISCOVERY")
	delete(env, "TOSKOSE_MANAGER_USER")
	env["SECRET_KEY_FILE"] = "/nowhere"
	env["TOSKOSE_SECRETS"] = t.TempDir()
	var out, errOut testunit.Output
	if code := run(t.Context(), args, get(env), &out, &errOut); code != 1 {
		t.Errorf("exit code %d", code)
	}
	for _, says := range []string{"TOSKOSE_MANAGER_PORT", "TOSKOSE_APP_MODE", "TOSKOSE_DISCOVERY", "TOSKOSE_MANAGER_USER", "SECRET_KEY_FILE", "node backend"} {
		if !strings.Contains(errOut.String(), says) {
			t.Errorf("nothing of %s in %q", says, errOut.String())
		}
	}
}

func TestMissingFilesAreNamed(t *testing.T) {
	t.Parallel()
	_, env := image(t)
	var out, errOut testunit.Output
	code := run(t.Context(), []string{"--app", "/no/app.json"}, get(env), &out, &errOut)
	if code != 1 || !strings.Contains(errOut.String(), "/no/app.json") {
		t.Errorf("%d: %s", code, errOut.String())
	}
}

// TestAnApplicationThatCannotRunIsRefused: the document may come from anywhere.
func TestAnApplicationThatCannotRunIsRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ document, want string }{
		"a later format":           {strings.Replace(appJSON, `"format":1`, `"format":2`, 1), "it has format 2, and this version reads format 1: package the application again"},
		"an earlier release's":     {strings.Replace(appJSON, `"format":1,`, "", 1), "package the application again with this version of toskose"},
		"another document":         {`{"a": 1}`, `there is no "format" in it`},
		"no JSON":                  {"name: thinking", "line 1: it is not valid JSON"},
		"a key that is not known":  {strings.Replace(appJSON, `"host"`, `"hosts"`, 1), `unknown field "hosts"`},
		"a name that is not known": {strings.Replace(appJSON, `"node":"backend"`, `"node":"bakcend"`, 1), `component "api": node names "bakcend", which the application does not have (did you mean "backend"?)`},
		"no unit":                  {strings.Replace(appJSON, `,"unit":{"port":9001,"user":"admin"}`, "", 1), `node "backend" hosts components, but the application does not say how to reach its unit: set "unit" of the node`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args, env := image(t)
			if err := os.WriteFile(args[1], []byte(c.document), 0o600); err != nil {
				t.Fatal(err)
			}
			var out, errOut testunit.Output
			if code := run(t.Context(), args, get(env), &out, &errOut); code != 1 || !strings.Contains(errOut.String(), c.want) {
				t.Errorf("%d: %s", code, errOut.String())
			}
		})
	}
}

// TestAnApplicationOfAnEarlierReleaseIsServed: its image has toskose.yml beside it.
func TestAnApplicationOfAnEarlierReleaseIsServed(t *testing.T) {
	t.Parallel()
	args, env := image(t)
	folder := filepath.Dir(args[1])
	for file, content := range map[string]string{
		"app.json":     strings.NewReplacer(`"format":1,`, "", `,"unit":{"port":9001,"user":"admin"}`, "").Replace(appJSON),
		"toskose.yml":  "nodes:\n  backend: {alias: back, port: 9001, user: admin, components: {api: {restart: {stable: 5s}}}}\nmanager: {alias: manager, port: 10000, user: admin, goal: up}\n",
		"digests.json": `{"backend": "abc"}`,
	} {
		if err := os.WriteFile(filepath.Join(folder, file), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := readSettings(paths{app: args[1]}, get(env))
	if err != nil {
		t.Fatal(err)
	}
	n, c := s.app.Nodes[0], s.app.Components[0]
	if n.Alias != "back" || *n.Unit != (spec.Unit{Port: 9001, User: "admin", Digest: "abc"}) || c.Policy.Stable != spec.Duration(5*time.Second) || s.app.Goal != spec.GoalUp {
		t.Errorf("node %+v, policy %+v, goal %q", n, c.Policy, s.app.Goal)
	}
}

func TestCommandLine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"--version"}, 0, "toskose-manager dev"},
		{[]string{"--help"}, 0, "usage:"},
		{[]string{"sing"}, 2, "usage:"},
		{[]string{"health", "now"}, 2, "usage:"},
		{[]string{"--loud"}, 2, "loud"},
		{[]string{"health"}, 1, "TOSKOSE_MANAGER_PORT"},
	} {
		var out testunit.Output
		if code := run(t.Context(), c.args, get(nil), &out, &out); code != c.code || !strings.Contains(out.String(), c.says) {
			t.Errorf("%q: %d: %s", c.args, code, out.String())
		}
	}
}

func TestAVolumeIsWrittenForItsOwnCommandOnly(t *testing.T) {
	t.Parallel()
	getenv := func(string) string { return "" }
	for _, tt := range []struct {
		args []string
		code int
		out  string
	}{
		{[]string{"volume", "tar", t.TempDir()}, 0, "./"},
		{[]string{"volume", "tar", "/nowhere"}, 1, ""},
		{[]string{"volume", "tar"}, 1, ""},
		{[]string{"volume", "copy", "/nowhere"}, 1, ""},
		{[]string{"volume", "hold", "/nowhere"}, 1, ""},
	} {
		var out, said strings.Builder
		if code := run(t.Context(), tt.args, getenv, &out, &said); code != tt.code || !strings.Contains(out.String(), tt.out) || (code != 0) != strings.Contains(said.String(), "volume") {
			t.Errorf("%q: code %d, %d bytes, %s", tt.args, code, out.Len(), said.String())
		}
	}
}

func TestAVolumeIsHeldUntilNobodyCopies(t *testing.T) {
	t.Parallel()
	told, tell := context.WithCancel(t.Context())
	tell()
	if err := hold(told, t.TempDir(), time.Hour, time.Hour); err != nil {
		t.Errorf("told to end: %v", err)
	}
	proc := t.TempDir()
	for _, name := range []string{"1", "7", "self"} {
		if err := os.Mkdir(filepath.Join(proc, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := processes(proc); n != 2 || err != nil {
		t.Errorf("there are %d processes, %v", n, err)
	}
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan error, 1)
		go func() { ended <- hold(t.Context(), proc, unheld, time.Second) }()
		time.Sleep(10 * unheld)
		select {
		case err := <-ended:
			t.Fatalf("it has ended while another process was there: %v", err)
		default:
		}
		if err := os.Remove(filepath.Join(proc, "7")); err != nil {
			t.Fatal(err)
		}
		left := time.Now()
		if err := <-ended; err != nil || time.Since(left) > unheld {
			t.Errorf("it has ended after %s: %v", time.Since(left), err)
		}
	})
	if err := hold(t.Context(), "/nowhere", time.Hour, time.Millisecond); err == nil {
		t.Error("without /proc, it holds for ever")
	}
}
