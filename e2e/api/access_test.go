package api_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"fmt"
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
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/toskose/toskose/internal/docs"
	"github.com/toskose/toskose/manager"
	"github.com/toskose/toskose/manager/access"
	"github.com/toskose/toskose/manager/api"
	"github.com/toskose/toskose/manager/rest"
	"github.com/toskose/toskose/manager/users"
	"github.com/toskose/toskose/unit/wire"
)

// as sends a request with somebody's password; "" for nobody's.
func as(h http.Handler, user, method, path string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, nil)
	if user != "" {
		r.SetBasicAuth(user, "pw-of-"+strings.TrimSuffix(user, "-1"))
	}
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// touched reports whether an application was asked to do more than to show something.
func (a *app) touched() bool {
	reads := []string{"", "processes", "log ", "unitlog ", "events after ", "history ", "plan "}
	return a.start.Node != "" || !slices.ContainsFunc(reads, func(read string) bool {
		return a.called == read || read != "" && strings.HasPrefix(a.called, read)
	})
}

// paths are those of all routes, with names in the place of parameters.
func paths(t *testing.T, h http.Handler) []string {
	t.Helper()
	var all []string
	err := chi.Walk(h.(*api.Handler).Router(), func(_, route string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		all = append(all, strings.NewReplacer("{node}", "backend", "{component}", "api", "{operation}", "Standard.start", "{execution}", "x1", "*", "").Replace(route))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

var methods = []string{
	"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "COPY", "LOCK", "MOVE", "PROPFIND", "QUERY", "get", "post", "Delete",
}

// shown are the ways in which a viewer shows who they are.
func shown(t *testing.T, h http.Handler) map[string]func(*http.Request) {
	t.Helper()
	token := newToken(t, h, "viewer-1")
	return map[string]func(*http.Request){
		"a password": func(r *http.Request) { r.SetBasicAuth("viewer-1", "pw-of-viewer") },
		"a token":    func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) },
		"a certificate": func(r *http.Request) {
			r.TLS = &tls.ConnectionState{VerifiedChains: [][]*x509.Certificate{{{Subject: pkix.Name{CommonName: "viewer-1"}}}}}
		},
	}
}

// described are the methods and paths of the document that the manager serves.
func described(t *testing.T, h http.Handler) (all [][2]string) {
	t.Helper()
	var document struct {
		Paths map[string]map[string]any
	}
	if err := json.Unmarshal(as(h, "", "GET", "/openapi.json").Body.Bytes(), &document); err != nil || len(document.Paths) < 15 {
		t.Fatalf("%d paths, %v", len(document.Paths), err)
	}
	for path, operations := range document.Paths {
		path = strings.NewReplacer("{node}", "backend", "{component}", "api", "{operation}", "Standard.start", "{execution}", "x1").Replace(path)
		for method := range operations {
			all = append(all, [2]string{strings.ToUpper(method), path})
		}
	}
	return all
}

func TestAViewerCanChangeNothingByAnyPath(t *testing.T) {
	t.Parallel()
	a := &app{}
	h := handler(t, a)
	ways := shown(t, h)
	try := func(by, method, path, header string) {
		t.Helper()
		a.called, a.start.Node = "", ""
		r := httptest.NewRequest(method, path, nil)
		name, value, _ := strings.Cut(header, ": ")
		r.Header.Set(name, value)
		ways[by](r)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if a.touched() {
			t.Fatalf("%s %s, %s, with %s: called %q, started %q", method, path, header, by, a.called, a.start.Node)
		}
		if w.Code >= 500 || w.Code == http.StatusUnauthorized && strings.HasPrefix(path, "/api/v1/") {
			t.Errorf("%s %s with %s: %d", method, path, by, w.Code)
		}
	}
	for _, path := range paths(t, h) {
		for _, form := range []string{path, path + "/", "/" + path, strings.Replace(path, "backend", "back%2Fend", 1), strings.ToUpper(path), path + "?_method=DELETE&force=true"} {
			for _, method := range methods {
				for _, header := range []string{"X-Request-Id: v", "X-HTTP-Method-Override: DELETE", "X-Forwarded-User: admin", "X-Original-URL: /api/v1/node/reload"} {
					try("a password", method, form, header)
				}
			}
		}
	}
	for by := range ways {
		for _, one := range described(t, h) {
			try(by, one[0], one[1], "Content-Type: application/json")
		}
		for _, path := range paths(t, h) {
			for _, method := range methods {
				try(by, method, path, "X-Forwarded-User: admin")
			}
		}
	}
	w := as(h, "viewer-1", "POST", op)
	if w.Code != 403 || w.Header().Get("Content-Type") != "application/problem+json" || !strings.Contains(w.Body.String(), "urn:toskose:problem:forbidden") {
		t.Errorf("got %d %v: %s", w.Code, w.Header(), w.Body)
	}
}

// TestEachRoleMayWhatThePageSays compares the table of docs/manager-api.md with what
// callers of each role are answered.
func TestEachRoleMayWhatThePageSays(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.FromSlash("../../docs/manager-api.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile("(?m)^\\| `([A-Z]+) (/[^`]*)` \\| ([a-z]+) \\|").FindAllSubmatch(page, -1)
	if len(rows) < 20 {
		t.Fatalf("only %d rows", len(rows))
	}
	a := &app{outcome: rest.Execution{ID: "x1", Outcome: wire.OutcomeSucceeded}}
	h := handler(t, a)
	for _, row := range rows {
		method, path, least := string(row[1]), string(row[2]), string(row[3])
		path = strings.NewReplacer("{node}", "backend", "{component}", "api", "{operation}", "Standard.start", "{execution}", "x1").Replace(path)
		for _, role := range users.Roles {
			want := least == "none" || role.Includes(users.Role(least))
			if w := as(h, string(role)+"-1", method, path); (w.Code < 400) != want || !want && w.Code != 403 {
				t.Errorf("%s %s as %s: %d, and the page says %s", method, path, role, w.Code, least)
			}
		}
		if w := as(h, "", method, path); (w.Code < 400) != (least == "none") || w.Code >= 400 && w.Code != 401 {
			t.Errorf("%s %s as nobody: %d", method, path, w.Code)
		}
	}
}

func bearer(text string) string { return "Authorization: Bearer " + text }

// newToken gets one for a user.
func newToken(t *testing.T, h http.Handler, user string) string {
	t.Helper()
	w := as(h, user, "POST", "/api/v1/tokens")
	var made struct {
		Token string `json:"access_token"`
		Role  string
	}
	if err := json.Unmarshal(w.Body.Bytes(), &made); err != nil || w.Code != 201 || made.Token == "" || made.Role+"-1" != user {
		t.Fatalf("got %d: %s", w.Code, w.Body)
	}
	return made.Token
}

func TestATokenIsInThePlaceOfAPassword(t *testing.T) {
	t.Parallel()
	a := &app{outcome: rest.Execution{ID: "x1", Outcome: wire.OutcomeSucceeded}}
	h := handler(t, a)
	text := newToken(t, h, "operator-1")
	if w := as(h, "", "POST", op, bearer(text)); w.Code != 200 || a.start.By != "operator-1" {
		t.Errorf("got %d, by %q", w.Code, a.start.By)
	}
	if w := as(h, "", "POST", "/api/v1/node/reload", bearer(text)); w.Code != 403 {
		t.Errorf("an operator's token made units reload: %d", w.Code)
	}
	if w := as(h, "", "POST", "/api/v1/tokens", bearer(text)); w.Code != 403 {
		t.Errorf("a token made a token: %d", w.Code)
	}
	for _, wrong := range []string{"", "x", text + "x", text[:len(text)-5], strings.Replace(text, "toskose1.", "toskose1.e", 1)} {
		w := as(h, "", "GET", "/api/v1/app", bearer(wrong))
		if w.Code != 401 || len(w.Header().Values("WWW-Authenticate")) != 2 {
			t.Errorf("%q: got %d %v", wrong, w.Code, w.Header())
		}
	}
}

func TestTooManyWrongPasswordsAreNotLookedAt(t *testing.T) {
	t.Parallel()
	h := behind(t, unforgiving(t), &app{})
	guess := func(password string) *httptest.ResponseRecorder {
		r := httptest.NewRequest("GET", "/api/v1/app", nil)
		r.SetBasicAuth("admin", password)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	text := newToken(t, h, "viewer-1")
	for n := range 5 {
		if w := guess(fmt.Sprint("wrong ", n)); w.Code != 401 {
			t.Fatalf("got %d", w.Code)
		}
	}
	w := guess("pw")
	if w.Code != 429 || !regexp.MustCompile(`^[1-9][0-9]?$`).MatchString(w.Header().Get("Retry-After")) || !strings.Contains(w.Body.String(), "too-many-logins") {
		t.Errorf("the right one after five wrong ones: got %d %v: %s", w.Code, w.Header(), w.Body)
	}
	if w := as(h, "", "GET", "/api/v1/app", bearer(text)); w.Code != 200 {
		t.Errorf("a token from the same address: %d", w.Code)
	}
}

// lines is written by handlers and read by the test.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.text.Reset()
	return l.text.String()
}

// audited returns a handler, what it writes down and what it logs.
func audited(t *testing.T, a *app) (h http.Handler, audit, logs *lines) {
	t.Helper()
	audit, logs = &lines{}, &lines{}
	h, err := api.New(a, api.Options{
		Access: unforgiving(t), Audit: audit, Logger: slog.New(slog.NewTextHandler(logs, &slog.HandlerOptions{Level: slog.LevelDebug})), Testing: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	return h, audit, logs
}

func TestWhatIsDoneAndRefusedIsWrittenDown(t *testing.T) {
	t.Parallel()
	a := &app{outcome: rest.Execution{ID: "x1", Outcome: wire.OutcomeSucceeded}}
	h, audit, _ := audited(t, a)
	for name, c := range map[string]struct {
		user, method, path string
		want               string // the line, without time and duration; empty: there is none
	}{
		"an operation": {"operator-1", "POST", op, `{"request":"r-1","user":"operator-1","role":"operator","by":"password","address":"192.0.2.1","client":"curl/8",` +
			`"method":"POST","route":"/api/v1/node/{node}/{component}/{operation}","node":"backend","component":"api","operation":"Standard.start","execution":"x1","status":200}`},
		"what the role does not allow": {"viewer-1", "DELETE", op, `{"request":"r-1","user":"viewer-1","role":"viewer","by":"password","address":"192.0.2.1","client":"curl/8",` +
			`"method":"DELETE","route":"/api/v1/node/{node}/{component}/{operation}","node":"backend","component":"api","operation":"Standard.start","status":403}`},
		"a task": {"operator-1", "POST", "/api/v1/app/tasks/load/run", `{"request":"r-1","user":"operator-1","role":"operator","by":"password","address":"192.0.2.1","client":"curl/8",` +
			`"method":"POST","route":"/api/v1/app/tasks/{task}/run","component":"load","status":200}`},
		"nobody":          {"", "GET", "/api/v1/app", `{"request":"r-1","address":"192.0.2.1","client":"curl/8","method":"GET","route":"/api/v1/*","status":401}`},
		"a wrong name":    {"hunter2-1", "GET", "/api/v1/app", `{"request":"r-1","address":"192.0.2.1","client":"curl/8","method":"GET","route":"/api/v1/*","status":401}`},
		"a read":          {"viewer-1", "GET", "/api/v1/app", ""},
		"what is open":    {"", "GET", "/healthz", ""},
		"an unknown path": {"", "POST", "/nothing", ""},
	} {
		w := as(h, c.user, c.method, c.path, "X-Request-Id: r-1", "User-Agent: curl/8")
		if w.Header().Get("X-Request-Id") != "r-1" {
			t.Errorf("%s: the answer has %v", name, w.Header())
		}
		got := audit.take()
		if !regexp.MustCompile(`^({"time":"20[^"]+",|$)`).MatchString(got) {
			t.Errorf("%s: %s", name, got)
		}
		got = regexp.MustCompile(`"time":"[^"]+",|,"seconds":[0-9.e-]+|\n$`).ReplaceAllString(got, "")
		if got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, c.want)
		}
	}
}

