package manager_test

import (
	"errors"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toskose/toskose/internal/fakeunit"
	"github.com/toskose/toskose/internal/freeport"
	"github.com/toskose/toskose/internal/leak"
	"github.com/toskose/toskose/manager"
	"github.com/toskose/toskose/manager/rest"
	"github.com/toskose/toskose/manager/unitclient"
	"github.com/toskose/toskose/spec"
	"github.com/toskose/toskose/unit"
	"github.com/toskose/toskose/unit/wire"
)

func TestMain(m *testing.M) { leak.Main(m) }

func application(t *testing.T, found fakeunit.Containers, opts manager.Options) *manager.App {
	t.Helper()
	return managerOf(t, fakeunit.Thinking(), found, opts)
}

func managerOf(t *testing.T, model *spec.Application, found fakeunit.Containers, opts manager.Options) *manager.App {
	t.Helper()
	opts.Containers = found
	opts.Passwords = fakeunit.PasswordOf
	if opts.Patience == 0 {
		opts.Patience = 100 * time.Millisecond
	}
	if opts.Backoff == 0 {
		opts.Backoff = time.Millisecond
	}
	opts.Limits = unitclient.Limits{Call: time.Minute, Connect: time.Minute}
	app, err := manager.New(model, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(app.Close)
	return app
}

var configured = map[string]string{"api": "configured"}

func run(t *testing.T, app *manager.App, req rest.RunRequest) (rest.Execution, error) {
	t.Helper()
	x, err := app.Start(t.Context(), req)
	if err != nil {
		return x, err
	}
	if x, err = app.Wait(t.Context(), x.ID); err != nil {
		return x, err
	}
	return x, x.Err()
}

var startAPI = rest.RunRequest{Node: "backend", Component: "api", Operation: "Standard.start", By: "ann"}

func TestTheProtocolForbidsWithAReason(t *testing.T) {
	t.Parallel()
	u := fakeunit.Backend("i1", nil, fakeunit.End{})
	app := application(t, fakeunit.Containers{"backend": {u.Start(t, map[string]string{"api": "created"})}}, manager.Options{})
	_, err := run(t, app, startAPI)
	var e *rest.Error
	if !errors.As(err, &e) || !errors.Is(err, rest.ErrNotAllowed) {
		t.Fatalf("got %v", err)
	}
	if e.State != "created" || len(e.Allowed) != 1 || e.Allowed[0] != "Standard.configure" || !strings.Contains(e.Detail, `"created"`) {
		t.Errorf("got %+v", e)
	}
}

func TestASecondOperationIsBusyUntilTheFirstIsStopped(t *testing.T) {
	t.Parallel()
	u := fakeunit.Backend("i1", make(chan struct{}), fakeunit.End{})
	app := application(t, fakeunit.Containers{"backend": {u.Start(t, configured)}}, manager.Options{})
	begun, err := app.Start(t.Context(), startAPI)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := run(t, app, rest.RunRequest{Node: "backend", Component: "api", Operation: "push_default"}); !errors.Is(err, rest.ErrBusy) {
		t.Errorf("got %v", err)
	}
	if _, err := app.Signal(t.Context(), "backend", "api", "Standard.start", "", "sighup"); err != nil {
		t.Error(err)
	}
	if got := u.Signals(); len(got) != 1 || got[0] != "api:Standard.start HUP" {
		t.Errorf("got %q", got)
	}
	if _, err := app.Signal(t.Context(), "backend", "api", "Standard.start", "", "SIGHAPPY"); !errors.Is(err, rest.ErrInvalid) {
		t.Errorf("got %v", err)
	}
	if _, err := app.Stop(t.Context(), "backend", "api", "Standard.start", ""); err != nil {
		t.Fatal(err)
	}
	x, err := app.Wait(t.Context(), begun.ID)
	if err != nil || x.Outcome != wire.OutcomeCancelled || !errors.Is(x.Err(), rest.ErrFailed) {
		t.Errorf("got %+v, %v", x, err)
	}
	if _, err := app.Stop(t.Context(), "backend", "api", "Standard.start", ""); !errors.Is(err, rest.ErrNotRunning) {
		t.Errorf("got %v", err)
	}
}

func TestStopAllStopsWhatRuns(t *testing.T) {
	t.Parallel()
	u := fakeunit.Backend("i1", make(chan struct{}), fakeunit.End{})
	app := application(t, fakeunit.Containers{"backend": {u.Start(t, configured)}}, manager.Options{})
	if _, err := app.Start(t.Context(), startAPI); err != nil {
		t.Fatal(err)
	}
	results, err := app.StopAll(t.Context(), "backend", "")
	if err != nil || len(results) != 1 || !results[0].Done || len(results[0].Statuses) != 1 {
		t.Errorf("got %+v, %v", results, err)
	}
}

func TestATimeLimitPasses(t *testing.T) {
	t.Parallel()
	u := fakeunit.Backend("i1", make(chan struct{}), fakeunit.End{})
	app := application(t, fakeunit.Containers{"backend": {u.Start(t, configured)}}, manager.Options{})
	req := startAPI
	req.Timeout = 0.01
	if x, err := run(t, app, req); !errors.Is(err, rest.ErrTimeLimit) || x.Outcome != wire.OutcomeTimeout {
		t.Errorf("got %+v, %v", x, err)
	}
}

// nobody is an address where nothing listens.
func nobody(t *testing.T) netip.AddrPort {
	t.Helper()
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), uint16(freeport.Find(t)))
}

