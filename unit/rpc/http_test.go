package rpc

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/toskose/toskose/unit"
	"github.com/toskose/toskose/unit/wire"
)

// request makes a request whose Content-Length is announced as a client does.
func request(t *testing.T, method, target, body string) *http.Request {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, target, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Length", "1")
	}
	return r
}

func serve(h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestEveryRouteButHealthNeedsThePassword(t *testing.T) {
	t.Parallel()
	f := newFake()
	h := New(Options{Unit: f, User: "admin", Password: "secret", Logger: quiet()})
	call := methodCall("supervisor.getPID")
	for _, target := range []string{"/", "/RPC2", "/RPC2/x", "/logtail/api:start", "/logtail/api:start/stderr", "/mainlogtail", "/journal", "/log/api:start/stdout", "/mainlog", "/metrics", "/executions", "/executions/x", "/components", "/instance", "/nothing", "/healthz/", "/../healthz/x"} {
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodDelete} {
			for name, login := range map[string]func(*http.Request){
				"none":           func(*http.Request) {},
				"wrong user":     func(r *http.Request) { r.SetBasicAuth("root", "secret") },
				"wrong password": func(r *http.Request) { r.SetBasicAuth("admin", "Secret") },
				"empty":          func(r *http.Request) { r.SetBasicAuth("admin", "") },
				"another scheme": func(r *http.Request) { r.Header.Set("Authorization", "Bearer c2VjcmV0") },
				"no base64":      func(r *http.Request) { r.Header.Set("Authorization", "Basic admin:secret") },
			} {
				r := request(t, method, target, call)
				login(r)
				w := serve(h, r)
				if w.Code != http.StatusUnauthorized || w.Header().Get("WWW-Authenticate") != `Basic realm="default"` || w.Header().Get("Connection") != "close" {
					t.Errorf("%s %s with %s: status %d, header %v", method, target, name, w.Code, w.Header())
				}
			}
		}
	}
	if got := f.asked(); got != nil {
		t.Errorf("the unit was asked %q", got)
	}
	r := request(t, http.MethodPost, "/RPC2", call)
	r.SetBasicAuth("admin", "secret")
	if w := serve(h, r); w.Code != http.StatusOK {
		t.Errorf("with the password: status %d", w.Code)
	}
	for _, open := range []string{"/healthz", "/readyz", "/livez"} {
		if w := serve(h, request(t, http.MethodGet, open, "")); w.Code != http.StatusOK {
			t.Errorf("%s: status %d", open, w.Code)
		}
	}
}

func TestAPasswordCanBeAHashAndNeverEmpty(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		configured, given string
		want              int
	}{
		{"{SHA}e5e9fa1ba31ecd1ae84f75caaa474f3a663f05f4", "secret", http.StatusOK},
		{"{SHA}E5E9FA1BA31ECD1AE84F75CAAA474F3A663F05F4", "secret", http.StatusOK},
		{"{SHA}e5e9fa1ba31ecd1ae84f75caaa474f3a663f05f4", "e5e9fa1ba31ecd1ae84f75caaa474f3a663f05f4", http.StatusUnauthorized},
		{"{SHA}", "", http.StatusUnauthorized},
		{"", "", http.StatusUnauthorized},
		{"a:b", "a:b", http.StatusOK},
	} {
		h := New(Options{Unit: newFake(), User: "admin", Password: tt.configured, Logger: quiet()})
		r := request(t, http.MethodGet, "/journal", "")
		r.SetBasicAuth("admin", tt.given)
		if w := serve(h, r); w.Code != tt.want {
			t.Errorf("%q against %q: status %d", tt.given, tt.configured, w.Code)
		}
	}
}

func TestFailedLoginsAreLoggedWithoutThePasswordAndNotAllOfThem(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	now := time.Unix(1000, 0)
	h := New(Options{
		Unit: newFake(), User: "admin", Password: "hidden", Now: func() time.Time { return now },
		Logger: slog.New(slog.NewTextHandler(&log, nil)),
	})
	fail := func() {
		r := request(t, http.MethodGet, "/journal", "")
		r.SetBasicAuth("admin", "guessed")
		serve(h, r)
	}
	for range 100 {
		fail()
	}
	now = now.Add(refusalLogInterval)
	fail()
	text := log.String()
	if strings.Count(text, "login refused") != 2 || !strings.Contains(text, "refused_before=99") {
		t.Errorf("log: %s", text)
	}
	if strings.Contains(text, "hidden") || strings.Contains(text, "guessed") {
		t.Errorf("a password is in the log: %s", text)
	}
}

