package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/go-chi/chi/v5"
	"github.com/google/go-cmp/cmp"

	"github.com/toskose/toskose/internal/leak"
	"github.com/toskose/toskose/manager"
	"github.com/toskose/toskose/manager/access"
	"github.com/toskose/toskose/manager/api"
	"github.com/toskose/toskose/manager/rest"
	"github.com/toskose/toskose/manager/series"
	"github.com/toskose/toskose/manager/users"
	"github.com/toskose/toskose/unit/wire"
)

func TestMain(m *testing.M) { leak.Main(m) }

// app is an application that does as the test says.
type app struct {
	err     error // of everything
	start   rest.RunRequest
	log     manager.LogRequest
	called  string
	outcome rest.Execution
	missing []manager.NotReady
	goal    *rest.Goal
	panics  bool
	rare    bool // goals are kept by one replica only
}

func (a *app) Goal() rest.Goal {
	if a.goal != nil {
		return *a.goal
	}
	return rest.Goal{State: "up"}
}

func (*app) GoalChanged() <-chan struct{} { return nil }

func (a *app) SetGoal(_ context.Context, req rest.GoalRequest) (rest.Goal, bool, error) {
	a.called = fmt.Sprint("goal ", req.State, req.States, req.Merge, req.By)
	return rest.Goal{State: req.State, Lacking: []string{"10.0.0.9"}}, !a.rare && req.State != "rare", a.err
}

func (a *app) RunTask(_ context.Context, task string, again bool, by string) (rest.Goal, bool, error) {
	a.called = fmt.Sprint("task ", task, " ", again, " ", by)
	return rest.Goal{}, !a.rare, a.err
}

func (a *app) ResumeGoal(_ context.Context, components []string, by string) (rest.Goal, bool, error) {
	a.called = fmt.Sprint("resume ", components, by)
	return rest.Goal{}, !a.rare, a.err
}

func (a *app) RestoreGoal(_ context.Context, g rest.SavedGoal, by string) (rest.Goal, bool, error) {
	a.called = fmt.Sprint("restore ", g.Revision, " ", g.State, " by ", by)
	return rest.Goal{}, !a.rare, a.err
}

func (a *app) Signing() manager.Signing { return manager.Signing{Keys: 1, Current: true} }

func (a *app) Plan(_ context.Context, req rest.GoalRequest) rest.Plan {
	a.called = fmt.Sprint("plan ", req.State)
	return rest.Plan{Targets: map[string]string{"api": "running"}}
}

func (a *app) Drawing() manager.Drawing { return manager.Drawing{Name: "thinking"} }

func (a *app) Series(from time.Time, wanted func(string) bool) series.Window {
	s := series.New()
	s.Add(time.Now(), []series.Value{{Component: "api", State: "running", Processes: 1, Memory: 1 << 20}})
	return s.Since(from, wanted)
}

func (a *app) App(context.Context, manager.Detail) rest.App {
	if a.panics {
		panic("the secret cause")
	}
	return rest.App{Name: "thinking"}
}

func (a *app) Nodes(_ context.Context, d manager.Detail) []rest.Node {
	if d == manager.WithProcesses {
		a.called = "processes"
	}
	return []rest.Node{{Name: "backend"}}
}

func (a *app) Node(_ context.Context, node string, _ manager.Detail) (rest.Node, error) {
	return rest.Node{Name: node}, a.err
}

func (a *app) Component(_ context.Context, node, component string, _ manager.Detail) (rest.Component, error) {
	return rest.Component{Name: component, Node: node}, a.err
}

func (a *app) Operation(_ context.Context, node, component, operation string, _ manager.Detail) (rest.Operation, error) {
	return rest.Operation{Node: node, Component: component, OperationModel: rest.OperationModel{Name: operation}}, a.err
}

func (a *app) Start(_ context.Context, req rest.RunRequest) (rest.Execution, error) {
	a.start = req
	return rest.Execution{ID: "x1", Outcome: wire.OutcomeRunning}, a.err
}

func (a *app) Wait(context.Context, string) (rest.Execution, error) { return a.outcome, a.err }

func (a *app) Execution(_ context.Context, id string, _ time.Duration) (rest.Execution, error) {
	return rest.Execution{ID: id}, a.err
}

func (a *app) Cancel(_ context.Context, id string) (rest.Execution, error) {
	a.called = "cancel " + id
	return rest.Execution{ID: id}, a.err
}