func TestADeadReplicaPoisonsNobody(t *testing.T) {
	t.Parallel()
	u := fakeunit.Backend("i1", nil, fakeunit.End{Target: "started"})
	app := application(t, fakeunit.Containers{"backend": {u.Start(t, configured), nobody(t)}, "store": {nobody(t)}}, manager.Options{})
	x, err := run(t, app, startAPI)
	if !errors.Is(err, rest.ErrUnreachable) || x.Outcome != rest.Unreachable {
		t.Fatalf("got %+v, %v", x, err)
	}
	if !slices.ContainsFunc(x.Runs, func(r rest.Run) bool { return r.Outcome == wire.OutcomeSucceeded }) {
		t.Errorf("got %+v", x.Runs)
	}
	shown := app.App(t.Context(), manager.StatesOnly)
	states := map[string]string{}
	for _, n := range shown.Nodes {
		states[n.Name] = n.State
	}
	if states["backend"] != rest.NodeDegraded || states["frontend"] != rest.NodeStopped || states["store"] != rest.NodeRunning {
		t.Errorf("got %v", states)
	}
	if shown.Components[0].State != "started" || shown.Components[1].State != rest.StateUnknown || shown.Volumes[0].State != "created" {
		t.Errorf("got %+v %+v", shown.Components, shown.Volumes)
	}
	if missing, units := app.Ready(); len(missing) != 1 || missing[0].Node != "frontend" || units != 1 {
		t.Errorf("got %+v, %d", missing, units)
	}
	logs, err := app.Log(t.Context(), "backend", "api", "Standard.start", "", manager.LogRequest{Stream: wire.Stdout, Tail: 2})
	slices.SortFunc(logs, func(a, b rest.Log) int { return strings.Compare(b.Text, a.Text) })
	if err != nil || len(logs) != 2 || logs[0].Text != "i1" || !logs[0].Truncated || logs[1].Problem == "" {
		t.Errorf("got %+v, %v", logs, err)
	}
}

func TestWhatAReplicaSaidLastIsShownWithItsAge(t *testing.T) {
	t.Parallel()
	u := fakeunit.Backend("i1", nil, fakeunit.End{Target: "started"})
	var cut atomic.Bool
	u.Wrap = func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if cut.Load() {
				panic(http.ErrAbortHandler)
			}
			next.ServeHTTP(w, r)
		})
	}
	app := application(t, fakeunit.Containers{"backend": {u.Start(t, configured)}}, manager.Options{Poll: 20 * time.Millisecond})
	if _, err := run(t, app, startAPI); err != nil {
		t.Fatal(err)
	}
	cut.Store(true)
	next := app.Events("")
	for seen := false; !seen; {
		events, err := next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		seen = slices.ContainsFunc(events, func(e manager.Event) bool { return e.Kind == "unreachable" })
	}
	c, err := app.Component(t.Context(), "backend", "api", manager.StatesOnly)
	if err != nil || c.State != rest.StateUnknown || len(c.Allowed) != 0 {
		t.Errorf("got %+v, %v", c, err)
	}
	if r := c.Replicas[0]; r.State != rest.StateUnknown || r.Last != "started" || r.Heard.IsZero() || r.Problem == "" {
		t.Errorf("got %+v", r)
	}
	n, err := app.Node(t.Context(), "backend", manager.StatesOnly)
	if err != nil || n.State != rest.NodeUnreachable || n.Why == "" || n.Replicas[0].Since.IsZero() {
		t.Errorf("got %+v, %v", n, err)
	}
}

