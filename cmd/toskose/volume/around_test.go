package volume

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toskose/toskose/cmd/toskose/cli"
	"github.com/toskose/toskose/cmd/toskose/contexts"
	"github.com/toskose/toskose/manager/client"
	"github.com/toskose/toskose/packager/volumes"
	"github.com/toskose/toskose/packager/volumes/tree"
)

// asked is a manager of two components, and an engine with their containers and another,
// which say what they were asked to do.
type asked struct {
	volumes.Place
	mu    sync.Mutex
	did   []string
	fails map[string]string // what is refused, and why: a kind of problem, or an outcome
	state map[string]string
}

func (a *asked) do(what string) (why string, before int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	before = strings.Count(strings.Join(append(a.did, ""), "\n"), what+"\n")
	a.did = append(a.did, what)
	return a.fails[what], before
}

func (a *asked) Stop(_ context.Context, u volumes.User) error  { return a.container("stop " + u.Name) }
func (a *asked) Start(_ context.Context, u volumes.User) error { return a.container("start " + u.Name) }

func (a *asked) container(what string) error {
	if why, _ := a.do(what); why != "" {
		return errors.New(why)
	}
	return nil
}

func (a *asked) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var answer any
	switch path := r.URL.Path; {
	case path == "/api/v1/app":
		var app client.App
		for _, name := range []string{"gui", "api"} {
			allowed := map[string][]string{"started": {"Standard.stop"}, "stopped": {"Standard.start"}}[a.state[name]]
			app.Components = append(app.Components, client.Component{Name: name, Node: name + "-node", Allowed: allowed})
		}
		answer = app
	case path == "/api/v1/app/goal":
		answer = client.Goal{}
	case r.Method == http.MethodPost:
		parts := strings.Split(path, "/")
		operation, name := parts[len(parts)-1], parts[len(parts)-2]
		x := client.Execution{ID: "x", Outcome: client.OutcomeSucceeded}
		why, before := a.do(operation + " " + name)
		if state := map[string]string{"start": "stopped", "stop": "started"}[operation]; why == "" && a.state[name] != state {
			why = "not-allowed"
		}
		switch {
		case why == "failed":
			x.Outcome = why
		case why != "" && (before == 0 || why == "not-allowed"):
			w.WriteHeader(http.StatusConflict)
			answer = client.Problem{Type: "urn:toskose:problem:" + why, Status: http.StatusConflict, Detail: why}
		default:
			a.state[name] = map[string]string{"start": "started", "stop": "stopped"}[operation]
		}
		if answer == nil {
			answer = x
		}
	}
	_ = json.NewEncoder(w).Encode(answer)
}

// TestWhatWasStoppedIsStartedAgain whatever comes: what could not be stopped runs, and is not waited for.
func TestWhatWasStoppedIsStartedAgain(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name      string
		fails     map[string]string
		interrupt bool
		want      string // of its errors; empty: none
		did       []string
	}{
		{"all goes well", nil, false, "", []string{"stop api", "stop gui", "stop store", "copy", "start store", "start gui", "start api"}},
		{"it is interrupted", nil, true, "canceled", []string{"stop api", "stop gui", "stop store", "copy", "start store", "start gui", "start api"}},
		{
			"a component does not stop",
			map[string]string{"stop gui": "failed"},
			false, `cannot stop "gui": it has failed`,
			[]string{"stop api", "stop gui", "start gui", "start api"},
		},
		{
			"a container does not stop",
			map[string]string{"stop store": "no answer"},
			false, "no answer",
			[]string{"stop api", "stop gui", "stop store", "start store", "start gui", "start api"},
		},
		{
			"what one requires starts at the same time",
			map[string]string{"start gui": "requirement-not-met"},
			false, "",
			[]string{"stop api", "stop gui", "stop store", "copy", "start store", "start gui", "start gui", "start api"},
		},
		{
			"one cannot be started",
			map[string]string{"start gui": "not-allowed"},
			false, `cannot start "gui": not-allowed`,
			[]string{"stop api", "stop gui", "stop store", "copy", "start store", "start gui", "start api"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a := &asked{fails: tt.fails, state: map[string]string{"gui": "started", "api": "started"}}
			server := httptest.NewServer(a)
			defer server.Close()
			all := []volumes.Volume{{Name: "data"}}
			for _, node := range []string{"gui-node", "api-node", "store"} {
				all[0].Users = append(all[0].Users, volumes.User{Name: node, ID: node, Node: node, Running: true})
			}
			s := &session{streams: cli.Streams{Out: io.Discard, Err: io.Discard}, quiet: new(bool), environ: []string{"TOSKOSE_CONFIG=" + t.TempDir()}}
			store, err := contexts.Find(s.environ)
			if err == nil {
				err = store.Put("shop", contexts.Context{Manager: server.URL})
			}
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			err = s.around(ctx, place{Place: a, app: "shop"}, all, copying{stop: true}, func(ctx context.Context) error {
				a.do("copy")
				if tt.interrupt {
					cancel()
				}
				return ctx.Err()
			})
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
			if diff := cmp.Diff(tt.did, a.did); diff != "" {
				t.Error(diff)
			}
			stays := tt.fails["start gui"] == "not-allowed"
			if a.state["api"] != "started" || (a.state["gui"] == "started") == stays {
				t.Errorf("in the end: %v", a.state)
			}
		})
	}
}

