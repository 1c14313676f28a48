package command

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toskose/toskose/internal/leak"
	"github.com/toskose/toskose/internal/scripted"
)

func TestMain(m *testing.M) { leak.Main(m) }

// staging makes a script the kubectl of a test, and returns a cluster.
func staging(t *testing.T, script string) (on Cluster, dir string) {
	t.Helper()
	dir = scripted.Kubectl(t, script, nil)
	return Cluster{Context: "staging", Namespace: "shop", Environ: os.Environ()}, dir
}

func TestAListOneObjectAndNoneAreRead(t *testing.T) {
	on, _ := staging(t, `case "$*" in
*empty*) echo '{"kind": "List", "items": []}' ;;
*list*) echo '{"kind": "List", "items": [{"kind": "Pod", "metadata": {"name": "a"}}, {"kind": "Secret", "metadata": {"name": "b"}}]}' ;;
*one*) echo '{"kind": "Pod", "metadata": {"name": "a"}}' ;;
*ignored*) ;;
*names*) echo "pod/a
service/b" ;;
*) echo "no JSON" ;;
esac`)
	for what, want := range map[string]string{"empty": "", "list": "Pod a, Secret b", "one": "Pod a", "ignored": ""} {
		var got []string
		all, err := on.Objects(t.Context(), "get", what)
		for _, o := range all {
			got = append(got, o.Kind+" "+o.Metadata.Name)
		}
		if err != nil || strings.Join(got, ", ") != want {
			t.Errorf("%s: %q, %v", what, got, err)
		}
	}
	if one, err := on.Object(t.Context(), "get", "one"); err != nil || one.Replicas() != 1 {
		t.Errorf("%+v, %v; without a number, there is one", one, err)
	}
	if names, err := on.Names(t.Context(), "names"); err != nil || !slices.Equal(names, []string{"pod/a", "service/b"}) {
		t.Errorf("%q, %v", names, err)
	}
	var items []Object
	if err := on.List(t.Context(), &items, "get", "list"); err != nil || len(items) != 2 || items[1].Metadata.Name != "b" {
		t.Errorf("%+v, %v", items, err)
	}
	if err := on.List(t.Context(), &items, "nonsense"); err == nil || !strings.Contains(err.Error(), "cannot decode the output of kubectl") {
		t.Errorf("error %v", err)
	}
	if _, err := on.Objects(t.Context(), "nonsense"); err == nil || !strings.Contains(err.Error(), "cannot decode the output of kubectl") {
		t.Errorf("error %v", err)
	}
}

func TestAnErrorHasTheCommandAndTheEndOfWhatItSaid(t *testing.T) {
	on, _ := staging(t, `echo out; seq 12 >&2; exit 3`)
	said := func(first ...string) string {
		return strings.Join(append(first, "3", "4", "5", "6", "7", "8", "9", "10", "11", "12"), "\n    ")
	}
	want := said("`kubectl --context staging --namespace shop delete pod a`: exit status 3")
	for what, run := range map[string]func() error{
		"read":   func() error { _, err := on.Output(t.Context(), "delete", "pod", "a"); return err },
		"unread": func() error { return on.Run(t.Context(), nil, nil, "delete", "pod", "a") },
	} {
		if err := run(); err == nil || err.Error() != want {
			t.Errorf("%s: error %v\nwant %s", what, err, want)
		}
	}
	var debug strings.Builder
	on.Debug = &debug
	if err := on.Run(t.Context(), nil, nil, "delete"); err == nil || !strings.HasPrefix(debug.String(), "out\n1\n2\n") {
		t.Errorf("error %v, and it printed %q", err, debug.String())
	}
}

func TestAForwardingThatEndsIsAnErrorWithWhatItSaid(t *testing.T) {
	on, _ := staging(t, "echo 'pod is not running' >&2; exit 1")
	if _, err := on.Forward(t.Context(), "a", 10000); err == nil || err.Error() != "cannot forward a port\n    pod is not running" {
		t.Errorf("error %v", err)
	}
	on, _ = staging(t, "printf 'Forwarding from '; echo '127.0.0.1:1 -> 10000'; exec sleep 600")
	f, err := on.Forward(t.Context(), "a", 10000)
	if err != nil || f.Address != "127.0.0.1:1" {
		t.Fatalf("%+v, %v", f, err)
	}
	f.Close()
}

func TestAForwardingThatEndsLaterIsBegunAgainFromTheSamePort(t *testing.T) {
	on, dir := staging(t, `echo "$*" >>calls; echo 'Forwarding from 127.0.0.1:1234 -> 10000'`)
	f, err := on.Forward(t.Context(), "a", 10000)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	words := "--context staging --namespace shop port-forward pod/a "
	want := words + ":10000\n" + words + "1234:10000\n" + words + "1234:10000\n"
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		calls, err := os.ReadFile(filepath.Join(dir, "calls"))
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(string(calls), want) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("it was run as %q, want %q", calls, want)
		}
	}
}