// withGUI is an application with api and gui, both configured, and their units.
func withGUI(t *testing.T, more ...netip.AddrPort) (app *manager.App, api, gui *fakeunit.Unit) {
	t.Helper()
	api = fakeunit.Backend("i1", nil, fakeunit.End{Target: "started"})
	api.Operations["api"]["Standard.stop"] = fakeunit.Operation{From: []string{"started"}, End: fakeunit.End{Target: "configured"}}
	gui = &fakeunit.Unit{Instance: "i2", Operations: map[string]map[string]fakeunit.Operation{"gui": {
		"Standard.start": {From: []string{"configured"}, End: fakeunit.End{Target: "started"}},
	}}}
	return application(t, fakeunit.Containers{
		"backend":  append(more, api.Start(t, configured)),
		"frontend": {gui.Start(t, map[string]string{"gui": "configured"})},
	}, manager.Options{}), api, gui
}

var (
	startGUI = rest.RunRequest{Node: "frontend", Component: "gui", Operation: "start", By: "ann"}
	stopAPI  = rest.RunRequest{Node: "backend", Component: "api", Operation: "stop", By: "ann"}
)

func TestWhatRequiresWhatNothingOffersIsRefused(t *testing.T) {
	t.Parallel()
	app, _, gui := withGUI(t)
	_, err := run(t, app, startGUI)
	var e *rest.Error
	if !errors.As(err, &e) || !errors.Is(err, rest.ErrUnmet) || e.State != "configured" || len(e.Lacks) != 1 || len(gui.Executed()) != 0 {
		t.Fatalf("got %v", err)
	}
	if l := e.Lacks[0]; l.Component != "gui" || l.Requirement != "connection" || l.Provider != "api" || l.Capability != "endpoint" {
		t.Errorf("got %+v", l)
	}
	for _, says := range []string{`endpoint of "api"`, `"api" is in state "configured"`, `in state "configured" it may now run nothing`} {
		if !strings.Contains(err.Error(), says) {
			t.Errorf("%v does not say %s", err, says)
		}
	}
	shown, err := app.Component(t.Context(), "frontend", "gui", manager.StatesOnly)
	if err != nil || slices.Contains(shown.Allowed, "Standard.start") || shown.Lacks != nil || len(shown.Replicas[0].Blocked["Standard.start"]) != 1 {
		t.Errorf("got %+v, %v", shown, err)
	}
	if _, err := run(t, app, startAPI); err != nil {
		t.Fatal(err)
	}
	if shown, err = app.Component(t.Context(), "frontend", "gui", manager.StatesOnly); err != nil || !slices.Contains(shown.Allowed, "Standard.start") {
		t.Errorf("got %+v, %v", shown, err)
	}
	if x, err := run(t, app, startGUI); err != nil || x.By != "ann" || x.Degraded != nil {
		t.Errorf("got %+v, %v", x, err)
	}
}

func TestWhoKnowsBetterIsInTheHistory(t *testing.T) {
	t.Parallel()
	app, _, gui := withGUI(t)
	req := startGUI
	req.Force = true
	if x, err := run(t, app, req); err != nil || x.By != "ann (forced)" || len(gui.Executed()) != 1 {
		t.Errorf("got %+v, %v", x, err)
	}
	req = startAPI
	req.Force = true
	if x, err := run(t, app, req); err != nil || x.By != "ann" {
		t.Errorf("where there was nothing to force: got %+v, %v", x, err)
	}
	if _, err := run(t, app, req); !errors.Is(err, rest.ErrNotAllowed) {
		t.Errorf("its own protocol is no matter of force: got %v", err)
	}
}

