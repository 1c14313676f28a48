package rpc

import (
	"cmp"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/toskose/toskose/unit/wire"
)

// Options configure a server.
type Options struct {
	Unit     Unit
	User     string
	Password string // in the clear, or {SHA} and 40 hexadecimal digits
	// PasswordFile reads a password file, whose initial content is Password; called for every
	// request. nil without a file.
	PasswordFile func() ([]byte, error)
	TLS          *TLSFiles // of the server, to report its trusted authorities; nil without TLS
	Version      string    // returned by supervisor.getSupervisorVersion; "dev" if empty
	Limits       Limits
	Logger       *slog.Logger
	Now          func() time.Time // for logging failed logins; time.Now if nil
}

// server handles requests. It is immutable after New.
type server struct {
	state   func() wire.DaemonState // of the unit
	auth    *authenticator
	tls     *TLSFiles
	version string
	limits  Limits
	logger  *slog.Logger
	routes  []route
	methods map[string]method
	names   []string // of methods, sorted
}

// New returns the HTTP handler of a unit. With neither user nor password, it requires no
// authentication. With a user but no password, only /healthz, /readyz and /livez can be used; the user name
// may be empty.
func New(o Options) http.Handler {
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &server{
		state:   o.Unit.State,
		auth:    newAuthenticator(o),
		tls:     o.TLS,
		version: cmp.Or(o.Version, "dev"),
		limits:  o.Limits.withDefaults(),
		logger:  o.Logger,
	}
	s.fillMethods(o.Unit)
	s.fillRoutes(o.Unit)
	return s
}

// fillRoutes fills the route table.
func (s *server) fillRoutes(u Unit) {
	execution := executionHandler{s, u}
	component := componentHandler{s, u}
	health := healthHandler{s, u}
	tail := tailHandler{s, u}
	page := pageHandler{s, u}
	merge := mergeHandler{s, u}
	document := documentHandler{s, u}
	s.routes = []route{
		{path: "/RPC2", supervisors: true, post: s.serveRPC},
		{path: "/logtail/", supervisors: true, get: tail.serveLogTail},
		{path: "/mainlogtail", supervisors: true, exact: true, get: tail.serveMainLogTail},
		{path: "/log/", get: page.getLog},
		{path: "/mainlog", exact: true, get: page.getMainLog},
		{path: "/logs", exact: true, post: merge.postLogs},
		{path: "/executions", exact: true, post: execution.postExecution},
		{path: "/executions/", get: execution.getExecution, del: execution.deleteExecution},
		{path: "/components", exact: true, get: component.getComponents},
		{path: "/instance", exact: true, get: component.getInstance},
		{path: "/documents/", get: document.getDocument, put: document.putDocument},
		{path: "/journal", exact: true, get: component.getJournal},
		{path: "/metrics", exact: true, get: health.getMetrics},
		{path: "/healthz", exact: true, open: true, get: health.getHealth},
		{path: "/readyz", exact: true, open: true, get: health.getReadiness},
		{path: "/livez", exact: true, open: true, get: health.getLiveness},
	}
}

// route is a row of the route table.
type route struct {
	path                string
	exact               bool // otherwise a prefix, as in Supervisor
	open                bool // unauthenticated
	supervisors         bool // responses and errors have Supervisor's form
	get, post, put, del handler
}

// handler writes a response or returns an error, which ServeHTTP converts to a response.
type handler func(*answer, *http.Request) error

// handler returns the handler of a method, or else the allowed methods.
func (r route) handler(method string) (h handler, allow string) {
	var allowed []string
	for _, one := range []struct {
		method string
		handler
	}{{http.MethodGet, r.get}, {http.MethodHead, r.head()}, {http.MethodPost, r.post}, {http.MethodPut, r.put}, {http.MethodDelete, r.del}} {
		if one.handler == nil {
			continue
		}
		if one.method == method {
			return one.handler, ""
		}
		allowed = append(allowed, one.method)
	}
	return nil, strings.Join(allowed, ", ")
}

// head returns the handler of HEAD: the handler of GET, with its body omitted by net/http. Supervisor's routes
// have none.
func (r route) head() handler {
	if r.supervisors {
		return nil
	}
	return r.get
}

func (s *server) route(path string) (route, bool) {
	for _, r := range s.routes {
		if path == r.path || !r.exact && strings.HasPrefix(path, r.path) {
			return r, true
		}
	}
	return route{}, false
}

// statusError is an error with its HTTP status.
type statusError struct {
	status int
	err    error
}

func (e *statusError) Error() string { return e.err.Error() }
func (e *statusError) Unwrap() error { return e.err }

func statusErrorf(status int, format string, args ...any) error {
	return &statusError{status: status, err: fmt.Errorf(format, args...)}
}

// ServeHTTP handles a request: it finds the route, checks the password, and converts errors and
// panics to responses.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a := &answer{ResponseWriter: w, control: http.NewResponseController(w), writeTime: s.limits.WriteTime}
	defer s.recoverPanic(a, r)
	_ = a.control.SetWriteDeadline(time.Time{}) // clear the deadline of the previous request
	if r.ContentLength != 0 {
		// Effective until the body is read, by the handler or after it by net/http.
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
		return statusErrorf(http.StatusUnauthorized, "user and password are required")
	}
	if c := connectionOf(r); c != nil && !route.open {
		if err := c.admit(r.Context(), !s.auth.required); err != nil {
			return statusErrorf(http.StatusServiceUnavailable, "too many concurrent calls: %w", err)
		}
	}
	if !known {
		return statusErrorf(http.StatusNotFound, "there is nothing at this path")
	}
	handle, allow := route.handler(r.Method)
	if handle != nil {
		return handle(a, r)
	}
	a.Header().Set("Allow", allow)
	if route.supervisors {
		return statusErrorf(http.StatusBadRequest, "only %s is allowed here", allow)
	}
	return statusErrorf(http.StatusMethodNotAllowed, "only %s is allowed here", allow)
}

func (s *server) answerError(a *answer, r *http.Request, err error) {
	p := problemOf(err)
	s.logger.Debug("request refused", "method", clip(r.Method), "path", clip(r.URL.Path), "status", p.Status, "error", err)
	if route, _ := s.route(r.URL.Path); route.supervisors {
		a.failPlainly(p.Status, err.Error())
		return
	}
	a.fail(p)
}

// recoverPanic responds with status 500, which always means a bug in the unit.
func (s *server) recoverPanic(a *answer, r *http.Request) {
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
	s.answerError(a, r, statusErrorf(http.StatusInternalServerError, "internal error; see the unit's log"))
}

// answer is a ResponseWriter that records whether it was used, and bounds the time for each write.
type answer struct {
	http.ResponseWriter
	control   *http.ResponseController
	writeTime time.Duration
	wrote     bool
}

// Unwrap lets a ResponseController find the connection.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// WriteHeader writes the header.
func (a *answer) WriteHeader(status int) {
	a.wrote = true
	a.ResponseWriter.WriteHeader(status)
}

// Write writes p and extends the deadline of the client.
func (a *answer) Write(p []byte) (int, error) {
	a.wrote = true
	a.extend()
	return a.ResponseWriter.Write(p)
}

// extend extends the write deadline.
func (a *answer) extend() { _ = a.control.SetWriteDeadline(time.Now().Add(a.writeTime)) }

// flush sends buffered data, or the header alone.
func (a *answer) flush() error {
	a.extend()
	return a.control.Flush()
}
