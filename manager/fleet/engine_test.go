package fleet_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toskose/toskose/internal/fakeunit"
	"github.com/toskose/toskose/internal/leak"
	"github.com/toskose/toskose/manager/fleet"
	"github.com/toskose/toskose/manager/mirror"
	"github.com/toskose/toskose/manager/rest"
	"github.com/toskose/toskose/manager/topology"
	"github.com/toskose/toskose/manager/unitclient"
	"github.com/toskose/toskose/unit/wire"
)

func TestMain(m *testing.M) { leak.Main(m) }

// engine runs requests as the manager does, without its checks of requirements.
type engine struct {
	*fleet.Engine
	fleet *fleet.Fleet
	app   *topology.Application
}

func newEngine(t *testing.T, found fakeunit.Containers, opts fleet.Options) *engine {
	t.Helper()
	app, err := topology.New(fakeunit.Thinking(), fakeunit.PasswordOf)
	if err != nil {
		t.Fatal(err)
	}
	opts.Model, opts.Containers, opts.Logger = app, found, slog.New(slog.DiscardHandler)
	opts.Limits = unitclient.Limits{Call: time.Minute, Connect: time.Minute}
	opts.Backoff, opts.Discover, opts.Settle = time.Millisecond, 10*time.Millisecond, time.Second
	if opts.Patience == 0 {
		opts.Patience = 100 * time.Millisecond
	}
	if opts.Poll == 0 {
		opts.Poll = 50 * time.Second
	}
	f := fleet.New(opts)
	t.Cleanup(f.Close)
	return &engine{fleet.NewEngine(f, 2), f, app}
}

// Start resolves the names of a request and starts it on the replicas that have not executed it yet.
func (e *engine) Start(ctx context.Context, req rest.RunRequest) (rest.Execution, error) {
	op, err := e.app.Operation(req.Node, req.Component, req.Operation)
	if err != nil {
		return rest.Execution{}, err
	}
	replicas, err := e.fleet.Replicas(ctx, op.Component.Node, req.Replica)
	if err != nil {
		return rest.Execution{}, err
	}
	inv := fleet.Invocation{Request: req, Operation: op, Replicas: replicas, Degraded: func() []rest.Lack { return nil }}
	if _, err := e.Identify(ctx, &inv); err != nil {
		return rest.Execution{}, err
	}
	return e.Engine.Start(ctx, inv)
}

func (e *engine) Close() { e.fleet.Close() }

func (e *engine) Events(after string) func(context.Context) ([]mirror.Event, error) {
	return e.fleet.Stream(after).Next
}

var (
	configured = map[string]string{"api": "configured"}
	startAPI   = rest.RunRequest{Node: "backend", Component: "api", Operation: "Standard.start", By: "ann"}
)

// run starts a request and waits for its end.
func run(t *testing.T, e *engine, req rest.RunRequest) (rest.Execution, error) {
	t.Helper()
	x, err := e.Start(t.Context(), req)
	if err != nil {
		return x, err
	}
	if x, err = e.Wait(t.Context(), x.ID); err != nil {
		return x, err
	}
	return x, x.Err()
}

