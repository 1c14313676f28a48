package api_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/toskose/toskose/internal/fakeunit"
)

// tried notes which documented answers requests were given: "METHOD /path STATUS".
type tried map[string]bool

func (all tried) ask(t *testing.T, h http.Handler, method, path, body string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	return all.send(t, h, request(method, path, body, headers...))
}

func (all tried) send(t *testing.T, h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	honour(t, h, r, w)
	all[fmt.Sprintf("%s %s %d", r.Method, pattern(h, r.Method, r.URL.EscapedPath()), w.Code)] = true
	return w
}

// missing are the documented successes, redirections and mistakes of clients that no
// request was given.
func (all tried) missing(t *testing.T) (missing []string) {
	for path, item := range document(t).Paths.Map() {
		for method, operation := range item.Operations() {
			for status := range operation.Responses.Map() {
				answer := fmt.Sprintf("%s %s %s", method, path, status)
				if status < "500" && !all[answer] {
					missing = append(missing, answer)
				}
			}
		}
	}
	return missing
}

// example is a request for each operation of the document.
func example(path string) string {
	return strings.NewReplacer("{node}", "backend", "{component}", "api", "{operation}", "Standard.start", "{execution}", "x1").Replace(path)
}

const (
	asJSON   = "Accept: application/json"
	nowhere  = "/api/v1/node/nowhere"
	store    = "/api/v1/node/store"
	bareName = "/api/v1/node/backend/api/start" // of two interfaces
	restored = `{"revision": "99:x", "asked": "99:x", "state": "none"}`
)