// TestTheAuditLogIsAsTheDocumentationShowsIt has a line with the same keys, in the same order.
func TestTheAuditLogIsAsTheDocumentationShowsIt(t *testing.T) {
	t.Parallel()
	shown := docs.Shown(t, "docs/manager-access.md", `"route":`)
	h, audit, _ := audited(t, &app{outcome: rest.Execution{ID: "x1", Outcome: wire.OutcomeSucceeded}})
	as(h, "operator-1", "POST", "/api/v1/node/backend/api/stop", "User-Agent: curl/8.14.1")
	got := audit.take()
	key := regexp.MustCompile(`"([a-z]+)":`)
	if !slices.Equal(key.FindAllString(got, -1), key.FindAllString(shown, -1)) {
		t.Errorf("the log has\n%s\nand the documentation shows\n%s", got, shown)
	}
	for _, same := range []string{`"role"`, `"by"`, `"client"`, `"method"`, `"route"`, `"node"`, `"component"`, `"operation"`, `"status"`} {
		value := regexp.MustCompile(same + `:("[^"]*"|[0-9]+)`)
		if value.FindString(got) != value.FindString(shown) {
			t.Errorf("the log has %s, and the documentation shows %s", value.FindString(got), value.FindString(shown))
		}
	}
}

func TestNoSecretIsInAnyAnswerOrLog(t *testing.T) {
	t.Parallel()
	a := &app{outcome: rest.Execution{ID: "x1", Outcome: wire.OutcomeSucceeded}}
	h, audit, logs := audited(t, a)
	text := newToken(t, h, "admin-1")
	var answers strings.Builder
	for _, path := range paths(t, h) {
		for _, method := range []string{"GET", "POST", "PUT", "DELETE"} {
			if path == "/api/v1/tokens" && method == "POST" {
				continue
			}
			for _, header := range []string{bearer(text), "Authorization: Basic " + basic("admin", "pw-of-somebody"), "Authorization: Basic " + basic("s3cret-name", "x")} {
				r := httptest.NewRequest(method, path+"?password=pw-of-query", strings.NewReader(`{"inputs": {"key": "pw-of-input"}}`))
				name, value, _ := strings.Cut(header, ": ")
				r.Header.Set(name, value)
				r.RemoteAddr = fmt.Sprintf("10.1.%d.%d:1", answers.Len()%200, len(path))
				w := httptest.NewRecorder()
				h.ServeHTTP(w, r)
				fmt.Fprintln(&answers, w.Header(), w.Body)
			}
		}
	}
	file := passwords()
	hash := regexp.MustCompile(`\$argon2id[^"]+`).FindString(file)
	for where, said := range map[string]string{"an answer": answers.String(), "the audit log": audit.take(), "the log": logs.take()} {
		for _, secret := range []string{text, text[20:60], text[strings.LastIndex(text, "."):], "pw-of-", "s3cret-name", basic("admin", "pw-of-somebody"), hash, "argon2id"} {
			if strings.Contains(said, secret) {
				t.Errorf("%s has %q", where, secret)
			}
		}
	}
}