func TestAnOperationRunsOnEveryReplica(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	one, two := fakeunit.Backend("i1", hold, fakeunit.End{Target: "started", Stdout: "up"}), fakeunit.Backend("i2", nil, fakeunit.End{Target: "started"})
	app := newEngine(t, fakeunit.Containers{"backend": {one.Start(t, configured), two.Start(t, configured)}}, fleet.Options{})
	req := startAPI
	req.Inputs = map[string]string{"port": "8080"}
	begun, err := app.Start(t.Context(), req)
	if err != nil || begun.Outcome != wire.OutcomeRunning || len(begun.Runs) != 2 {
		t.Fatalf("got %+v, %v", begun, err)
	}
	close(hold)
	x, err := app.Wait(t.Context(), begun.ID)
	if err != nil || x.Err() != nil || x.Outcome != wire.OutcomeSucceeded || x.Ended.IsZero() {
		t.Fatalf("got %+v, %v", x, err)
	}
	i := slices.IndexFunc(x.Runs, func(r rest.Run) bool { return r.Instance == "i1" })
	if r := x.Runs[max(i, 0)]; r.Instance != "i1" || r.To != "started" || r.Stdout != "up" || *r.ExitCode != 0 {
		t.Errorf("got %+v", r)
	}
	for _, u := range []*fakeunit.Unit{one, two} {
		if ran := u.Executed(); len(ran) != 1 || ran[0] != "api:Standard.start PORT=8080" {
			t.Errorf("ran %q", ran)
		}
	}
	if known, err := app.Execution(t.Context(), x.ID, 0); err != nil || known.Outcome != wire.OutcomeSucceeded {
		t.Errorf("got %+v, %v", known, err)
	}
}

func TestOneReplicaIsSelectedByInstanceOrAddress(t *testing.T) {
	t.Parallel()
	one, two := fakeunit.Backend("i1", nil, fakeunit.End{Target: "started"}), fakeunit.Backend("i2", nil, fakeunit.End{Target: "started"})
	second := two.Start(t, configured)
	app := newEngine(t, fakeunit.Containers{"backend": {one.Start(t, configured), second}}, fleet.Options{})
	req := startAPI
	req.Replica = "i1"
	if x, err := run(t, app, req); err != nil || len(x.Runs) != 1 {
		t.Fatalf("got %+v, %v", x, err)
	}
	req.Replica = second.String()
	if x, err := run(t, app, req); err != nil || x.Runs[0].Instance != "i2" {
		t.Fatalf("got %+v, %v", x, err)
	}
	req.Replica = "i3"
	if _, err := run(t, app, req); !errors.Is(err, rest.ErrUnknownReplica) {
		t.Errorf("got %v", err)
	}
}

func TestTheWorstReplicaDecides(t *testing.T) {
	t.Parallel()
	good, bad := fakeunit.Backend("i1", nil, fakeunit.End{Target: "started"}), fakeunit.Backend("i2", nil, fakeunit.End{Outcome: wire.OutcomeFailed, ExitCode: 7, Stderr: "no port"})
	app := newEngine(t, fakeunit.Containers{"backend": {good.Start(t, configured), bad.Start(t, configured)}}, fleet.Options{})
	x, err := run(t, app, startAPI)
	if !errors.Is(err, rest.ErrFailed) || x.Outcome != wire.OutcomeFailed {
		t.Fatalf("got %+v, %v", x, err)
	}
	worst := x.Worst()
	if worst.Instance != "i2" || *worst.ExitCode != 7 || worst.Stderr != "no port" || !strings.Contains(err.Error(), "exit code 7") {
		t.Errorf("got %+v: %v", worst, err)
	}
}

// losing carries out n requests that begin with what, and drops their responses.
func losing(n int, what string) func(http.Handler) http.Handler {
	var lost atomic.Int32
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !strings.HasPrefix(r.Method+" "+r.URL.Path, what) || int(lost.Add(1)) > n {
				next.ServeHTTP(w, r)
				return
			}
			next.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		})
	}
}

func TestALostResponseRunsAnOperationOnce(t *testing.T) {
	t.Parallel()
	for name, what := range map[string]string{"the beginning": "POST /executions", "the end": "GET /executions/"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hold := make(chan struct{})
			u := fakeunit.Backend("i1", hold, fakeunit.End{Target: "started"})
			u.Wrap = losing(3, what)
			app := newEngine(t, fakeunit.Containers{"backend": {u.Start(t, configured)}}, fleet.Options{
				Patience: time.Minute, Poll: 20 * time.Millisecond,
			})
			begun, err := app.Start(t.Context(), startAPI)
			if err != nil {
				t.Fatal(err)
			}
			close(hold)
			x, err := app.Wait(t.Context(), begun.ID)
			if err != nil || x.Outcome != wire.OutcomeSucceeded {
				t.Errorf("got %+v, %v", x, err)
			}
			if ran := u.Executed(); len(ran) != 1 {
				t.Errorf("ran %q", ran)
			}
		})
	}
}