func (a *app) History(_ context.Context, q rest.HistoryQuery) (rest.History, error) {
	a.called = fmt.Sprintf("history %+v", q)
	return rest.History{}, a.err
}

func (a *app) did(what ...string) ([]rest.Result, error) {
	a.called = strings.Join(what, " ")
	return []rest.Result{{Node: "backend", Replica: "10.0.0.2:9001", Done: true}}, a.err
}

func (a *app) Stop(_ context.Context, node, component, operation, replica string) ([]rest.Result, error) {
	return a.did("stop", node, component, operation, replica)
}

func (a *app) StopAll(_ context.Context, node, replica string) ([]rest.Result, error) {
	return a.did("stopall", node, replica)
}

func (a *app) Signal(_ context.Context, node, component, operation, replica, signal string) ([]rest.Result, error) {
	return a.did("signal", node, component, operation, replica, signal)
}

func (a *app) Reload(context.Context) ([]rest.Result, error) { return a.did("reload") }

func (a *app) Drain(_ context.Context, node string, lease time.Duration) (rest.Drain, error) {
	a.called = "drain " + node + " " + lease.String()
	return rest.Drain{Node: node, Instances: []string{"i1"}, Underway: []rest.Busy{}, Empty: true}, a.err
}

func (a *app) EndDrain(node string) error {
	a.called = "end of drain " + node
	return a.err
}

func (a *app) Lease(_ context.Context, req rest.LeaseRequest) (rest.Lease, error) {
	a.called = fmt.Sprintf("lease %s%v%v", req.ID, req.Components, req.Seconds)
	return rest.Lease{ID: req.ID, Components: req.Components, Seconds: req.Seconds, Goal: true}, a.err
}

func (a *app) EndLease(_ context.Context, id string) error {
	a.called = "end of lease " + id
	return a.err
}

func (a *app) Log(_ context.Context, node, component, operation, replica string, req manager.LogRequest) ([]rest.Log, error) {
	a.log = req
	a.called = strings.Join([]string{"log", node, component, operation, replica}, " ")
	return []rest.Log{{Replica: "r1", Text: "one\n"}, {Replica: "r2", Text: "two\n"}}, a.err
}

func (a *app) UnitLog(_ context.Context, node, _ string, req manager.LogRequest) ([]rest.Log, error) {
	a.log, a.called = req, "unitlog "+node
	return []rest.Log{{Replica: "r1", Text: "unit"}}, a.err
}

func (a *app) ClearLog(_ context.Context, node, component, operation, replica string) ([]rest.Result, error) {
	return a.did("clear", node, component, operation, replica)
}

func (a *app) ClearUnitLog(_ context.Context, node, replica string) ([]rest.Result, error) {
	return a.did("clearunit", node, replica)
}

func (a *app) Lines(context.Context, rest.LogQuery) (manager.LineReader, error) {
	return noLines{}, a.err
}

// noLines has none.
type noLines struct{}

func (noLines) Next(context.Context) ([]rest.LogLine, error) { return nil, io.EOF }
func (noLines) Position() string                             { return "p" }
func (noLines) Close()                                       {}

func (a *app) Ready() ([]manager.NotReady, int) { return a.missing, 2 }

func (a *app) UnitCredentials(context.Context) []rest.UnitCredentials {
	return []rest.UnitCredentials{{Node: "backend", Replica: "10.0.0.1:9001", Passwords: 2, Known: 2, Accepted: true}}
}

// Events has two, and then no more.
func (a *app) Events(after string) func(context.Context) ([]manager.Event, error) {
	a.called = "events after " + after
	told := false
	return func(context.Context) ([]manager.Event, error) {
		if told {
			return nil, io.EOF
		}
		told = true
		return []manager.Event{{ID: "e:1", Kind: "state", Component: "api"}, {ID: "e:2", Kind: "gone", Component: "api"}}, nil
	}
}

// passwords is the file of users beside the first, by the passwords that they have.
var passwords = sync.OnceValue(func() string {
	var list users.List
	for _, role := range users.Roles {
		if err := list.Add(string(role)+"-1", role, "pw-of-"+string(role)); err != nil {
			panic(err)
		}
	}
	file, err := list.Encode()
	if err != nil {
		panic(err)
	}
	return string(file)
})

