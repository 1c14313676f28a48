package manager_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/toskose/toskose/internal/fakeunit"
	"github.com/toskose/toskose/internal/testunit"
	"github.com/toskose/toskose/manager"
	"github.com/toskose/toskose/manager/rest"
	"github.com/toskose/toskose/unit/wire"
)

// realUnit runs the unit's own binary with one component.
func realUnit(t *testing.T) netip.AddrPort {
	t.Helper()
	return testunit.Run(t, fakeunit.Password, testunit.API).Addr
}

// TestTheHistoryHasTheEndOfOutputOfAUnitAndAManagerThatWereLost kills the unit after
// more output than fits in one piece of its journal, and has another manager ask.
func TestTheHistoryHasTheEndOfOutputOfAUnitAndAManagerThatWereLost(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and runs the unit")
	}
	t.Parallel()
	const many, long = 40, 10_000
	u := testunit.Run(t, fakeunit.Password, testunit.API)
	by := func() *manager.App {
		return application(t, fakeunit.Containers{"backend": {u.Addr}, "frontend": nil}, manager.Options{Settle: time.Minute})
	}
	app := by()
	for i := range many {
		x, err := run(t, app, rest.RunRequest{
			Node: "backend", Component: "api", Operation: "configure", ID: fmt.Sprint("x", i),
			Inputs: map[string]string{"code": "7", "port": fmt.Sprintf("%d%s", i, strings.Repeat("\n€<&>", i%2*long))},
		})
		if !errors.Is(err, rest.ErrFailed) || x.Runs[0].Truncated != (i%2 == 1) {
			t.Fatalf("configure: %+v, %v", x, err)
		}
	}
	app.Close()
	u.Crash()
	after := by()
	page, err := after.History(t.Context(), rest.HistoryQuery{Limit: 100, Output: true})
	if err != nil || len(page.Executions) != many || page.Missing != nil {
		t.Fatalf("history: %d executions, missing %v, %v", len(page.Executions), page.Missing, err)
	}
	for j, x := range page.Executions {
		i := many - 1 - j
		end, r := fmt.Sprintf("on port %d\n", i), x.Runs[0]
		if i%2 == 1 {
			end = "€<&>\n"
		}
		if x.ID != fmt.Sprint("x", i) || r.Stdout != "configured\n" || !strings.HasSuffix(r.Stderr, end) || r.Truncated != (i%2 == 1) {
			t.Errorf("%s has %q and %d bytes that end with %q, truncated: %v", x.ID, r.Stdout, len(r.Stderr), r.Stderr[max(0, len(r.Stderr)-20):], r.Truncated)
		}
		if one, err := after.Execution(t.Context(), x.ID, 0); err != nil || one.Runs[0].Output != r.Output {
			t.Errorf("%s by itself: %+v, %v", x.ID, one, err)
		}
	}
	again, err := run(t, after, rest.RunRequest{
		Node: "backend", Component: "api", Operation: "configure", ID: "x0", Inputs: map[string]string{"code": "7", "port": "0"},
	})
	if !errors.Is(err, rest.ErrFailed) || again.Runs[0].Stderr != "on port 0\n" {
		t.Errorf("asked for again: %+v, %v", again, err)
	}
}

// awaitLog gives what start has written, once it has: it has succeeded as soon
// as it runs.
func awaitLog(t *testing.T, app *manager.App) []rest.Log {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		logs, err := app.Log(t.Context(), "backend", "api", "Standard.start", "", manager.LogRequest{Stream: wire.Stdout})
		if err == nil && logs[0].Text != "" {
			return logs
		}
		if time.Now().After(deadline) {
			t.Fatalf("start has written nothing: got %+v, %v", logs, err)
		}
	}
}

// before puts a server in front of a unit, and returns its address.
func before(test *testing.T, t *fakeunit.Trace, addr netip.AddrPort) netip.AddrPort {
	test.Helper()
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: addr.String()})
	transport := &http.Transport{}
	proxy.Transport = transport
	srv := httptest.NewServer(t.Wrap(proxy))
	test.Cleanup(func() { srv.CloseClientConnections(); srv.Close(); transport.CloseIdleConnections() })
	return netip.MustParseAddrPort(srv.Listener.Addr().String())
}