// TestWhoLosesItsProviderIsDegraded: gui goes on running while api, which it requires, has died.
func TestWhoLosesItsProviderIsDegraded(t *testing.T) {
	t.Parallel()
	api := fakeunit.Backend("i1", nil, fakeunit.End{Target: "started"})
	gui := &fakeunit.Unit{Instance: "i2", Operations: map[string]map[string]fakeunit.Operation{"gui": {}}}
	found := fakeunit.Containers{"backend": {api.Start(t, configured)}, "frontend": {gui.Start(t, map[string]string{"gui": "started"})}}
	app := application(t, found, manager.Options{})
	if _, err := run(t, app, startAPI); err != nil {
		t.Fatal(err)
	}
	for _, degraded := range []bool{false, true} {
		if degraded {
			api.Fall("api")
		}
		awaitGoal(t, app, map[bool]string{true: "degraded", false: "well"}[degraded], func(rest.Goal) bool {
			c, err := app.Component(t.Context(), "frontend", "gui", manager.StatesOnly)
			return err == nil && len(c.Replicas) == 1 && c.State == "started" && c.Degraded == degraded && c.Replicas[0].Degraded == degraded
		})
	}
}

func TestWhatAStopLeavesWithoutIsNamed(t *testing.T) {
	t.Parallel()
	app, _, _ := withGUI(t)
	for _, req := range []rest.RunRequest{startAPI, startGUI} {
		if _, err := run(t, app, req); err != nil {
			t.Fatal(err)
		}
	}
	strict := stopAPI
	strict.Strict = true
	_, err := run(t, app, strict)
	var e *rest.Error
	if !errors.As(err, &e) || !errors.Is(err, rest.ErrTakesAway) || len(e.Lacks) != 1 || !strings.Contains(err.Error(), `"gui" requires connection of "api"`) {
		t.Errorf("got %v", err)
	}
	x, err := run(t, app, stopAPI)
	if err != nil || len(x.Degraded) != 1 || x.Degraded[0].Component != "gui" || x.Degraded[0].Provider != "api" {
		t.Errorf("got %+v, %v", x, err)
	}
	shown := app.App(t.Context(), manager.StatesOnly)
	i := slices.IndexFunc(shown.Components, func(c rest.Component) bool { return c.Name == "gui" })
	if lacks := shown.Components[i].Lacks; len(lacks) != 1 || lacks[0].Why != `"api" is in state "configured"` {
		t.Errorf("got %+v", lacks)
	}
}

func TestARequirementHoldsWhileAnyReplicaOffersIt(t *testing.T) {
	t.Parallel()
	app, _, _ := withGUI(t, fakeunit.Backend("i3", nil, fakeunit.End{Target: "started"}).Start(t, configured))
	one := startAPI
	one.Replica = "i1"
	other := one
	other.Replica = "i3"
	for _, req := range []rest.RunRequest{one, startGUI, other} {
		if _, err := run(t, app, req); err != nil {
			t.Fatal(err)
		}
	}
	stop := stopAPI
	stop.Replica, stop.Strict = "i1", true
	if x, err := run(t, app, stop); err != nil || x.Degraded != nil {
		t.Errorf("one of two: got %+v, %v", x, err)
	}
}

