package api_test

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/toskose/toskose/internal/fakeunit"
	"github.com/toskose/toskose/manager"
	"github.com/toskose/toskose/manager/api"
	"github.com/toskose/toskose/manager/rest"
	"github.com/toskose/toskose/manager/unitclient"
	"github.com/toskose/toskose/spec"
	"github.com/toskose/toskose/spec/protocol"
)

// live is an application of its own whose units are servers that tests can do with
// what they like: api on two containers of backend, gui on one of frontend, and
// store without a unit.
type live struct {
	http.Handler
	t        *testing.T
	app      *manager.App
	backends []*fakeunit.Unit
	frontend *fakeunit.Unit
	found    fakeunit.Containers
	task     bool // the application has one more component: the task load, on frontend
}

// enliven starts an application. start of api runs until hold is closed, and ends so.
func enliven(t *testing.T, hold <-chan struct{}, end fakeunit.End) *live {
	t.Helper()
	l := &live{t: t, found: fakeunit.Containers{"store": {netip.MustParseAddrPort("127.0.0.1:9")}}}
	for _, instance := range []string{"b1", "b2"} {
		u := fakeunit.Backend(instance, hold, end)
		l.backends = append(l.backends, u)
		l.found["backend"] = append(l.found["backend"], u.Start(t, map[string]string{"api": "configured"}))
	}
	l.frontend = &fakeunit.Unit{
		Instance: "f1", Labels: map[string]string{"host": "h2"},
		Operations: map[string]map[string]fakeunit.Operation{"gui": {"Standard.start": {From: []string{"configured"}, End: fakeunit.End{Target: "started"}}}},
	}
	l.found["frontend"] = []netip.AddrPort{l.frontend.Start(t, map[string]string{"gui": "configured"})}
	l.manage()
	return l
}

// manage gives the application a manager, in the place of the one before.
func (l *live) manage() {
	l.t.Helper()
	if l.app != nil {
		l.app.Close()
	}
	model := fakeunit.Thinking()
	if l.task {
		model.Components = append(model.Components, spec.Component{
			Name: "load", Type: "toskose.nodes.Task", Host: "frontend", Node: "frontend", Protocol: protocol.Task(),
			Interfaces: []spec.Interface{{Name: "Task", Operations: []spec.Operation{{Name: "run", Script: "run.sh"}}}},
			Task:       &spec.Task{Completions: 2, Parallelism: 1},
		})
	}
	app, err := manager.New(model, manager.Options{
		Containers: l.found, Passwords: fakeunit.PasswordOf, Patience: 100 * time.Millisecond, Backoff: time.Millisecond,
		Limits: unitclient.Limits{Call: time.Minute, Connect: time.Minute},
	})
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(app.Close)
	l.app = app
	if l.Handler, err = api.New(app, api.Options{Access: fresh(l.t), Version: "1.2.3", Logger: slog.New(slog.DiscardHandler)}); err != nil {
		l.t.Fatal(err)
	}
}

// ask sends a request, and holds the answer against the document.
func (l *live) ask(method, path, body string, headers ...string) *httptest.ResponseRecorder {
	l.t.Helper()
	r := request(method, path, body, headers...)
	w := httptest.NewRecorder()
	l.ServeHTTP(w, r)
	honour(l.t, l.Handler, r, w)
	return w
}

// calm waits until all is known, and the keeper of the goal has been told so.
func (l *live) calm() {
	l.t.Helper()
	for deadline := time.Now().Add(time.Minute); !read[rest.Goal](l, "/api/v1/app/goal").Acting; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			l.t.Fatal("the units are not heard")
		}
	}
}

// read asks for JSON, which has to be there.
func read[T any](l *live, path string, headers ...string) (value T) {
	l.t.Helper()
	w := l.ask("GET", path, "", headers...)
	if err := json.Unmarshal(w.Body.Bytes(), &value); err != nil || w.Code != 200 {
		l.t.Fatalf("GET %s: %d, %v\n%s", path, w.Code, err, w.Body)
	}
	return value
}