func basic(user, password string) string {
	r := &http.Request{Header: http.Header{}}
	r.SetBasicAuth(user, password)
	return strings.TrimPrefix(r.Header.Get("Authorization"), "Basic ")
}

func TestARequestHasAnIdInAnswerProblemAndLog(t *testing.T) {
	t.Parallel()
	h, audit, logs := audited(t, &app{})
	for given, kept := range map[string]bool{"": false, "a-1": true, "a b": false, "x\ny": false, "\x1b[31m": false, strings.Repeat("x", 200): false, "0af7651916cd43dd8448eb211c80319c": true} {
		w := as(h, "viewer-1", "POST", op, "X-Request-Id: "+given)
		id := w.Header().Get("X-Request-Id")
		var p rest.Problem
		if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || id == "" || (id == given) != kept || p.Request != id {
			t.Errorf("%q: got %q, problem %+v, %v", given, id, p, err)
		}
		if !strings.Contains(logs.take(), "request="+id) || !strings.Contains(audit.take(), `"request":"`+id+`"`) {
			t.Errorf("%q: %q is not in the logs", given, id)
		}
	}
}

func TestBrowsersAreToldToDoNothingElse(t *testing.T) {
	t.Parallel()
	h := handler(t, &app{})
	for path, says := range map[string]map[string]string{
		"/api/v1/app": {"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'", "Referrer-Policy": "no-referrer"},
		"/metrics":    {"Cache-Control": "no-store"},
		"/docs/":      {"X-Content-Type-Options": "nosniff", "Strict-Transport-Security": ""},
	} {
		w := as(h, "viewer-1", "GET", path)
		for name, value := range says {
			if w.Header().Get(name) != value {
				t.Errorf("%s: %s is %q", path, name, w.Header().Get(name))
			}
		}
	}
	if w := as(h, "", "GET", "/api/v1/app"); w.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("a refusal may be stored: %v", w.Header())
	}
	r := httptest.NewRequest("GET", "https://localhost/healthz", nil)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Header().Get("Strict-Transport-Security") == "" {
		t.Error("with TLS, browsers are not told to keep to it")
	}
	// Every script of the page is one that its policy allows.
	page := as(h, "", "GET", "/docs/")
	policy := page.Header().Get("Content-Security-Policy")
	if n := strings.Count(page.Body.String(), "<script>"); n == 0 || strings.Count(policy, "'sha256-") != n || strings.Contains(policy, "unsafe-eval") {
		t.Errorf("%d scripts in the page, and the policy is %s", n, policy)
	}
}