// TestAReplicaOfAnotherVersionIsLeftAlone: in a rolling deployment managers and units
// of two versions pass each other.
func TestAReplicaOfAnotherVersionIsLeftAlone(t *testing.T) {
	t.Parallel()
	ours, other := fakeunit.Backend("i1", nil, fakeunit.End{Target: "started"}), fakeunit.Backend("i2", nil, fakeunit.End{Target: "started"})
	ours.Digest, other.Digest = "new", "old"
	found := fakeunit.Containers{"backend": {ours.Start(t, configured), other.Start(t, configured)}}
	model := fakeunit.Thinking()
	model.Nodes[0].Unit.Digest = "new"
	app := managerOf(t, model, found, manager.Options{})
	if _, err := run(t, app, startAPI); !errors.Is(err, rest.ErrOutdated) || len(ours.Executed())+len(other.Executed()) != 0 {
		t.Errorf("on both: %v", err)
	}
	shown, err := app.Component(t.Context(), "backend", "api", manager.StatesOnly)
	if err != nil || len(shown.Replicas) != 2 {
		t.Fatalf("it is shown as %+v, %v", shown.Replicas, err)
	}
	for _, r := range shown.Replicas {
		if r.Outdated != (r.Instance == "i2") {
			t.Errorf("it is shown as %+v", r)
		}
	}
	one := startAPI
	one.Replica = "i1"
	if _, err := run(t, app, one); err != nil {
		t.Errorf("on ours: %v", err)
	}
	one.Replica, one.Force = "i2", true
	if x, err := run(t, app, one); err != nil || x.By != "ann (forced)" {
		t.Errorf("by force: %+v, %v", x, err)
	}
}

func TestAProviderThatCannotBeHeardOffersNothing(t *testing.T) {
	t.Parallel()
	gui := &fakeunit.Unit{Instance: "i2", Operations: map[string]map[string]fakeunit.Operation{"gui": {
		"Standard.start": {From: []string{"configured"}, End: fakeunit.End{Target: "started"}},
	}}}
	app := application(t, fakeunit.Containers{"backend": {nobody(t)}, "frontend": {gui.Start(t, map[string]string{"gui": "configured"})}}, manager.Options{})
	if _, err := run(t, app, startGUI); !errors.Is(err, rest.ErrUnmet) || !strings.Contains(err.Error(), "unknown, because its unit does not answer") {
		t.Errorf("got %v", err)
	}
}

func TestNamesAreExplained(t *testing.T) {
	t.Parallel()
	app := application(t, fakeunit.Containers{}, manager.Options{})
	for name, c := range map[string]struct {
		node, component, operation string
		kind                       error
		says                       string
	}{
		"a mistyped node":                {"bakend", "api", "start", rest.ErrUnknownNode, `did you mean "backend"?`},
		"a mistyped component":           {"backend", "apu", "start", rest.ErrUnknownComponent, `did you mean "api"?`},
		"a component elsewhere":          {"backend", "gui", "start", rest.ErrUnknownComponent, `it is on node "frontend"`},
		"a component of a standalone":    {"store", "redis", "start", rest.ErrUnknownComponent, "is standalone"},
		"a mistyped operation":           {"backend", "api", "configre", rest.ErrUnknownOperation, `did you mean "Standard.configure"?`},
		"a mistyped qualified operation": {"backend", "api", "Standard.startx", rest.ErrUnknownOperation, `did you mean "Standard.start"?`},
		"a bare name of two interfaces":  {"backend", "api", "start", rest.ErrAmbiguous, "Standard.start, api_interface.start"},
		"a node without a container":     {"backend", "api", "configure", rest.ErrUnreachable, "no container"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := run(t, app, rest.RunRequest{Node: c.node, Component: c.component, Operation: c.operation})
			if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v", err)
			}
		})
	}
	if _, err := app.StopAll(t.Context(), "store", ""); !errors.Is(err, rest.ErrStandalone) {
		t.Errorf("got %v", err)
	}
	req := startAPI
	req.Inputs = map[string]string{"LD_PRELOAD": "x", "PATH": "y"}
	if _, err := run(t, app, req); !errors.Is(err, rest.ErrInvalid) || !strings.Contains(err.Error(), `"LD_PRELOAD", "PATH"`) {
		t.Errorf("got %v", err)
	}
}