func TestAnOperationTakesTwoRequests(t *testing.T) {
	t.Parallel()
	var traced fakeunit.Trace
	hold := make(chan struct{})
	u := fakeunit.Backend("i1", hold, fakeunit.End{Stdout: "done"})
	u.Wrap = traced.Wrap
	app := newEngine(t, fakeunit.Containers{"backend": {u.Start(t, configured)}}, fleet.Options{})
	for range 2 {
		x, err := app.Start(t.Context(), startAPI)
		if err != nil {
			t.Fatal(err)
		}
		hold <- struct{}{}
		if x, err = app.Wait(t.Context(), x.ID); err != nil || x.Runs[0].Stdout != "done" {
			t.Errorf("got %+v, %v", x, err)
		}
		if got := traced.Take(x.ID); !slices.Equal(got, []string{"POST /executions", "GET /executions/ID"}) {
			t.Errorf("the unit was asked %q", got)
		}
	}
	u.Replace("i2", configured) // another container at the same address
	x, err := app.Start(t.Context(), startAPI)
	if err != nil {
		t.Fatal(err)
	}
	hold <- struct{}{}
	x, err = app.Wait(t.Context(), x.ID)
	if err != nil || x.Outcome != wire.OutcomeSucceeded || x.Runs[0].Instance != "i2" {
		t.Errorf("got %+v, %v", x, err)
	}
	twice := []string{"POST /executions", "POST /executions", "GET /executions/ID"} // where it was not yet known to be another
	if got := traced.Take(x.ID); !slices.Equal(got, twice) && !slices.Equal(got, twice[1:]) {
		t.Errorf("after the replacement the unit was asked %q", got)
	}
	if _, err := run(t, app, rest.RunRequest{Node: "backend", Component: "api", Operation: "configure"}); !errors.Is(err, rest.ErrNotAllowed) {
		t.Errorf("got %v", err)
	}
	if got := traced.Take(); !slices.Equal(got, []string{"POST /executions"}) {
		t.Errorf("for a refusal the unit was asked %q", got)
	}
}

func TestALongOperationIsPolled(t *testing.T) {
	t.Parallel()
	var traced fakeunit.Trace
	hold := make(chan struct{})
	u := fakeunit.Backend("i1", hold, fakeunit.End{})
	u.Wrap = traced.Wrap
	app := newEngine(t, fakeunit.Containers{"backend": {u.Start(t, configured)}}, fleet.Options{Poll: time.Millisecond})
	x, err := app.Start(t.Context(), startAPI)
	if err != nil {
		t.Fatal(err)
	}
	for asked := 0; asked < 4; { // the beginning, and then how it is
		asked += len(traced.Take())
		time.Sleep(time.Millisecond)
	}
	close(hold)
	if x, err = app.Wait(t.Context(), x.ID); err != nil || x.Outcome != wire.OutcomeSucceeded {
		t.Errorf("got %+v, %v", x, err)
	}
}

func TestAnInstanceIsNotReplacedByAnother(t *testing.T) {
	t.Parallel()
	u := fakeunit.Backend("i1", nil, fakeunit.End{})
	var replaced sync.Once
	u.Wrap = func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				replaced.Do(func() { u.Replace("i2", configured) })
			}
			next.ServeHTTP(w, r)
		})
	}
	app := newEngine(t, fakeunit.Containers{"backend": {u.Start(t, configured)}}, fleet.Options{})
	req := startAPI
	req.Replica = "i1"
	if _, err := run(t, app, req); !errors.Is(err, rest.ErrUnknownReplica) || len(u.Executed()) != 0 {
		t.Errorf("got %v, ran %q", err, u.Executed())
	}
}