// TestAFileIsWholeOrAsItWas: as on a disk that is full, or when the command is interrupted.
func TestAFileIsWholeOrAsItWas(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "shop.tar")
	for _, tt := range []struct {
		fails error
		want  string
	}{{nil, "new"}, {syscall.ENOSPC, "old"}, {context.Canceled, "old"}} {
		if err := os.WriteFile(path, []byte("old"), 0o644); err != nil {
			t.Fatal(err)
		}
		err := whole(path, func(f *os.File) error {
			_, err := f.WriteString("new")
			return errors.Join(err, tt.fails)
		})
		if !errors.Is(err, tt.fails) {
			t.Errorf("%v, want %v", err, tt.fails)
		}
		text, err := os.ReadFile(path)
		entries, failed := os.ReadDir(dir)
		if string(text) != tt.want || len(entries) != 1 || err != nil || failed != nil {
			t.Errorf("after %v: %q in %v (%v, %v)", tt.fails, text, entries, err, failed)
		}
		if info, err := os.Stat(path); tt.fails == nil && (err != nil || info.Mode().Perm() != 0o600) {
			t.Errorf("others may read it: %v, %v", info, err)
		}
	}
}

// TestAPartThatAKilledCommandHasWrittenIsRemoved, and not one of a command that still writes.
func TestAPartThatAKilledCommandHasWrittenIsRemoved(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "b.tar")
	for _, name := range []string{".b.tar-123", ".b.tar-x", ".bb.tar-1"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	names := func() string {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		for _, e := range entries {
			all = append(all, e.Name())
		}
		return strings.Join(all, " ")
	}
	err := whole(path, func(*os.File) error {
		if len(strings.Fields(names())) != 3 {
			t.Errorf("while one writes: %s", names())
		}
		return whole(path, func(*os.File) error { return nil }) // another, meanwhile
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := names(), ".b.tar-x .bb.tar-1 b.tar"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestWhatABackupLacksIsListedAndFails unless it was allowed by name.
func TestWhatABackupLacksIsListedAndFails(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	s := &session{streams: cli.Streams{Out: &out, Err: &out}, quiet: new(bool)}
	all := []volumes.Volume{{Name: "data"}}
	copied := map[string]volumes.Copied{"data": {LeftOut: []tree.LeftOut{
		{Name: "dev\x1bice", Why: "it is a device"}, {Name: "locked", Why: "permission denied"}, {Name: "lost+found", Why: "permission denied", System: true},
	}}}
	for _, tt := range []struct{ allowed, want string }{
		{"", `"b.tar" lacks 2 entries`},
		{"data/locked", `"b.tar" lacks 1 entries`},
		{`data/locked,"data/dev\x1bice"`, ""},
		{"data/locked,data/dev\x1bice", ""},
	} {
		err := s.checkLeftOut("b.tar", all, copied, strings.Split(tt.allowed, ","))
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: %v, want %q", tt.allowed, err, tt.want)
		}
	}
	if !strings.Contains(out.String(), `"data/dev\x1bice": left out: it is a device`+"\n") {
		t.Errorf("%q", out.String())
	}
}