func TestEveryDocumentedAnswerIsReached(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	l := enliven(t, hold, fakeunit.End{Target: "started"})
	l.task = true
	l.manage()
	l.calm()
	reached := tried{}
	running := execution(t, reached.ask(t, l.Handler, "POST", op, `{"id": "x1"}`, "Prefer: respond-async")).ID
	for _, c := range []struct {
		method, path, body string
		want               int
	}{
		{"POST", "/api/v1/tokens", "", 201},
		{"POST", "/api/v1/session", "", 201},
		{"GET", "/api/v1/session", "", 200},
		{"DELETE", "/api/v1/session", "", 200},
		{"GET", "/api/v1/app/drawing", "", 200},
		{"GET", "/api/v1/app", "", 200},
		{"GET", "/api/v1/app?processes=2", "", 422},
		{"GET", "/api/v1/app/goal", "", 200},
		{"PUT", "/api/v1/app/goal", `{"state": "none"}`, 200},
		{"PUT", "/api/v1/app/goal", "{}", 422},
		{"PATCH", "/api/v1/app/goal", `{"states": {"api": "none"}}`, 200},
		{"PATCH", "/api/v1/app/goal", "[", 422},
		{"PUT", "/api/v1/app/goal/leases/x", `{"components": ["api"], "seconds": 2}`, 200},
		{"PUT", "/api/v1/app/goal/leases/x", `{"components": ["api"], "seconds": 0}`, 422},
		{"PUT", "/api/v1/app/goal/leases/x", `{"components": ["nothing"]}`, 422},
		{"DELETE", "/api/v1/app/goal/leases/x", "", 200},
		{"DELETE", "/api/v1/app/goal/leases/" + strings.Repeat("x", 65), "", 422},
		{"POST", "/api/v1/app/goal/resume", "", 200},
		{"POST", "/api/v1/app/goal/resume", `{"components": ["api"]}`, 422},
		{"POST", "/api/v1/app/goal/restore", restored, 200},
		{"POST", "/api/v1/app/goal/restore", "x", 422},
		{"POST", "/api/v1/app/tasks/load/run", `{"again": true}`, 200},
		{"POST", "/api/v1/app/tasks/nothing/run", "", 404},
		{"POST", "/api/v1/app/tasks/api/run", "", 422},
		{"POST", "/api/v1/app/plan", `{"state": "up"}`, 200},
		{"POST", "/api/v1/app/plan", "x", 422},
		{"GET", "/api/v1/components", "", 200},
		{"GET", "/api/v1/components?limit=0", "", 422},
		{"GET", "/api/v1/series?since=60&component=api", "", 200},
		{"GET", "/api/v1/series?since=0", "", 422},
		{"GET", "/api/v1/credentials", "", 200},
		{"PUT", "/api/v1/drains/backend", `{"seconds": 1.5}`, 200},
		{"DELETE", "/api/v1/drains/backend", "", 200},
		{"PUT", "/api/v1/drains/backend", `{"seconds": 0}`, 422},
		{"PUT", "/api/v1/drains/nowhere", "", 404},
		{"DELETE", "/api/v1/drains/nowhere", "", 404},
		{"PUT", "/api/v1/drains/store", "", 409},
		{"DELETE", "/api/v1/drains/store", "", 409},
		{"GET", "/api/v1/events", "", 200},
		{"GET", "/api/v1/events?limit=0", "", 422},
		{"GET", "/api/v1/executions", "", 200},
		{"GET", "/api/v1/executions?node=nowhere", "", 404},
		{"GET", "/api/v1/executions?after=x", "", 422},
		{"GET", "/api/v1/executions/" + running, "", 200},
		{"GET", "/api/v1/executions/nobody", "", 404},
		{"GET", "/api/v1/executions/" + running + "?wait=x", "", 422},
		{"DELETE", "/api/v1/executions/nobody", "", 404},
		{"GET", "/api/v1/logs", "", 200},
		{"GET", "/api/v1/logs?of=nowhere", "", 404},
		{"GET", "/api/v1/logs?of=store", "", 409},
		{"GET", "/api/v1/logs?limit=0", "", 422},
		{"GET", "/api/v1/node", "", 200},
		{"GET", "/api/v1/node?label=x", "", 422},
		{"POST", "/api/v1/node/reload", "", 200},
		{"GET", "/api/v1/node/backend?processes=true", "", 200},
		{"GET", nowhere, "", 404},
		{"GET", "/api/v1/node/backend?processes=x", "", 422},
		{"DELETE", nowhere + "/operations", "", 404},
		{"DELETE", store + "/operations", "", 409},
		{"GET", "/api/v1/node/backend/log", "", 200},
		{"GET", nowhere + "/log", "", 404},
		{"GET", store + "/log", "", 409},
		{"GET", "/api/v1/node/backend/log?tail=x", "", 422},
		{"DELETE", "/api/v1/node/backend/log", "", 200},
		{"DELETE", nowhere + "/log", "", 404},
		{"DELETE", store + "/log", "", 409},
		{"GET", "/api/v1/node/backend/api", "", 200},
		{"GET", "/api/v1/node/backend/gui", "", 404},
		{"GET", "/api/v1/node/backend/api?processes=x", "", 422},
		{"GET", op + "?processes=true", "", 200},
		{"GET", "/api/v1/node/backend/api/fly", "", 404},
		{"GET", bareName, "", 409},
		{"GET", op + "?processes=x", "", 422},
		{"POST", "/api/v1/node/backend/api/fly", "", 404},
		{"POST", op, "", 409},
		{"POST", op, `{"id": "?"}`, 422},
		{"POST", op + "/signal?signal_type=HUP", "", 200},
		{"POST", "/api/v1/node/backend/api/fly/signal?signal_type=HUP", "", 404},
		{"POST", push + "/signal?signal_type=HUP", "", 409},
		{"POST", op + "/signal?signal_type=HOP", "", 422},
		{"GET", op + "/log", "", 200},
		{"GET", "/api/v1/node/backend/api/fly/log", "", 404},
		{"GET", bareName + "/log", "", 409},
		{"GET", op + "/log?tail=-1", "", 422},
		{"DELETE", op + "/log", "", 200},
		{"DELETE", "/api/v1/node/backend/api/fly/log", "", 404},
		{"DELETE", bareName + "/log", "", 409},
		{"GET", "/healthz", "", 200},
		{"GET", "/readyz", "", 200},
		{"GET", "/readyz?goal=x", "", 422},
		{"GET", "/metrics", "", 200},
		{"GET", "/openapi.json", "", 200},
		{"DELETE", "/api/v1/executions/" + running, "", 200},
		{"DELETE", "/api/v1/executions/" + running, "", 409},
		{"DELETE", "/api/v1/node/backend/api/fly", "", 404},
		{"DELETE", op, "", 409},
		{"POST", push, "", 200},
	} {
		w := reached.ask(t, l.Handler, c.method, c.path, c.body, asJSON)
		for tries := 0; w.Code == 202 && c.want == 200 && tries < 20; tries++ { // the units are slow today
			w = reached.ask(t, l.Handler, c.method, c.path, c.body, asJSON)
		}
		if w.Code != c.want {
			t.Errorf("%s %s %.40s: %d, want %d\n%.600s", c.method, c.path, c.body, w.Code, c.want, w.Body)
		}
		unchanged := w.Code
		for tries := 0; unchanged == 200 && c.method == "GET" && w.Header().Get("ETag") != "" && tries < 100; tries++ {
			w = reached.ask(t, l.Handler, c.method, c.path, c.body, asJSON, "If-None-Match: "+w.Header().Get("ETag"))
			unchanged = w.Code // 200: it has changed meanwhile
		}
	}
	if w := reached.ask(t, l.Handler, "POST", "/api/v1/node/reload", "", "Idempotency-Key: "); w.Code != 422 {
		t.Errorf("with an empty key: %d", w.Code)
	}
	stopped(t, l, reached)
	close(hold)
	notKept(t, reached)
	notLetIn(t, l, reached)
	if missing := reached.missing(t); len(missing) > 0 {
		t.Errorf("nothing was answered by\n%s", strings.Join(missing, "\n"))
	}
}