func TestAContainerThatIsReplacedLosesItsExecution(t *testing.T) {
	t.Parallel()
	u := fakeunit.Backend("i1", make(chan struct{}), fakeunit.End{})
	app := newEngine(t, fakeunit.Containers{"backend": {u.Start(t, configured)}}, fleet.Options{})
	begun, err := app.Start(t.Context(), startAPI)
	if err != nil {
		t.Fatal(err)
	}
	u.Replace("i2", configured)
	x, err := app.Wait(t.Context(), begun.ID)
	if err != nil || x.Outcome != wire.OutcomeLost || !errors.Is(x.Err(), rest.ErrFailed) {
		t.Errorf("got %+v, %v", x, err)
	}
}

// startedByAnother returns an execution of api's start that a manager began, and another manager.
func startedByAnother(t *testing.T, found fakeunit.Containers) (id string, other *engine) {
	t.Helper()
	x, err := run(t, newEngine(t, found, fleet.Options{}), startAPI)
	if err != nil {
		t.Fatal(err)
	}
	return x.ID, newEngine(t, found, fleet.Options{Poll: 20 * time.Millisecond})
}

func TestUnitsKnowTheExecutionsOfAnotherManager(t *testing.T) {
	t.Parallel()
	u := fakeunit.Backend("i1", nil, fakeunit.End{Target: "started", Stdout: "up"})
	id, other := startedByAnother(t, fakeunit.Containers{"backend": {u.Start(t, configured)}})
	_, err := other.Execution(t.Context(), "nobody's", 0)
	if !errors.Is(err, rest.ErrUnreachable) { // frontend could know it
		t.Errorf("got %v", err)
	}
	known, err := other.Execution(t.Context(), id, 0)
	if err != nil || known.Outcome != wire.OutcomeSucceeded || known.Runs[0].Stdout != "up" || known.Node != "backend" || known.By != "ann" {
		t.Errorf("got %+v, %v", known, err)
	}
}

// TestAnExecutionIsKnownFromARemovedContainer: who began it may ask for it
// only then, as when both are replaced, one after the other.
func TestAnExecutionIsKnownFromARemovedContainer(t *testing.T) {
	t.Parallel()
	u, lasting := fakeunit.Backend("i1", nil, fakeunit.End{Target: "started", Stdout: "up"}), fakeunit.Backend("i3", nil, fakeunit.End{Target: "started"})
	id, other := startedByAnother(t, fakeunit.Containers{"backend": {u.Start(t, configured), lasting.Start(t, configured)}})
	next := other.Events("")
	for _, kind := range []string{"state", "vanished"} {
		for seen := false; !seen; {
			events, err := next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			seen = slices.ContainsFunc(events, func(e mirror.Event) bool { return e.Kind == kind && e.Instance == "i1" })
		}
		if kind == "state" {
			u.Replace("i2", configured)
		}
	}
	known, err := other.Execution(t.Context(), id, 0)
	h, failed := other.fleet.History(t.Context(), rest.HistoryQuery{Limit: 10, Output: true})
	if failed != nil || len(h.Executions) != 1 || len(h.Executions[0].Runs) != 2 || len(h.Missing) != 0 {
		t.Fatalf("the history: %+v, %v", h, failed)
	}
	for _, r := range h.Executions[0].Runs {
		if r.Removed.IsZero() == (r.Instance == "i1") {
			t.Errorf("the run in %s was removed at %v", r.Instance, r.Removed)
		}
	}
	if err != nil || known.Outcome != wire.OutcomeSucceeded || known.Node != "backend" || known.By != "ann" || len(known.Runs) != 2 {
		t.Errorf("got %+v, %v", known, err)
	}
}