type named struct{ Name string }

func names(all []named) string {
	var text []string
	for _, n := range all {
		text = append(text, n.Name)
	}
	return strings.Join(text, " ")
}

func TestListsAreFiltered(t *testing.T) {
	t.Parallel()
	l := enliven(t, nil, fakeunit.End{Target: "started"})
	for path, want := range map[string]string{
		"/api/v1/node":                                          "backend frontend store",
		"/api/v1/node?state=running":                            "backend frontend store",
		"/api/v1/node?state=stopped":                            "",
		"/api/v1/node?node=frontend":                            "frontend",
		"/api/v1/node?label=host%3Dh1":                          "backend",
		"/api/v1/node?label=host%3Dh1&label=slot%3D1":           "",
		"/api/v1/node?type=tosker.nodes.Other":                  "",
		"/api/v1/components":                                    "api gui",
		"/api/v1/components?state=configured":                   "api gui",
		"/api/v1/components?state=configured&label=host%3Dh2":   "gui",
		"/api/v1/components?type=thinking.Api&state=configured": "api",
		"/api/v1/components?state=started":                      "",
		"/api/v1/components?node=frontend":                      "gui",
		"/api/v1/components?node=nowhere":                       "",
	} {
		if got := names(read[[]named](l, path)); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	for _, path := range []string{"node?label=host", "components?label=%3Dx", "node?limit=0", "components?limit=1001", "node?after=nowhere", "components?limit=x"} {
		if w := l.ask("GET", "/api/v1/"+path, ""); w.Code != 422 {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

func TestListsHavePages(t *testing.T) {
	t.Parallel()
	l := enliven(t, nil, fakeunit.End{Target: "started"})
	for path, want := range map[string]string{
		"/api/v1/node?limit=1":                         "backend|frontend|store",
		"/api/v1/node?limit=2":                         "backend frontend|store",
		"/api/v1/node?limit=3":                         "backend frontend store",
		"/api/v1/components?limit=1&state=configured":  "api|gui",
		"/api/v1/components/?limit=1&label=host%3Dh2":  "gui",
		"/api/v1/node?limit=1&label=host%3Dh1&after=":  "backend",
		"/api/v1/components?limit=1000&state=whatever": "",
	} {
		var pages []string
		for next := path; next != ""; {
			w := l.ask("GET", next, "")
			var part []named
			if err := json.Unmarshal(w.Body.Bytes(), &part); err != nil {
				t.Fatalf("%s: %v: %s", next, err, w.Body)
			}
			pages = append(pages, names(part))
			next, _ = strings.CutSuffix(strings.TrimPrefix(w.Header().Get("Link"), "<"), `>; rel="next"`)
		}
		if got := strings.Join(pages, "|"); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

func TestWhatIsKnownAlreadyIsNotSentAgain(t *testing.T) {
	t.Parallel()
	l := enliven(t, nil, fakeunit.End{Target: "started"})
	l.calm()
	for _, path := range []string{"/api/v1/app", "/api/v1/node", "/api/v1/components", "/api/v1/node/backend/api", "/api/v1/app/goal", op, "/healthz", op + "/log"} {
		first := l.ask("GET", path, "")
		tag := first.Header().Get("ETag")
		if first.Code != 200 || len(tag) < 10 {
			t.Fatalf("%s: %d, ETag %q", path, first.Code, tag)
		}
		for _, condition := range []string{tag, "W/" + tag, `"x", ` + tag, "*"} {
			w := l.ask("GET", path, "", "If-None-Match: "+condition)
			if w.Code != 304 || w.Body.Len() != 0 || w.Header().Get("ETag") != tag {
				t.Errorf("%s: %s: %d, ETag %q, %d bytes", path, condition, w.Code, w.Header().Get("ETag"), w.Body.Len())
			}
		}
		if w := l.ask("GET", path, "", `If-None-Match: "another"`); w.Code != 200 {
			t.Errorf("%s: %d", path, w.Code)
		}
		if w := l.ask("HEAD", path, ""); w.Code != 200 || w.Header().Get("ETag") != tag || w.Header().Get("Content-Length") != first.Header().Get("Content-Length") {
			t.Errorf("HEAD %s: %d %v", path, w.Code, w.Header())
		}
	}
	before := l.ask("GET", "/api/v1/app", "").Header().Get("ETag")
	if w := l.ask("POST", op, ""); w.Code != 200 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	if w := l.ask("GET", "/api/v1/app", "", "If-None-Match: "+before); w.Code != 200 || w.Header().Get("ETag") == before {
		t.Errorf("after a change: %d", w.Code)
	}
}

type eventsPage struct {
	Events []struct{ ID, Kind, Node, Component, State string }
	Next   string
}

func TestEventsHavePages(t *testing.T) {
	t.Parallel()
	l := enliven(t, nil, fakeunit.End{Target: "started"})
	l.ask("GET", "/api/v1/app", "") // once all is known
	const json = "Accept: application/json"
	states := read[eventsPage](l, "/api/v1/events?limit=1", json)
	if len(states.Events) != 3 || states.Next == "" || states.Events[0].Kind != "state" {
		t.Fatalf("the states are %+v", states)
	}
	if w := l.ask("POST", op, ""); w.Code != 200 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	kinds := map[string]int{}
	for next := states.Next; ; {
		page := read[eventsPage](l, "/api/v1/events?limit=1&after="+next, json)
		if len(page.Events) == 0 {
			break
		}
		if len(page.Events) > 1 || page.Next == next {
			t.Fatalf("a page is %+v", page)
		}
		kinds[page.Events[0].Kind+" "+page.Events[0].Component]++
		next = page.Next
	}
	if kinds["start api"] != 2 || kinds["exit api"] != 2 || len(kinds) != 2 {
		t.Errorf("events are %v", kinds)
	}
	page := read[eventsPage](l, "/api/v1/events?kind=exit&kind=gone&node=backend&component=api&after="+states.Next, json)
	if len(page.Events) != 2 || page.Events[1].Kind != "exit" || page.Events[1].State != "started" {
		t.Errorf("filtered they are %+v", page)
	}
	if page = read[eventsPage](l, "/api/v1/events?node=frontend&after="+states.Next, json); len(page.Events) != 0 || page.Next == states.Next {
		t.Errorf("of another node they are %+v", page)
	}
	if page = read[eventsPage](l, "/api/v1/events", json, "Last-Event-ID: old:7"); len(page.Events) != 4 || page.Events[0].Kind != "missing" {
		t.Errorf("after what is not known they are %+v", page)
	}
	for _, bad := range []string{"wait=-1", "wait=61", "wait=NaN", "limit=x"} {
		if w := l.ask("GET", "/api/v1/events?"+bad, "", json); w.Code != 422 {
			t.Errorf("%s: %d", bad, w.Code)
		}
	}
}

// TestAPageOfEventsIsWaitedFor ends at once if the page comes with the event, and
// after a minute if it does not.
func TestAPageOfEventsIsWaitedFor(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	l := enliven(t, hold, fakeunit.End{Target: "started"})
	l.ask("GET", "/api/v1/app", "")
	const json = "Accept: application/json"
	if w := l.ask("POST", op, "", "Prefer: respond-async"); w.Code != 202 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	seen := read[eventsPage](l, "/api/v1/events", json).Next
	got := make(chan string)
	go func() { got <- l.ask("GET", "/api/v1/events?wait=60&after="+seen, "", json).Body.String() }()
	close(hold)
	if page := <-got; !strings.Contains(page, `"kind": "exit"`) {
		t.Errorf("what was waited for is %s", page)
	}
}
