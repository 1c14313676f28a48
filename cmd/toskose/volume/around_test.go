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
	"slices"
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
	"github.com/toskose/toskose/spec/plan"
	"github.com/toskose/toskose/spec/protocol"
)

// asked is a manager of two components, and an engine with their containers and another,
// which say what they were asked to do.
type asked struct {
	volumes.Place
	mu    sync.Mutex
	did   []string
	fails map[string]string // what is refused, and why: a kind of problem, or an outcome
	state map[string]string
	goal  string
	plan  *client.Steps // for down
	held  string        // the component that a stop has put on hold

	history   map[string][]client.Execution
	interrupt func() // called while a component stops, which takes two more requests
	running   string // the component that stops
	polls     int
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
			c := client.Component{Name: name, Node: name + "-node", Allowed: allowed, Replicas: []client.Replica{{}}}
			if a.running == name {
				c.Replicas[0].Executing = "x"
			}
			app.Components = append(app.Components, c)
		}
		answer = app
	case path == "/api/v1/app/plan":
		answer = map[string]any{"plan": a.plan}
	case path == "/api/v1/app/goal/resume":
		a.do("resume " + a.held)
		a.held = ""
		answer = client.Goal{State: a.goal}
	case path == "/api/v1/app/goal" && a.held != "" && slices.Contains(a.did, "copy"):
		answer = client.Goal{State: a.goal, Holds: map[string]client.Hold{a.held: {}}}
	case path == "/api/v1/app/goal":
		answer = client.Goal{State: a.goal}
	case strings.HasPrefix(path, "/api/v1/app/goal/leases/"):
		answer = client.Lease{Goal: a.goal != "", Renewed: true}
		if a.goal != "" {
			a.do(r.Method + " lease")
		}
	case strings.HasPrefix(path, "/api/v1/executions/"):
		x := client.Execution{ID: "x", Outcome: client.OutcomeRunning}
		if a.polls++; a.polls == 3 {
			a.do("end of stop " + a.running)
			a.state[a.running], a.running, x.Outcome = "stopped", "", client.OutcomeSucceeded
		}
		answer = x
	case path == "/api/v1/executions":
		answer = client.History{Executions: a.history[r.URL.Query().Get("component")]}
	case r.Method == http.MethodPost:
		parts := strings.Split(path, "/")
		operation, name := parts[len(parts)-1], parts[len(parts)-2]
		x := client.Execution{ID: "x", Outcome: client.OutcomeSucceeded}
		why, before := a.do(operation + " " + name)
		if operation == "stop" && a.interrupt != nil && a.polls == 0 {
			a.running = name
			a.interrupt()
			answer = client.Execution{ID: "x", Outcome: client.OutcomeRunning}
			break
		}
		if a.running == name {
			why = "busy"
		}
		if state := map[string]string{"start": "stopped", "stop": "started"}[operation]; why == "" && a.state[name] != state {
			why = "not-allowed"
		}
		switch {
		case why == "failed":
			x.Outcome = "failed"
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

// around stops and starts what uses a volume at a fake manager.
func around(t *testing.T, a *asked, out io.Writer, do func(context.Context) error) error {
	t.Helper()
	server := httptest.NewServer(a)
	defer server.Close()
	all := []volumes.Volume{{Name: "data"}}
	for _, node := range []string{"gui-node", "api-node"} {
		all[0].Users = append(all[0].Users, volumes.User{Name: node, ID: node, Node: node, Running: true})
	}
	s := &session{streams: cli.Streams{Out: out, Err: out}, quiet: new(bool), environ: []string{"TOSKOSE_CONFIG=" + t.TempDir()}}
	store, err := contexts.Find(s.environ)
	if err == nil {
		err = store.Put("shop", contexts.Context{Manager: server.URL})
	}
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if a.interrupt != nil {
		a.interrupt = cancel
	}
	return s.around(ctx, place{Place: a, app: "shop"}, all, copying{stop: true}, do)
}

// TestAComponentThatIsInterruptedWhileItStopsIsStartedAgain: it was taken for one that runs.
func TestAComponentThatIsInterruptedWhileItStopsIsStartedAgain(t *testing.T) {
	t.Parallel()
	a := &asked{state: map[string]string{"gui": "started", "api": "started"}, interrupt: func() {}}
	err := around(t, a, io.Discard, func(context.Context) error {
		t.Error("the volume is copied")
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"stop api", "end of stop api", "start api"}, a.did); diff != "" {
		t.Error(diff)
	}
	if a.state["api"] != "started" {
		t.Errorf("api is %s", a.state["api"])
	}
}

// TestAGoalStartsNothingMeanwhile: a lease keeps it from that, from before the first stop until
// all is started again.
func TestAGoalStartsNothingMeanwhile(t *testing.T) {
	t.Parallel()
	a := &asked{state: map[string]string{"gui": "started", "api": "started"}, goal: "up"}
	if err := around(t, a, io.Discard, func(context.Context) error { a.do("copy"); return nil }); err != nil {
		t.Error(err)
	}
	want := []string{"PUT lease", "stop api", "stop gui", "copy", "start gui", "start api", "DELETE lease"}
	if diff := cmp.Diff(want, a.did); diff != "" {
		t.Error(diff)
	}
}

// TestTheOrderIsThePlans: the order of the list would stop api before gui, which requires it.
func TestTheOrderIsThePlans(t *testing.T) {
	t.Parallel()
	stop := func(component string) client.PlanStep {
		return client.PlanStep{Operation: plan.Operation{Component: component, Operation: protocol.Operation{Interface: "Standard", Name: "stop"}}}
	}
	a := &asked{state: map[string]string{"gui": "started", "api": "started"}, plan: &client.Steps{Levels: [][]client.PlanStep{{stop("gui")}, {stop("api")}}}}
	if err := around(t, a, io.Discard, func(context.Context) error { a.do("copy"); return nil }); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"stop gui", "stop api", "copy", "start api", "start gui"}, a.did); diff != "" {
		t.Error(diff)
	}
}

// TestHoldsEndWhateverFails: a component that cannot be started is given back to the goal, too.
func TestHoldsEndWhateverFails(t *testing.T) {
	t.Parallel()
	a := &asked{
		state: map[string]string{"gui": "started", "api": "started"}, goal: "up", held: "gui",
		fails: map[string]string{"start gui": "not-allowed"},
	}
	err := around(t, a, io.Discard, func(context.Context) error { a.do("copy"); return nil })
	if err == nil || !strings.Contains(err.Error(), `cannot start "gui"`) {
		t.Error(err)
	}
	want := []string{"PUT lease", "stop api", "stop gui", "copy", "start gui", "start api", "DELETE lease", "resume gui"}
	if diff := cmp.Diff(want, a.did); diff != "" {
		t.Error(diff)
	}
}

// TestWithoutAGoalTheNextCommandStartsWhatAKilledOneHasStopped, and nothing else.
func TestWithoutAGoalTheNextCommandStartsWhatAKilledOneHasStopped(t *testing.T) {
	t.Parallel()
	a := &asked{state: map[string]string{"gui": "stopped", "api": "stopped"}, history: map[string][]client.Execution{
		"gui": {{ID: stopID + "A"}}, "api": {{ID: "B"}, {ID: stopID + "C"}},
	}}
	var out strings.Builder
	if err := around(t, a, &out, func(context.Context) error { a.do("copy"); return nil }); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"copy", "start gui"}, a.did); diff != "" || !strings.Contains(out.String(), "gui: an earlier command that was interrupted has stopped it") {
		t.Error(diff, out.String())
	}
}