func TestWhatIsFollowedEndsWithItsUser(t *testing.T) {
	t.Parallel()
	var list users.List
	if err := list.Add("ann", users.Viewer, "pw-of-ann"); err != nil {
		t.Fatal(err)
	}
	file, err := list.Encode()
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	g, err := access.New(access.Options{First: "admin", Password: access.Always("pw"), Users: func() ([]byte, error) {
		mu.Lock()
		defer mu.Unlock()
		return file, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	waits := make(chan struct{})
	h, err := api.New(&quiet{waits: waits}, api.Options{Access: g, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	text := newTokenOf(t, h, "ann")
	ended := make(chan int, 1)
	go func() { ended <- as(h, "", "GET", "/api/v1/events", bearer(text)).Code }()
	<-waits
	mu.Lock()
	file = []byte(`{"users": []}`)
	mu.Unlock()
	if w := as(h, "", "GET", "/api/v1/app", bearer(text)); w.Code != 401 {
		t.Errorf("the token of a user who was removed: %d", w.Code)
	}
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Error("what a user followed goes on without the user")
	}
}

func newTokenOf(t *testing.T, h http.Handler, user string) string {
	t.Helper()
	var made struct {
		Token string `json:"access_token"`
	}
	w := as(h, user, "POST", "/api/v1/tokens")
	if err := json.Unmarshal(w.Body.Bytes(), &made); err != nil || w.Code != 201 {
		t.Fatalf("got %d: %s", w.Code, w.Body)
	}
	return made.Token
}

// quiet is an application in which nothing happens.
type quiet struct {
	app
	waits chan struct{}
}

func (q *quiet) Events(string) func(context.Context) ([]manager.Event, error) {
	return func(ctx context.Context) ([]manager.Event, error) {
		close(q.waits)
		<-ctx.Done()
		return nil, ctx.Err()
	}
}