// stopped stops what runs by the operation, and by the node.
func stopped(t *testing.T, l *live, reached tried) {
	t.Helper()
	for _, path := range []string{op, "/api/v1/node/backend/operations"} {
		execution(t, l.ask("POST", op, "", "Prefer: respond-async"))
		if w := reached.ask(t, l.Handler, "DELETE", path, ""); w.Code != 200 {
			t.Errorf("DELETE %s: %d %s", path, w.Code, w.Body)
		}
		l.ask("DELETE", op, "")
	}
}

// notKept asks where not more than half of the replicas keep a goal.
func notKept(t *testing.T, reached tried) {
	t.Helper()
	h := handler(t, &app{rare: true})
	const goal = "/api/v1/app/goal"
	for _, asked := range [][3]string{{"PUT", goal, `{"state": "up"}`}, {"PATCH", goal, `{"state": "up"}`}, {"POST", goal + "/resume", ""}, {"POST", goal + "/restore", restored}, {"POST", "/api/v1/app/tasks/load/run", ""}} {
		if w := reached.ask(t, h, asked[0], asked[1], asked[2]); w.Code != 202 {
			t.Errorf("%s: %d %s", asked, w.Code, w.Body)
		}
	}
}

// notLetIn asks for everything as who may not, and with bodies that nobody takes.
func notLetIn(t *testing.T, l *live, reached tried) {
	t.Helper()
	closed := behind(t, unforgiving(t), &app{})
	for n := range 5 { // until no more are looked at
		r := request("GET", "/api/v1/app", "")
		r.SetBasicAuth("admin", fmt.Sprint("wrong ", n))
		closed.ServeHTTP(httptest.NewRecorder(), r)
	}
	for path, item := range document(t).Paths.Map() {
		for method, operation := range item.Operations() {
			if operation.Security != nil {
				continue
			}
			reached.ask(t, l.Handler, method, example(path), "", "Authorization: Bearer nobody's")
			reached.ask(t, closed, method, example(path), "")
			reached.ask(t, l.Handler, method, example(path), strings.Repeat(" ", 300_000))
			cutOff := request(method, example(path), "")
			cutOff.Body, cutOff.ContentLength = io.NopCloser(iotest.ErrReader(io.ErrUnexpectedEOF)), 10
			reached.send(t, l.Handler, cutOff)
			if method != http.MethodGet {
				reached.ask(t, l.Handler, method, example(path), "", "Sec-Fetch-Site: cross-site")
			}
		}
	}
}