func TestWithARealUnit(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and runs the unit")
	}
	t.Parallel()
	var traced fakeunit.Trace
	app := application(t, fakeunit.Containers{"backend": {before(t, &traced, realUnit(t))}}, manager.Options{})
	do := func(operation string, inputs map[string]string) (rest.Execution, error) {
		return run(t, app, rest.RunRequest{Node: "backend", Component: "api", Operation: operation, Inputs: inputs, By: "ann"})
	}

	if _, err := do("Standard.start", nil); !errors.Is(err, rest.ErrNotAllowed) || !strings.Contains(err.Error(), `"created"`) {
		t.Errorf("start before configure: got %v", err)
	}
	x, err := do("configure", map[string]string{"port": "8080", "code": "7"})
	if !errors.Is(err, rest.ErrFailed) || x.Runs[0].ExitCode == nil || *x.Runs[0].ExitCode != 7 || x.Runs[0].Stderr != "on port 8080\n" {
		t.Errorf("configure that fails: got %+v, %v", x, err)
	}
	traced.Take()
	if x, err = do("configure", nil); err != nil || x.Runs[0].To != "configured" || x.Runs[0].Stdout != "configured\n" {
		t.Fatalf("configure: got %+v, %v", x, err)
	}
	if got := traced.Take(x.ID); !slices.Equal(got, []string{"POST /executions", "GET /executions/ID"}) {
		t.Errorf("for an operation the unit was asked %q", got)
	}
	if x, err = do("Standard.start", nil); err != nil || x.Runs[0].To != "started" {
		t.Fatalf("start: got %+v, %v", x, err)
	}
	c, err := app.Component(t.Context(), "backend", "api", manager.WithProcesses)
	if err != nil || c.State != "started" || len(c.Replicas[0].Processes) != 1 {
		t.Errorf("got %+v, %v", c, err)
	}
	view, err := app.Operation(t.Context(), "backend", "api", "Standard.start", manager.WithProcesses)
	if err != nil || !view.Running || view.Replicas[0].Process.PID == 0 {
		t.Errorf("got %+v, %v", view, err)
	}
	logs := awaitLog(t, app)
	if logs[0].Text != "up\n" || logs[0].Offset != 3 {
		t.Errorf("got %+v", logs)
	}
	if logs, err := app.UnitLog(t.Context(), "backend", "", manager.LogRequest{}); err != nil || logs[0].Text == "" {
		t.Errorf("got %+v, %v", logs, err)
	}
	if _, err := app.Stop(t.Context(), "backend", "api", "Standard.start", ""); err != nil {
		t.Errorf("stop: %v", err)
	}
	if _, err := app.Stop(t.Context(), "backend", "api", "Standard.start", ""); !errors.Is(err, rest.ErrNotRunning) {
		t.Errorf("stop of what does not run: got %v", err)
	}
	if c, err = app.Component(t.Context(), "backend", "api", manager.WithProcesses); err != nil || c.State != "configured" {
		t.Errorf("after the stop: got %+v, %v", c, err)
	}
	if _, err := app.Execution(t.Context(), "nobody's", 0); !errors.Is(err, rest.ErrUnreachable) { // frontend is not there
		t.Errorf("got %v", err)
	}
	if _, err := app.StopAll(t.Context(), "backend", ""); err != nil {
		t.Errorf("stop all: %v", err)
	}
	if results, err := app.Reload(t.Context()); err == nil || len(results) == 0 || !results[0].Done {
		t.Errorf("got %+v, %v; of two nodes only the first is there", results, err)
	}
}

// TestARealUnitKnowsWhatWasExecuted has each step done by a manager of its own, which
// knows of the ones before only what the unit does.
func TestARealUnitKnowsWhatWasExecuted(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and runs the unit")
	}
	t.Parallel()
	addr := realUnit(t)
	by := func() *manager.App {
		return application(t, fakeunit.Containers{"backend": {addr}, "frontend": nil}, manager.Options{Settle: time.Minute})
	}
	req := rest.RunRequest{
		Node: "backend", Component: "api", Operation: "Standard.configure", By: "ann", Key: "k1", Inputs: map[string]string{"port": "8080"},
	}
	first, err := run(t, by(), req)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := run(t, by(), rest.RunRequest{Node: "backend", Component: "api", Operation: "Standard.start", By: "ann", ID: "up"}); err != nil {
		t.Fatal(err)
	}
	again, err := run(t, by(), req) // which its state no longer allows
	if err != nil || again.ID != first.ID || again.Runs[0].Stderr != "on port 8080\n" || !again.Runs[0].Started.Equal(first.Runs[0].Started) {
		t.Errorf("again: %+v, %v", again, err)
	}
	for _, other := range []rest.RunRequest{
		{Node: "backend", Component: "api", Operation: "Standard.configure", By: "ann", Key: "k1", Inputs: map[string]string{"port": "8081"}},
		{Node: "backend", Component: "api", Operation: "Standard.stop", By: "ann", Key: "k1"},
		{Node: "backend", Component: "api", Operation: "Standard.stop", ID: "up"},
	} {
		if _, err := run(t, by(), other); !errors.Is(err, rest.ErrReused) {
			t.Errorf("%+v: %v", other, err)
		}
	}
	page, err := by().History(t.Context(), rest.HistoryQuery{Limit: 10, Output: true})
	if err != nil || len(page.Executions) != 2 || page.Next != "" || page.Missing != nil {
		t.Fatalf("history: %+v, %v", page, err)
	}
	if x := page.Executions[1]; x.ID != first.ID || x.By != "ann" || x.Runs[0].Stderr != "on port 8080\n" || x.Runs[0].To != "configured" || *x.Runs[0].ExitCode != 0 {
		t.Errorf("the first is %+v", x)
	}
	if x, err := by().Cancel(t.Context(), "up"); !errors.Is(err, rest.ErrNotRunning) || x.Outcome != wire.OutcomeSucceeded {
		t.Errorf("cancelled: %+v, %v", x, err)
	}
	for i := range 30 { // more than the mirror remembers: the journal is read
		app, code := by(), strconv.Itoa(i%2)
		if _, err := app.Stop(t.Context(), "backend", "api", "Standard.start", ""); i == 0 && err != nil {
			t.Fatal(err)
		}
		_, err := run(t, app, rest.RunRequest{
			Node: "backend", Component: "api", Operation: "Standard.start", ID: fmt.Sprintf("n%d", i), Inputs: nil, By: code,
		})
		if err != nil {
			t.Fatal(err)
		}
		app.Close()
	}
	var all []string
	for q := (rest.HistoryQuery{Limit: 4, By: "0"}); ; q.After = page.Next {
		if page, err = by().History(t.Context(), q); err != nil {
			t.Fatal(err)
		}
		for _, x := range page.Executions {
			all = append(all, x.ID)
		}
		if page.Next == "" {
			break
		}
	}
	if len(all) != 15 || all[0] != "n28" || all[14] != "n0" {
		t.Errorf("the history has %v", all)
	}
}
