package rpc

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"
)

// Options are what a server needs.
type Options struct {
	Unit     Unit
	User     string
	Password string // clear, or {SHA} and 40 hexadecimal digits
	Version  string // the answer of supervisor.getSupervisorVersion; "dev" when empty
	Limits   Limits
	Logger   *slog.Logger
	Now      func() time.Time // the clock of the log of failed logins; time.Now when nil
}

// server answers requests. After New it is only read.
type server struct {
	unit    Unit
	auth    *authenticator
	version string
	limits  Limits
	logger  *slog.Logger
	routes  []route
	methods map[string]method
	names   []string // of methods, sorted
}

// New makes the handler of everything a unit answers over HTTP. With neither
// user nor password, all of it is open; with one of them empty, nobody is let in
// but to /healthz, except that a user may be the empty name.
func New(o Options) http.Handler {
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &server{
		unit:    o.Unit,
		auth:    newAuthenticator(o.User, o.Password, o.Logger, o.Now),
		version: or(o.Version, "dev"),
		limits:  o.Limits.withDefaults(),
		logger:  o.Logger,
	}
	s.routes = []route{
		{path: "/RPC2", method: http.MethodPost, otherMethod: http.StatusBadRequest, handle: s.serveRPC},
		{path: "/logtail/", method: http.MethodGet, otherMethod: http.StatusBadRequest, handle: s.serveLogTail},
		{path: "/mainlogtail", method: http.MethodGet, otherMethod: http.StatusBadRequest, handle: s.serveMainLogTail, exact: true},
		{path: "/log/", method: http.MethodGet, otherMethod: http.StatusMethodNotAllowed, handle: s.serveLog},
		{path: "/mainlog", method: http.MethodGet, otherMethod: http.StatusMethodNotAllowed, handle: s.serveMainLog, exact: true},
		{path: "/metrics", method: http.MethodGet, otherMethod: http.StatusMethodNotAllowed, handle: s.serveMetrics, exact: true},
		{path: "/journal", method: http.MethodGet, otherMethod: http.StatusMethodNotAllowed, handle: s.serveJournal, exact: true},
		{path: "/healthz", method: http.MethodGet, otherMethod: http.StatusMethodNotAllowed, handle: s.serveHealth, exact: true, open: true},
	}
	s.fillMethods()
	return s
}

// route is one row of what the server answers. Its handler writes an answer or
// returns an error, which ServeHTTP turns into one.
type route struct {
	path        string
	exact       bool // else a prefix, as Supervisor matches
	open        bool // without a password
	method      string
	otherMethod int // the status for any other method
	handle      func(*answer, *http.Request) error
}

func (s *server) route(path string) (route, bool) {
	for _, r := range s.routes {
		if path == r.path || !r.exact && strings.HasPrefix(path, r.path) {
			return r, true
		}
	}
	return route{}, false
}

// statusError is an answer with a status other than 200.
type statusError struct {
	status int
	err    error
}

func (e *statusError) Error() string { return e.err.Error() }
func (e *statusError) Unwrap() error { return e.err }

func refuse(status int, format string, args ...any) error {
	return &statusError{status: status, err: fmt.Errorf(format, args...)}
}

// ServeHTTP finds the route, asks for the password, and turns errors into
// answers. A panic ends with the request.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a := &answer{ResponseWriter: w, control: http.NewResponseController(w), writeTime: s.limits.WriteTime}
	defer s.recovered(a, r)
	_ = a.control.SetWriteDeadline(time.Time{}) // the one of the connection's request before
	if r.ContentLength != 0 {
		// Stands until the body is read, be it by the handler or, where the
		// handler does not, by net/http after it.
		_ = a.control.SetReadDeadline(time.Now().Add(s.limits.BodyTime))
	}
	if err := s.serve(a, r); err != nil {
		s.answerError(a, r, err)
	}
}

func (s *server) serve(a *answer, r *http.Request) error {
	route, known := s.route(r.URL.Path)
	if !route.open && !s.auth.admits(r) {
		a.Header().Set("WWW-Authenticate", `Basic realm="default"`)
		return refuse(http.StatusUnauthorized, "user and password are needed")
	}
	if !known {
		return refuse(http.StatusNotFound, "nothing is at this path")
	}
	if r.Method != route.method {
		a.Header().Set("Allow", route.method)
		return refuse(route.otherMethod, "only %s is answered here", route.method)
	}
	return route.handle(a, r)
}

// answerError closes the connection with every refusal, so that one who is
// refused holds none.
func (s *server) answerError(a *answer, r *http.Request, err error) {
	status := http.StatusServiceUnavailable
	var refused *statusError
	if errors.As(err, &refused) {
		status = refused.status
	}
	s.logger.Debug("request refused", "method", clip(r.Method), "path", clip(r.URL.Path), "status", status, "error", err)
	a.fail(status, err.Error())
}

// recovered answers 500: what was sent is never to blame.
func (s *server) recovered(a *answer, r *http.Request) {
	cause := recover()
	if cause == nil {
		return
	}
	if cause == http.ErrAbortHandler { //nolint:errorlint // a panic's value, which net/http compares so too
		panic(cause)
	}
	s.logger.Error("request panicked", "path", clip(r.URL.Path), "panic", cause, "stack", string(debug.Stack()))
	if a.wrote {
		panic(http.ErrAbortHandler)
	}
	a.fail(http.StatusInternalServerError, "the unit made a mistake; its log has it")
}

// answer is a ResponseWriter that knows whether it was used, and gives the
// client a bounded time to take each piece.
type answer struct {
	http.ResponseWriter
	control   *http.ResponseController
	writeTime time.Duration
	wrote     bool
}

// Unwrap lets a ResponseController find the connection.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// WriteHeader notes that an answer has begun.
func (a *answer) WriteHeader(status int) {
	a.wrote = true
	a.ResponseWriter.WriteHeader(status)
}

// Write passes p on and extends the time that the client has to take it.
func (a *answer) Write(p []byte) (int, error) {
	a.wrote = true
	a.extend()
	return a.ResponseWriter.Write(p)
}

// extend begins the client's time anew.
func (a *answer) extend() { _ = a.control.SetWriteDeadline(time.Now().Add(a.writeTime)) }

// flush sends what was written, or the header alone, at once.
func (a *answer) flush() error {
	a.extend()
	return a.control.Flush()
}

func (a *answer) fail(status int, text string) {
	a.Header().Set("Connection", "close")
	a.Header().Set("Content-Type", "text/plain; charset=utf-8")
	a.Header().Set("X-Content-Type-Options", "nosniff")
	a.WriteHeader(status)
	_, _ = io.WriteString(a, text+"\n")
}

// serveHealth closes its connection: nobody needs a password to come here, so
// nobody may keep a connection by it.
func (s *server) serveHealth(a *answer, _ *http.Request) error {
	status, word := http.StatusOK, "ok"
	switch {
	case s.unit.State() < 1:
		status, word = http.StatusServiceUnavailable, "shutting down"
	case s.unit.Healthy() != nil:
		status, word = http.StatusServiceUnavailable, "unhealthy"
	}
	a.Header().Set("Connection", "close")
	a.Header().Set("Content-Type", "application/json")
	a.WriteHeader(status)
	_, err := fmt.Fprintf(a, "{\"status\":%q}\n", word)
	return err
}