func TestRequestsThatAreNoCallsAreRefused(t *testing.T) {
	t.Parallel()
	h := New(Options{Unit: newFake(), Logger: quiet(), Limits: Limits{RequestBytes: 200}})
	good := methodCall("supervisor.getPID")
	for name, tt := range map[string]struct {
		request *http.Request
		want    int
	}{
		"GET":             {request(t, http.MethodGet, "/RPC2", ""), http.StatusBadRequest},
		"no length":       {httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/RPC2", strings.NewReader(good)), http.StatusLengthRequired},
		"bad XML":         {request(t, http.MethodPost, "/RPC2", "<methodCall>"), http.StatusBadRequest},
		"too long":        {request(t, http.MethodPost, "/RPC2", strings.Repeat(" ", 201)), http.StatusRequestEntityTooLarge},
		"a good call":     {request(t, http.MethodPost, "/RPC2", good), http.StatusOK},
		"a longer path":   {request(t, http.MethodPost, "/RPC2/x", good), http.StatusOK},
		"another path":    {request(t, http.MethodGet, "/", ""), http.StatusNotFound},
		"POST of a tail":  {request(t, http.MethodPost, "/logtail/api:start", ""), http.StatusBadRequest},
		"POST of the log": {request(t, http.MethodPost, "/mainlogtail", ""), http.StatusBadRequest},
		"POST of journal": {request(t, http.MethodPost, "/journal", ""), http.StatusMethodNotAllowed},
		"another stream":  {request(t, http.MethodGet, "/logtail/api:start/stdin", ""), http.StatusNotFound},
		"a stream more":   {request(t, http.MethodGet, "/logtail/api:start/stdout/", ""), http.StatusNotFound},
		"bad cursor":      {request(t, http.MethodGet, "/journal?after=7", ""), http.StatusBadRequest},
		"cursor, no seq":  {request(t, http.MethodGet, "/journal?after=i:-1", ""), http.StatusBadRequest},
		"bad wait":        {request(t, http.MethodGet, "/journal?wait=30", ""), http.StatusBadRequest},
		"negative wait":   {request(t, http.MethodGet, "/journal?wait=-1s", ""), http.StatusBadRequest},
	} {
		if w := serve(h, tt.request); w.Code != tt.want {
			t.Errorf("%s: status %d: %s", name, w.Code, w.Body)
		}
	}
}

func TestHealthSaysNothingSecret(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		state  wire.DaemonState
		err    error
		status int
		want   string
	}{
		{wire.DaemonRunning, nil, http.StatusOK, "{\"status\":\"ok\"}\n"},
		{wire.DaemonShutdown, nil, http.StatusServiceUnavailable, "{\"status\":\"shutting down\"}\n"},
		{wire.DaemonRestarting, nil, http.StatusServiceUnavailable, "{\"status\":\"shutting down\"}\n"},
		{wire.DaemonRunning, errors.New("journal: disk full"), http.StatusServiceUnavailable, "{\"status\":\"unhealthy\"}\n"},
	} {
		f := newFake()
		f.state, f.unhealthy = tt.state, tt.err
		w := serve(handlerOf(f), request(t, http.MethodGet, "/healthz", ""))
		if w.Code != tt.status || w.Body.String() != tt.want || w.Header().Get("Connection") != "close" {
			t.Errorf("%v %v: %d %q", tt.state, tt.err, w.Code, w.Body)
		}
	}
}

func TestReadinessSaysNothingElse(t *testing.T) {
	t.Parallel()
	f := newFake()
	for _, tt := range []struct {
		unready error
		status  int
		want    string
	}{
		{nil, http.StatusOK, "{\"status\":\"ready\"}\n"},
		{errors.New("api is created, and the goal wants it running"), http.StatusServiceUnavailable, "{\"status\":\"not ready\"}\n"},
	} {
		f.unready = tt.unready
		w := serve(handlerOf(f), request(t, http.MethodGet, "/readyz", ""))
		if w.Code != tt.status || w.Body.String() != tt.want || w.Header().Get("Connection") != "close" {
			t.Errorf("%v: %d %q", tt.unready, w.Code, w.Body)
		}
	}
}