func TestEventsTellStatesAndThenChanges(t *testing.T) {
	t.Parallel()
	u := fakeunit.Backend("i1", nil, fakeunit.End{Target: "started"})
	app := application(t, fakeunit.Containers{"backend": {u.Start(t, configured)}}, manager.Options{})
	next := app.Events("")
	var told []manager.Event
	await := func(n int) []manager.Event {
		t.Helper()
		for len(told) < n {
			events, err := next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			told = append(told, events...)
		}
		events := told[:n]
		told = told[n:]
		return events
	}
	e := await(1)[0]
	for e.Component == "" { // its unit had not answered yet
		e = await(1)[0]
	}
	if e.Kind != "state" || e.State != "configured" || e.Component != "api" {
		t.Errorf("got %+v", e)
	}
	if _, err := run(t, app, startAPI); err != nil {
		t.Fatal(err)
	}
	events := await(2)
	if e := events[0]; e.Kind != string(wire.EntryStart) || e.Execution == nil {
		t.Errorf("got %+v", e)
	}
	if e := events[1]; e.Kind != string(wire.EntryExit) || e.State != "started" || e.Node != "backend" {
		t.Errorf("got %+v", e)
	}
	if again, err := app.Events(events[0].ID)(t.Context()); err != nil || len(again) != 1 || again[0].ID != events[1].ID {
		t.Errorf("who comes back gets %+v, %v", again, err)
	}
	app.Close()
	if events, err := next(t.Context()); err == nil {
		t.Errorf("after the end there is %+v", events)
	}
}

func TestOperationAndComponentTellWhatIsNow(t *testing.T) {
	t.Parallel()
	u := fakeunit.Backend("i1", make(chan struct{}), fakeunit.End{})
	app := application(t, fakeunit.Containers{"backend": {u.Start(t, configured)}}, manager.Options{})
	shown, err := app.Operation(t.Context(), "backend", "api", "push_default", manager.WithProcesses)
	if err != nil || !shown.Allowed || shown.Running || shown.Name != "api_interface.push_default" || shown.Replicas[0].Process == nil {
		t.Errorf("got %+v, %v", shown, err)
	}
	if shown, err = app.Operation(t.Context(), "backend", "api", "stop", manager.WithProcesses); err != nil || shown.Allowed || shown.Implemented {
		t.Errorf("got %+v, %v", shown, err)
	}
	if _, err := app.Start(t.Context(), startAPI); err != nil {
		t.Fatal(err)
	}
	if shown, err = app.Operation(t.Context(), "backend", "api", "Standard.start", manager.StatesOnly); err != nil || shown.Allowed || !shown.Running {
		t.Errorf("got %+v, %v", shown, err)
	}
	c, err := app.Component(t.Context(), "backend", "api", manager.WithProcesses)
	if err != nil || c.State != "configured" || len(c.Operations) != 5 || len(c.Replicas[0].Processes) != 1 {
		t.Errorf("got %+v, %v", c, err)
	}
}

func TestReloadGivesTheGroupsOfEveryUnit(t *testing.T) {
	t.Parallel()
	one := &fakeunit.Unit{Instance: "i1", Reload: unit.Differences{Added: []string{"new"}, Changed: []string{"api"}, Removed: []string{"old"}}}
	two := &fakeunit.Unit{Instance: "i2"}
	app := application(t, fakeunit.Containers{"backend": {one.Start(t, nil)}, "frontend": {two.Start(t, nil)}}, manager.Options{})
	results, err := app.Reload(t.Context())
	if err != nil || len(results) != 2 {
		t.Fatalf("got %+v, %v", results, err)
	}
	for _, r := range results {
		found := slices.Concat(r.Added, r.Changed, r.Removed)
		if want := map[string]int{"backend": 3, "frontend": 0}[r.Node]; !r.Done || len(found) != want {
			t.Errorf("%s: got %+v", r.Node, r)
		}
	}
}

func TestAReloadThatOneUnitRefusesHasFailed(t *testing.T) {
	t.Parallel()
	one := &fakeunit.Unit{Instance: "i1"}
	two := &fakeunit.Unit{Instance: "i2", ReloadErr: wire.NewFault(wire.CantReread, "supervisord.conf:3: wrong")}
	app := application(t, fakeunit.Containers{"backend": {one.Start(t, nil)}, "frontend": {two.Start(t, nil)}}, manager.Options{})
	_, err := app.Reload(t.Context())
	var e *rest.Error
	if !errors.Is(err, rest.ErrFailed) || !errors.As(err, &e) || len(e.Results) != 2 || !strings.Contains(err.Error(), "supervisord.conf:3: wrong") {
		t.Errorf("got %v", err)
	}
}