// everybody lets in "admin" with "pw", and a user of each role. Tests at which nobody
// fails share it: a password costs time once.
var everybody = sync.OnceValues(func() (*access.Gate, error) { return newGate(time.Now) })

func newGate(now func() time.Time) (*access.Gate, error) {
	return access.New(access.Options{
		First: "admin", Password: access.Always("pw"), Users: access.Always(passwords()), SecretKey: access.Always("key"), Now: now,
	})
}

func gate(t *testing.T) *access.Gate {
	t.Helper()
	g, err := everybody()
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// fresh is a gate at which nobody has failed yet.
func fresh(t *testing.T) *access.Gate {
	t.Helper()
	return timed(t, time.Now)
}

// unforgiving is fresh with a clock that stands still: no wrong password is forgiven while
// a slow machine looks at others.
func unforgiving(t *testing.T) *access.Gate {
	t.Helper()
	begun := time.Now()
	return timed(t, func() time.Time { return begun })
}

func timed(t *testing.T, now func() time.Time) *access.Gate {
	t.Helper()
	g, err := newGate(now)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func handler(t *testing.T, a *app) http.Handler { return behind(t, gate(t), a) }

func behind(t *testing.T, g *access.Gate, a *app) http.Handler {
	t.Helper()
	h, err := api.New(a, api.Options{Access: g, Version: "1.2.3", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// ask sends a request with the password; a header is given as "Name: value".
func ask(t *testing.T, h http.Handler, method, path, body string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, request(method, path, body, headers...))
	return w
}

func request(method, path, body string, headers ...string) *http.Request {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.SetBasicAuth("admin", "pw")
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		if name == "Authorization" {
			r.Header.Del(name)
		}
		r.Header.Add(name, value)
	}
	return r
}

const op = "/api/v1/node/backend/api/Standard.start"

func TestEveryRouteReachesWhatItIsFor(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		method, path string
		status       int
		called, says string
	}{
		{"GET", "/api/v1/app", 200, "", `"thinking"`},
		{"GET", "/api/v1/node", 200, "", `"backend"`},
		{"GET", "/api/v1/node/", 200, "", `"backend"`},
		{"GET", "/api/v1/node?processes=true", 200, "processes", `"backend"`},
		{"GET", "/api/v1/node?processes=all", 422, "", "invalid-request"},
		{"POST", "/api/v1/node/reload", 200, "reload", `"done": true`},
		{"PUT", "/api/v1/drains/backend", 200, "drain backend 30s", `"empty": true`},
		{"DELETE", "/api/v1/drains/backend", 200, "end of drain backend", `"node": "backend"`},
		{"PUT", "/api/v1/app/goal/leases/x", 200, "lease x[]30", `"goal": true`},
		{"DELETE", "/api/v1/app/goal/leases/x", 200, "end of lease x", `"id": "x"`},
		{"GET", "/api/v1/node/back%20end", 200, "", `"back end"`},
		{"GET", "/api/v1/node/a%2Fb", 200, "", `"a/b"`},
		{"DELETE", "/api/v1/node/backend/operations?replica=i1", 200, "stopall backend i1", ""},
		{"GET", "/api/v1/node/backend/log?tail=10", 200, "unitlog backend", `"unit"`},
		{"DELETE", "/api/v1/node/backend/log", 200, "clearunit backend ", ""},
		{"GET", "/api/v1/node/backend/api", 200, "", `"api"`},
		{"GET", op, 200, "", `"Standard.start"`},
		{"GET", op + "/", 200, "", `"Standard.start"`},
		{"HEAD", op, 200, "", ""},
		{"DELETE", op + "?replica=10.0.0.2", 200, "stop backend api Standard.start 10.0.0.2", `"done": true`},
		{"POST", op + "/signal?signal_type=HUP", 200, "signal backend api Standard.start  HUP", ""},
		{"GET", op + "/log?std_type=stderr", 200, "log backend api Standard.start ", `"two\n"`},
		{"DELETE", op + "/log", 200, "clear backend api Standard.start ", ""},
		{"GET", "/api/v1/executions/x9", 200, "", `"x9"`},
		{"DELETE", "/api/v1/executions/x9", 200, "cancel x9", `"x9"`},
		{"GET", "/api/v1/executions?node=backend&component=api&operation=start&by=jo&outcome=failed&limit=3&after=a.x&output=false", 200, "history {Node:backend Component:api Operation:start By:jo Outcome:failed Index:<nil> After:a.x Limit:3 Output:false}", ""},
		{"GET", "/api/v1/executions", 200, "history {Node: Component: Operation: By: Outcome: Index:<nil> After: Limit:50 Output:true}", ""},
		{"GET", "/api/v1/executions?outcome=odd", 422, "", "odd"},
		{"GET", "/api/v1/executions?limit=201", 422, "", "201"},
		{"GET", "/healthz", 200, "", "ok"},
		{"GET", "/readyz", 200, "", "ready"},
		{"GET", "/openapi.json", 200, "", "1.2.3"},
		{"GET", "/docs", 200, "", "swagger-ui"},
		{"GET", "/docs/", 200, "", "swagger-ui"},
		{"GET", "/docs/swagger-ui-bundle.js", 200, "", ""},
		{"GET", "/metrics", 200, "", `toskose_manager_build_info{version="1.2.3"} 1`},
		{"GET", "/api/v1/nothing", 404, "", "no-such-path"},
		{"GET", "/", 200, "", "<title>Toskose</title>"},
		{"GET", "/web/js/main.js", 200, "", "import"},
		{"GET", "/api/v1/session", 200, "", `"user": "admin"`},
		{"GET", "/api/v1/app/drawing", 200, "", `"thinking"`},
		{"GET", op + "/log?tail=many", 422, "", "invalid-request"},
		{"POST", op + "?force=yes", 422, "", "invalid-request"},
		{"PUT", op, 405, "", "method-not-allowed"},
		{"POST", "/healthz", 405, "", "method-not-allowed"},
	} {
		t.Run(c.method+" "+c.path, func(t *testing.T) {
			t.Parallel()
			a := &app{}
			w := ask(t, handler(t, a), c.method, c.path, "")
			if w.Code != c.status || a.called != c.called || !strings.Contains(w.Body.String(), c.says) {
				t.Errorf("got %d, called %q:\n%.600s", w.Code, a.called, w.Body)
			}
			if w.Code >= 400 && w.Header().Get("Content-Type") != "application/problem+json" {
				t.Errorf("got %v", w.Header())
			}
		})
	}
}

func TestGoalsAreReadFromTheBody(t *testing.T) {
	t.Parallel()
	const goal = "/api/v1/app/goal"
	for _, c := range []struct {
		method, path, body string
		status             int
		called, says       string
	}{
		{"GET", goal, "", 200, "", `"state": "up"`},
		{"PUT", goal, `{"state": "up"}`, 200, "goal upmap[] falseadmin", `"up"`},
		{"PUT", goal, `{"state": "rare"}`, 202, "goal raremap[] falseadmin", `10.0.0.9`},
		{"PATCH", goal, `{"states": {"api": "running"}}`, 200, "goal map[api:running] trueadmin", ""},
		{"PUT", goal, `{"staet": "up"}`, 422, "", "staet"},
		{"PUT", goal, `"up"`, 422, "", "invalid-request"},
		{"PUT", goal, `{"state": "up"} x`, 422, "", "goes on"},
		{"POST", goal + "/resume", "", 200, "resume []admin", ""},
		{"POST", goal + "/resume", `{"components": ["api"]}`, 200, "resume [api]admin", ""},
		{"POST", "/api/v1/app/tasks/load/run", "", 200, "task load false admin", ""},
		{"POST", "/api/v1/app/tasks/load/run", `{"again": true}`, 200, "task load true admin", ""},
		{"POST", "/api/v1/app/tasks/load/run", `{"once": true}`, 422, "", "once"},
		{"POST", "/api/v1/app/plan", `{"state": "down"}`, 200, "plan down", `"api": "running"`},
	} {
		t.Run(c.method+" "+c.path+" "+c.body, func(t *testing.T) {
			t.Parallel()
			a := &app{}
			w := ask(t, handler(t, a), c.method, c.path, c.body)
			if w.Code != c.status || a.called != c.called || !strings.Contains(w.Body.String(), c.says) {
				t.Errorf("got %d, called %q:\n%.600s", w.Code, a.called, w.Body)
			}
		})
	}
}

func TestWhatAPathHasIsSaidForAnotherMethod(t *testing.T) {
	t.Parallel()
	h := handler(t, &app{})
	for _, c := range []struct {
		method, path, allow string
		status              int
	}{
		{"PUT", op, "OPTIONS, GET, HEAD, POST, DELETE", 405},
		{"OPTIONS", op + "/", "OPTIONS, GET, HEAD, POST, DELETE", 204},
		{"GET", "/api/v1/node/backend/operations/x/signal", "OPTIONS, POST", 405},
		{"OPTIONS", "/healthz", "OPTIONS, GET, HEAD", 204},
		{"OPTIONS", "/api/v1/app/goal", "OPTIONS, GET, HEAD, PUT, PATCH", 204},
	} {
		w := ask(t, h, c.method, c.path, "")
		if w.Code != c.status || w.Header().Get("Allow") != c.allow {
			t.Errorf("%s %s: got %d, Allow %q", c.method, c.path, w.Code, w.Header().Get("Allow"))
		}
	}
}

func TestNobodyPassesWithoutThePassword(t *testing.T) {
	t.Parallel()
	h := behind(t, fresh(t), &app{})
	for _, path := range []string{"/api/v1/app", "/api/v1/nothing", "/metrics", op} {
		for _, credentials := range [][2]string{{}, {"admin", ""}, {"admin", "pw2"}, {"", "pw"}, {"Admin", "pw"}} {
			r := httptest.NewRequest("GET", path, nil)
			if credentials != [2]string{} {
				r.SetBasicAuth(credentials[0], credentials[1])
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != 401 || !strings.HasPrefix(w.Header().Get("WWW-Authenticate"), "Basic ") || !strings.Contains(w.Body.String(), "urn:toskose:problem:unauthorized") {
				t.Errorf("%s %v: got %d %v", path, credentials, w.Code, w.Header())
			}
		}
	}
}

func TestAPageOfAnotherSiteCannotAct(t *testing.T) {
	t.Parallel()
	a := &app{}
	w := ask(t, handler(t, a), "POST", op, "", "Sec-Fetch-Site: cross-site")
	if w.Code != 403 || a.start.Node != "" {
		t.Errorf("got %d, started %+v", w.Code, a.start)
	}
}

func TestRunWaitsUnlessAskedNotTo(t *testing.T) {
	t.Parallel()
	code := 0
	a := &app{outcome: rest.Execution{ID: "x1", Outcome: wire.OutcomeSucceeded, Runs: []rest.Run{{Outcome: wire.OutcomeSucceeded, Exit: wire.Exit{ExitCode: &code}}}}}
	h := handler(t, a)
	w := ask(t, h, "POST", op+"?replica=i1&force=true&strict=true&max_unavailable=2", `{"inputs": {"port": 8080, "debug": true, "name": "x"}, "timeout": 1.5}`)
	if w.Code != 200 || !strings.Contains(w.Body.String(), `"exit_code": 0`) {
		t.Errorf("got %d: %s", w.Code, w.Body)
	}
	in := a.start.Inputs
	if in["port"] != "8080" || in["debug"] != "true" || in["name"] != "x" || a.start.Timeout != 1.5 || a.start.By != "admin" || a.start.Replica != "i1" || !a.start.Force || !a.start.Strict || a.start.MaxUnavailable != 2 {
		t.Errorf("started %+v", a.start)
	}
	w = ask(t, h, "POST", op, "", "Prefer: handling=strict, respond-async; x=1")
	if w.Code != 202 || w.Header().Get("Location") != "/api/v1/executions/x1" || !strings.Contains(w.Body.String(), `"running"`) {
		t.Errorf("got %d %v: %s", w.Code, w.Header(), w.Body)
	}
}

// waiting is an application whose executions end when the test says.
type waiting struct {
	*app
	end chan struct{}
}

func (a *waiting) Wait(ctx context.Context, _ string) (rest.Execution, error) {
	select {
	case <-a.end:
		return rest.Execution{ID: "x1", Outcome: wire.OutcomeSucceeded}, nil
	case <-ctx.Done():
		return rest.Execution{ID: "x1", Outcome: wire.OutcomeRunning}, fmt.Errorf("it continues: %w", ctx.Err())
	}
}

func TestRunWaitsForAsLongAsIsPreferred(t *testing.T) {
	t.Parallel()
	everyone := fresh(t) // failures of others would lie in the future there
	synctest.Test(t, func(t *testing.T) {
		a := &waiting{app: &app{}, end: make(chan struct{})}
		h, err := api.New(a, api.Options{Access: everyone, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		w := ask(t, h, "POST", op, "", "Prefer: respond-async, wait=90")
		if passed := time.Since(begun); w.Code != 202 || passed != 90*time.Second || w.Header().Get("Preference-Applied") != "respond-async" {
			t.Errorf("got %d after %s", w.Code, passed)
		}
		time.AfterFunc(5*time.Second, func() { close(a.end) })
		w = ask(t, h, "POST", op, "", "Prefer: respond-async", "Prefer: wait=90")
		if passed := time.Since(begun); w.Code != 200 || passed != 95*time.Second || w.Header().Get("Preference-Applied") != "" {
			t.Errorf("got %d after %s", w.Code, passed)
		}
	})
}

func TestANullIsNoValue(t *testing.T) {
	t.Parallel()
	const goal = "/api/v1/app/goal"
	for _, c := range []struct {
		method, path, body string
		want               int
	}{
		{"PUT", goal, `{"states": {"api": null}}`, 422},
		{"PATCH", goal, `{"states": {"api": "up", "gui": null}}`, 422},
		{"POST", "/api/v1/app/plan", `{"states": {"api": null}}`, 422},
		{"POST", goal + "/resume", `{"components": ["api", null]}`, 422},
		{"POST", goal + "/resume", `{"components": null}`, 200},
		{"PUT", goal, `{"states": null, "state": "up"}`, 200},
	} {
		if w := ask(t, handler(t, &app{}), c.method, c.path, c.body); w.Code != c.want {
			t.Errorf("%s %s %s: %d %s", c.method, c.path, c.body, w.Code, w.Body)
		}
	}
}

func TestABadBodyIsRefused(t *testing.T) {
	t.Parallel()
	for body, status := range map[string]int{
		`{"inputs": `:                       422,
		`[]`:                                422,
		`{"input": {}}`:                     422,
		`{"inputs": {"a": null}}`:           422,
		`{"inputs": {"a": {}}}`:             422,
		`{} {}`:                             422,
		`{"timeout": -1}`:                   422,
		`{"timeout": "1"}`:                  422,
		strings.Repeat(" ", 300_000) + "{}": 413,
		"":                                  200,
		" \n":                               200,
		"null":                              200,
	} {
		a := &app{}
		w := ask(t, handler(t, a), "POST", op, body)
		if w.Code != status {
			t.Errorf("%.40q: got %d: %s", body, w.Code, w.Body)
		}
	}
}

func TestEveryKindOfErrorHasItsStatusAndType(t *testing.T) {
	t.Parallel()
	for kind, want := range map[error]string{
		rest.ErrUnknownNode: "404 unknown-node", rest.ErrUnknownComponent: "404 unknown-component",
		rest.ErrUnknownOperation: "404 unknown-operation", rest.ErrUnknownReplica: "404 unknown-replica",
		rest.ErrUnknownExecution: "404 unknown-execution", rest.ErrNoLog: "404 no-log",
		rest.ErrAmbiguous: "409 ambiguous-operation", rest.ErrStandalone: "409 standalone-node",
		rest.ErrJob:        "409 job-node",
		rest.ErrNotAllowed: "409 not-allowed", rest.ErrUnmet: "409 requirement-not-met", rest.ErrTakesAway: "409 required-by-others", rest.ErrOutdated: "409 outdated", rest.ErrBusy: "409 already-running", rest.ErrNotRunning: "409 not-running",
		rest.ErrInvalid: "422 invalid-request", rest.ErrReused: "422 id-reused", rest.ErrNotImplemented: "501 not-implemented",
		rest.ErrFailed: "502 operation-failed", rest.ErrBadAnswer: "502 bad-answer",
		rest.ErrUnreachable: "503 unreachable", rest.ErrUnavailable: "503 unavailable", rest.ErrTimeLimit: "504 time-limit",
		io.ErrNoProgress: "500 internal",
	} {
		a := &app{err: &rest.Error{Kind: kind, Detail: "a sentence", Suggestion: "backend"}}
		w := ask(t, handler(t, a), "GET", op, "")
		var p rest.Problem
		if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
			t.Fatal(err)
		}
		got := http.StatusText(w.Code) + p.Type
		status, name, _ := strings.Cut(want, " ")
		if p.Type != "urn:toskose:problem:"+name || status != itoa(w.Code) || p.Status != w.Code || p.Suggestion != "backend" || p.Instance != op {
			t.Errorf("%v: got %s: %+v", kind, got, p)
		}
	}
}

func itoa(n int) string { b, _ := json.Marshal(n); return string(b) }

func TestAFailedOperationSaysHow(t *testing.T) {
	t.Parallel()
	code := 7
	a := &app{outcome: rest.Execution{ID: "x1"}}
	a.outcome.Outcome, a.outcome.Runs = wire.OutcomeFailed, []rest.Run{{Replica: "r", Outcome: wire.OutcomeFailed, Exit: wire.Exit{ExitCode: &code}, Output: wire.Output{Stderr: "no port"}}}
	a.err = nil
	failing := &failed{app: a}
	h, err := api.New(failing, api.Options{Access: gate(t), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	w := ask(t, h, "POST", op, "")
	for _, says := range []string{`"exit_code": 7`, `"stderr": "no port"`, `"runs"`, `"execution": "x1"`, `"outcome": "failed"`} {
		if w.Code != 502 || !strings.Contains(w.Body.String(), says) {
			t.Errorf("got %d without %s: %s", w.Code, says, w.Body)
		}
	}
}

// failed is an application whose executions fail.
type failed struct{ *app }

func (f *failed) Wait(context.Context, string) (rest.Execution, error) {
	x := f.outcome
	return x, &rest.Error{Kind: rest.ErrFailed, Detail: "failed with exit code 7", Execution: &x}
}

func TestAPanicIsAnsweredAndTellsNothing(t *testing.T) {
	t.Parallel()
	w := ask(t, handler(t, &app{panics: true}), "GET", "/api/v1/app", "")
	if w.Code != 500 || strings.Contains(w.Body.String(), "secret") {
		t.Errorf("got %d: %s", w.Code, w.Body)
	}
}

func TestReadyNamesWhoIsNot(t *testing.T) {
	t.Parallel()
	w := ask(t, handler(t, &app{missing: []manager.NotReady{{Node: "frontend", Why: "10.0.0.3 is down"}}}), "GET", "/readyz", "")
	if w.Code != 503 || !strings.Contains(w.Body.String(), `"frontend"`) || strings.Contains(w.Body.String(), "10.0.0.3") {
		t.Errorf("got %d: %s", w.Code, w.Body)
	}
}

func TestLogsAsText(t *testing.T) {
	t.Parallel()
	a := &app{}
	w := ask(t, handler(t, a), "GET", op+"/log?offset=5&length=9", "", "Accept: text/plain")
	if w.Body.String() != "==> r1 <==\none\n==> r2 <==\ntwo\n" || *a.log.Offset != 5 || a.log.Length != 9 || a.log.Stream != wire.Stdout {
		t.Errorf("got %q, asked %+v", w.Body, a.log)
	}
}

func TestEventsAreAStream(t *testing.T) {
	t.Parallel()
	a := &app{}
	w := ask(t, handler(t, a), "GET", "/api/v1/events", "", "Last-Event-ID: e:0")
	want := "id: e:1\nevent: state\ndata: {"
	if w.Header().Get("Content-Type") != "text/event-stream" || !strings.Contains(w.Body.String(), want) || !strings.Contains(w.Body.String(), "\n\nid: e:2\n") {
		t.Errorf("got %v %s", w.Header(), w.Body)
	}
	if a.called != "events after e:0" {
		t.Errorf("%s were asked for", a.called)
	}
	if w := ask(t, handler(t, &app{}), "HEAD", "/api/v1/events", ""); w.Code != 200 {
		t.Errorf("got %d", w.Code)
	}
}

func TestTheDocumentAndTheRoutesAgree(t *testing.T) {
	t.Parallel()
	h := handler(t, &app{})
	document, err := openapi3.NewLoader().LoadFromData(ask(t, h, "GET", "/openapi.json", "").Body.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if err := document.Validate(t.Context()); err != nil {
		t.Fatal(err)
	}
	var documented, routed []string
	for path, item := range document.Paths.Map() {
		for method := range item.Operations() {
			documented = append(documented, method+" "+path)
		}
	}
	err = chi.Walk(h.(*api.Handler).Router(), func(method, route string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		if strings.HasPrefix(route, "/api/") || strings.Count(route, "/") == 1 && route != "/" && route != "/docs" {
			routed = append(routed, method+" "+route)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(documented)
	slices.Sort(routed)
	if !slices.Equal(documented, routed) {
		t.Errorf("documented:\n%s\nrouted:\n%s", strings.Join(documented, "\n"), strings.Join(routed, "\n"))
	}
}

// TestThePageOnTheAPIIsComplete compares docs/manager-api.md with the routes and
// with the kinds of problems.
func TestThePageOnTheAPIIsComplete(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.FromSlash("../../docs/manager-api.md"))
	if err != nil {
		t.Fatal(err)
	}
	known, listed := map[string]bool{}, map[string]bool{}
	for _, match := range regexp.MustCompile("(?m)^\\| `([A-Z]+ /[^`]*)` \\|").FindAllSubmatch(page, -1) {
		listed[string(match[1])] = true
	}
	h := handler(t, &app{})
	document, err := openapi3.NewLoader().LoadFromData(ask(t, h, "GET", "/openapi.json", "").Body.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	for path, item := range document.Paths.Map() {
		for method := range item.Operations() {
			known[method+" "+path] = true
		}
	}
	for _, row := range regexp.MustCompile("(?m)^\\| (`[a-z-]+`(?:, `[a-z-]+`)*) \\| ([0-9]+) \\|$").FindAllSubmatch(page, -1) {
		for name := range strings.SplitSeq(string(row[1]), ", ") {
			listed[strings.Trim(name, "`")+" "+string(row[2])] = true
		}
	}
	code, err := os.ReadFile(filepath.FromSlash("../../manager/api/problem.go"))
	if err != nil {
		t.Fatal(err)
	}
	status := map[string]int{}
	for code := 400; code < 600; code++ {
		status[strings.ReplaceAll(http.StatusText(code), " ", "")] = code
	}
	for _, match := range regexp.MustCompile(`http\.Status([A-Za-z]+), "([a-z-]+)"`).FindAllSubmatch(code, -1) {
		known[fmt.Sprintf("%s %d", match[2], status[string(match[1])])] = true
	}
	if diff := cmp.Diff(known, listed); diff != "" {
		t.Errorf("the manager (-) and docs/manager-api.md (+):\n%s", diff)
	}
}

func TestTheApplicationIsReadyWhenItIsAsItsGoalSays(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		goal rest.Goal
		want int
	}{
		{"reached", rest.Goal{State: "up", Acting: true, Done: true, Wanted: 3, Reached: 3}, http.StatusOK},
		{"under way", rest.Goal{State: "up", Acting: true, Wanted: 3, Reached: 2}, http.StatusServiceUnavailable},
		{"not known which holds", rest.Goal{Done: true, Wanted: 3, Reached: 3}, http.StatusServiceUnavailable},
		{"none", rest.Goal{Acting: true, Done: true}, http.StatusServiceUnavailable},
	} {
		a := &app{goal: &tt.goal, missing: []manager.NotReady{{Node: "secret-node"}}}
		request := httptest.NewRequest(http.MethodGet, "/readyz?goal=1", http.NoBody)
		answer := httptest.NewRecorder()
		handler(t, a).ServeHTTP(answer, request)
		if said := answer.Body.String(); answer.Code != tt.want || strings.Contains(said, "secret-node") || strings.Contains(said, "3") && tt.want == http.StatusOK {
			t.Errorf("%s: %d, want %d\n%s", tt.name, answer.Code, tt.want, said)
		}
	}
}

func TestMetricsCountRequestsByRoute(t *testing.T) {
	t.Parallel()
	h := handler(t, &app{outcome: rest.Execution{ID: "x1", Outcome: wire.OutcomeSucceeded}})
	ask(t, h, "POST", op, "")
	ask(t, h, "BREW", "/api/v1/x", "")
	ask(t, h, "GET", "/random/17", "")
	text := ask(t, h, "GET", "/metrics", "").Body.String()
	for _, line := range []string{
		`toskose_manager_requests_total{code="200",method="POST",route="/api/v1/node/{node}/{component}/{operation}"} 1`,
		`toskose_manager_requests_total{code="404",method="GET",route="unmatched"} 1`,
		`toskose_manager_request_duration_seconds_count{method="POST",route="/api/v1/node/{node}/{component}/{operation}"} 1`,
	} {
		if !strings.Contains(text, line) {
			t.Errorf("no %s in\n%s", line, text)
		}
	}
}