func TestAPanicEndsWithItsRequest(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	f := newFake()
	f.panics = true
	h := New(Options{Unit: f, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	w := post(t, h, methodCall("supervisor.startAllProcesses"))
	if w.Code != http.StatusInternalServerError || strings.Contains(w.Body.String(), "mistake of ours") {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
	if !strings.Contains(log.String(), "a mistake of ours") {
		t.Errorf("log: %s", log.String())
	}
	f.panics = false
	if got := answered(t, post(t, h, methodCall("supervisor.startAllProcesses"))); got != statusXML {
		t.Errorf("afterwards: %s", got)
	}
}

func TestTailsSendWhatIsFollowed(t *testing.T) {
	t.Parallel()
	for target, want := range map[string]string{
		"/logtail/api:start":            "follow api:start stdout",
		"/logtail/api:start/stdout":     "follow api:start stdout",
		"/logtail/api%3Astart/stderr":   "follow api:start stderr",
		"/logtail/api:Standard%2Estart": "follow api:Standard.start stdout",
		"/mainlogtail":                  "follow",
	} {
		f := newFake()
		f.follow = func(_ context.Context, w io.Writer) error {
			_, err := io.WriteString(w, "line\xff\n")
			return err
		}
		w := serve(handlerOf(f), request(t, http.MethodGet, target, ""))
		if w.Code != http.StatusOK || w.Body.String() != "line\xff\n" || !w.Flushed {
			t.Errorf("%s: %d %q", target, w.Code, w.Body)
		}
		if w.Header().Get("Content-Type") != "text/plain;charset=utf-8" || w.Header().Get("X-Accel-Buffering") != "no" {
			t.Errorf("%s: header %v", target, w.Header())
		}
		if got := strings.Join(f.asked(), ";"); got != want {
			t.Errorf("%s asked %q", target, got)
		}
	}
}

func TestTailsOfWhatIsNotThereAreNotFound(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]int{
		wire.NewFault(wire.BadName, "x"):         http.StatusNotFound,
		wire.NewFault(wire.NoFile, "x"):          http.StatusNotFound,
		wire.NewFault(wire.ShutdownState, ""):    http.StatusServiceUnavailable,
		errors.New("open x.log: too many files"): http.StatusServiceUnavailable,
	} {
		f := newFake()
		f.err = err
		for _, target := range []string{"/logtail/x", "/logtail/", "/mainlogtail"} {
			if w := serve(handlerOf(f), request(t, http.MethodGet, target, "")); w.Code != want {
				t.Errorf("%s with %v: %d", target, err, w.Code)
			}
		}
	}
}

func TestTheJournalIsReadFromCursorToCursor(t *testing.T) {
	t.Parallel()
	entries := []wire.Entry{{Seq: 4, Instance: "new", Kind: wire.EntryBoot}, {Seq: 5, Instance: "new", Kind: wire.EntryStart, Component: "api"}}
	for name, tt := range map[string]struct {
		query  string
		page   unit.JournalPage
		err    error
		status int
		cursor string
		lines  int
		wait   time.Duration
	}{
		"from the beginning":   {"", unit.JournalPage{Instance: "new", Entries: entries}, nil, 200, "new:5", 2, 0},
		"nothing yet":          {"", unit.JournalPage{Instance: "new"}, nil, 200, "new:0", 0, 0},
		"nothing new":          {"?after=new:5&wait=30s", unit.JournalPage{Instance: "new"}, nil, 200, "new:5", 0, 30 * time.Second},
		"another instance":     {"?after=old:9", unit.JournalPage{Instance: "new", Reset: true, Entries: entries}, nil, 200, "new:5", 2, 0},
		"another, and nothing": {"?after=old:9", unit.JournalPage{Instance: "new", Reset: true}, nil, 200, "new:0", 0, 0},
		"a very long wait":     {"?after=new:5&wait=9h", unit.JournalPage{Instance: "new"}, nil, 200, "new:5", 0, time.Minute},
		"a cursor refused":     {"?after=new:99", unit.JournalPage{}, wire.NewFault(wire.BadArguments, "new:99"), 400, "", 1, 0},
		"an unreadable one":    {"", unit.JournalPage{}, wire.NewFault(wire.JournalUnavailable, "x"), 503, "", 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake()
			f.journal = func(_ context.Context, after string, wait time.Duration) (unit.JournalPage, error) {
				if wait != tt.wait || tt.query != "" && !strings.Contains(tt.query, after) {
					t.Errorf("asked for %q, %v", after, wait)
				}
				return tt.page, tt.err
			}
			w := serve(handlerOf(f), request(t, http.MethodGet, "/journal"+tt.query, ""))
			if w.Code != tt.status || w.Header().Get("Toskose-Cursor") != tt.cursor || strings.Count(w.Body.String(), "\n") != tt.lines {
				t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
			}
			if reset := w.Header().Get("Toskose-Reset") == "true"; reset != tt.page.Reset || w.Header().Get("Toskose-Instance") != tt.page.Instance {
				t.Errorf("header %v", w.Header())
			}
		})
	}
}