func TestAClientThatDisconnectsCancelsNothing(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	u := fakeunit.Backend("i1", hold, fakeunit.End{Target: "started"})
	app := newEngine(t, fakeunit.Containers{"backend": {u.Start(t, configured)}}, fleet.Options{})
	client, hangUp := context.WithCancel(t.Context())
	x, err := app.Start(client, startAPI)
	if err != nil {
		t.Fatal(err)
	}
	hangUp()
	if _, err := app.Wait(client, x.ID); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	close(hold)
	if x, err = app.Wait(t.Context(), x.ID); err != nil || x.Outcome != wire.OutcomeSucceeded {
		t.Errorf("got %+v, %v", x, err)
	}
}

func TestCloseEndsWaits(t *testing.T) {
	t.Parallel()
	u := fakeunit.Backend("i1", make(chan struct{}), fakeunit.End{})
	app := newEngine(t, fakeunit.Containers{"backend": {u.Start(t, configured)}}, fleet.Options{})
	x, err := app.Start(t.Context(), startAPI)
	if err != nil {
		t.Fatal(err)
	}
	app.Close()
	if _, err := app.Wait(t.Context(), x.ID); !errors.Is(err, rest.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
}

func TestTheOldestExecutionsAreForgotten(t *testing.T) {
	t.Parallel()
	u := fakeunit.Backend("i1", nil, fakeunit.End{Target: "configured"})
	app := newEngine(t, fakeunit.Containers{"backend": {u.Start(t, configured)}}, fleet.Options{})
	var ids []string
	for range 4 {
		x, err := run(t, app, startAPI)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, x.ID)
	}
	if x, err := app.Execution(t.Context(), ids[0], 0); err != nil || x.Outcome != wire.OutcomeSucceeded { // the unit knows
		t.Errorf("got %+v, %v", x, err)
	}
}

// three returns an application with three replicas of the backend.
func three(t *testing.T, end fakeunit.End) (*engine, []*fakeunit.Unit) {
	t.Helper()
	found := fakeunit.Containers{}
	var units []*fakeunit.Unit
	for _, instance := range []string{"i1", "i2", "i3"} {
		u := fakeunit.Backend(instance, nil, end)
		units = append(units, u)
		found["backend"] = append(found["backend"], u.Start(t, configured))
	}
	return newEngine(t, found, fleet.Options{}), units
}

func TestARollingOperationRunsOnOneReplicaAfterTheOther(t *testing.T) {
	t.Parallel()
	app, units := three(t, fakeunit.End{Target: "started"})
	req := startAPI
	req.MaxUnavailable = 1
	x, err := run(t, app, req)
	if err != nil || len(x.Runs) != 3 {
		t.Fatalf("got %+v, %v", x, err)
	}
	slices.SortFunc(x.Runs, func(a, b rest.Run) int { return a.Started.Compare(b.Started) })
	for i, r := range x.Runs {
		if r.Outcome != wire.OutcomeSucceeded || i > 0 && r.Started.Before(x.Runs[i-1].Ended) {
			t.Errorf("%+v after %+v", r, x.Runs[max(0, i-1)])
		}
	}
	for _, u := range units {
		if len(u.Executed()) != 1 {
			t.Errorf("%s ran %q", u.Instance, u.Executed())
		}
	}
}

func TestARollingOperationStopsAfterAFailure(t *testing.T) {
	t.Parallel()
	app, units := three(t, fakeunit.End{Outcome: wire.OutcomeFailed, ExitCode: 7})
	req := startAPI
	req.MaxUnavailable = 2
	x, err := run(t, app, req)
	if !errors.Is(err, rest.ErrFailed) || !strings.Contains(err.Error(), "exit code 7") {
		t.Fatalf("got %+v, %v", x, err)
	}
	ran := 0
	for _, u := range units {
		ran += len(u.Executed())
	}
	i := slices.IndexFunc(x.Runs, func(r rest.Run) bool { return r.Outcome == rest.Refused })
	if ran != 2 || i != 2 || !strings.Contains(x.Runs[i].Reason, "not begun, because it did not succeed on replica 127.0.0.1:") {
		t.Errorf("%d ran, %+v", ran, x.Runs)
	}
}
