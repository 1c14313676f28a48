package api

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"

	"github.com/toskose/toskose/manager"
	"github.com/toskose/toskose/manager/access"
	"github.com/toskose/toskose/manager/audit"
	"github.com/toskose/toskose/manager/httpserver"
	"github.com/toskose/toskose/manager/idempotency"
	"github.com/toskose/toskose/manager/metrics"
	"github.com/toskose/toskose/manager/openapi"
	"github.com/toskose/toskose/manager/rest"
	"github.com/toskose/toskose/manager/series"
	"github.com/toskose/toskose/manager/users"
	"github.com/toskose/toskose/manager/view"
	"github.com/toskose/toskose/manager/web"
)

// Application is what the API serves; *manager.App implements it. Handlers get only the methods that they need.
type Application interface {
	States
	Goals
	Leases
	Operations
	Control
	Logs
	Lines(ctx context.Context, q rest.LogQuery) (manager.LineReader, error)
	Signing() manager.Signing
	GoalChanged() <-chan struct{}
	Ready() ([]manager.NotReady, int)
	UnitCredentials(ctx context.Context) []rest.UnitCredentials
	Events(after string) func(context.Context) ([]manager.Event, error)
}

// States returns states.
type States interface {
	App(ctx context.Context, d manager.Detail) rest.App
	Drawing() manager.Drawing
	Nodes(ctx context.Context, d manager.Detail) []rest.Node
	Node(ctx context.Context, node string, d manager.Detail) (rest.Node, error)
	Component(ctx context.Context, node, component string, d manager.Detail) (rest.Component, error)
	Operation(ctx context.Context, node, component, operation string, d manager.Detail) (rest.Operation, error)
	Series(from time.Time, wanted func(component string) bool) series.Window
}

// Goals sets goals and reports progress.
type Goals interface {
	Goal() rest.Goal
	SetGoal(ctx context.Context, req rest.GoalRequest) (view rest.Goal, kept bool, err error)
	ResumeGoal(ctx context.Context, components []string, by string) (view rest.Goal, kept bool, err error)
	RestoreGoal(ctx context.Context, g rest.SavedGoal, by string) (view rest.Goal, kept bool, err error)
	RunTask(ctx context.Context, task string, again bool, by string) (view rest.Goal, kept bool, err error)
	Plan(ctx context.Context, req rest.GoalRequest) rest.Plan
}

// Leases acquires and releases leases.
type Leases interface {
	Lease(ctx context.Context, req rest.LeaseRequest) (rest.Lease, error)
	EndLease(ctx context.Context, id string) error
}

// Operations runs operations.
type Operations interface {
	Start(ctx context.Context, req rest.RunRequest) (rest.Execution, error)
	Wait(ctx context.Context, id string) (rest.Execution, error)
	Execution(ctx context.Context, id string, wait time.Duration) (rest.Execution, error)
	Cancel(ctx context.Context, id string) (rest.Execution, error)
	History(ctx context.Context, q rest.HistoryQuery) (rest.History, error)
}

// Control stops and signals operations.
type Control interface {
	Stop(ctx context.Context, node, component, operation, replica string) ([]rest.Result, error)
	StopAll(ctx context.Context, node, replica string) ([]rest.Result, error)
	Signal(ctx context.Context, node, component, operation, replica, signal string) ([]rest.Result, error)
	Reload(ctx context.Context) ([]rest.Result, error)
	Drain(ctx context.Context, node string, lease time.Duration) (rest.Drain, error)
	EndDrain(node string) error
}

// Logs reads and clears logs.
type Logs interface {
	Log(ctx context.Context, node, component, operation, replica string, req manager.LogRequest) ([]rest.Log, error)
	UnitLog(ctx context.Context, node, replica string, req manager.LogRequest) ([]rest.Log, error)
	ClearLog(ctx context.Context, node, component, operation, replica string) ([]rest.Result, error)
	ClearUnitLog(ctx context.Context, node, replica string) ([]rest.Result, error)
}

// The handlers of the API, by the part of the application that they serve.
type (
	stateHandlers struct {
		app     States
		encoder *view.Encoder // of the whole application
	}
	goalHandlers      struct{ app Goals }
	leaseHandlers     struct{ app Leases }
	operationHandlers struct{ app Operations }
	controlHandlers   struct{ app Control }
	logHandlers       struct{ app Logs }
)

// Options configure the API.
type Options struct {
	Access  *access.Gate // authenticates callers
	Audit   io.Writer    // the output of the audit log; nil: none
	Version string
	Logger  *slog.Logger
	Testing bool             // responses to internal errors contain details
	Metrics *metrics.Metrics // nil: executions are not counted

	Certificates func() (certificate string, authorities []string, err error) // the fingerprints of the manager's current certificates; nil: none

	AnswerTime time.Duration // how long a client may take to read a response; 30 s
}

type server struct {
	app     Application
	opts    Options
	root    *chi.Mux
	openapi func() ([]byte, error) // created on first use
	answers *idempotency.Answers
	audit   *audit.Log
	page    http.Handler
	goal    goalStreams
	streams chan struct{} // a slot for each stream of events

	followers chan struct{} // a slot for each of lines
}

// Handler serves the API of an application, which Replace may replace.
type Handler struct {
	mu      sync.RWMutex
	current *server
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.RLock()
	s := h.current
	h.mu.RUnlock()
	s.root.ServeHTTP(w, r)
}

// Router returns the routes of the API.
func (h *Handler) Router() chi.Routes {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.current.root
}

// Replace serves the application that next returns from now on. Requests that arrive meanwhile wait. If next returns an
// error, Replace returns it, and the handler still serves the previous application, which next may have closed.
func (h *Handler) Replace(next func() (Application, error)) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	app, err := next()
	if err != nil {
		return err
	}
	h.current = h.current.with(app)
	return nil
}

// New returns the handler of the whole API.
func New(app Application, opts Options) (*Handler, error) {
	files, err := web.Handler()
	if err != nil {
		return nil, err
	}
	if opts.Metrics == nil {
		opts.Metrics = metrics.New(app, opts.Version)
	}
	if opts.AnswerTime <= 0 {
		opts.AnswerTime = httpserver.AnswerTime
	}
	s := &server{
		opts: opts, page: files, audit: audit.New(opts.Audit, opts.Logger), answers: &idempotency.Answers{},
		openapi: sync.OnceValues(func() ([]byte, error) { return openapi.Document(opts.Version) }),
		streams: make(chan struct{}, maxStreams), followers: make(chan struct{}, maxFollowers),
	}
	return &Handler{current: s.with(app)}, nil
}

// with returns a server of another application that shares everything else.
func (s *server) with(app Application) *server {
	next := &server{
		app: app, opts: s.opts, root: chi.NewRouter(), openapi: s.openapi, answers: s.answers, audit: s.audit, page: s.page,
		streams: s.streams, followers: s.followers,
	}
	next.routes()
	return next
}

func (s *server) routes() {
	r := s.root
	r.Use(s.begin, s.observe, s.recover, s.sameOrigin, middleware.StripSlashes, middleware.GetHead)
	r.NotFound(s.notFound)
	r.MethodNotAllowed(s.notAllowed)
	r.Get("/healthz", s.handle(s.healthz))
	r.Get("/readyz", s.handle(s.readyz))
	r.Get("/openapi.json", s.serveOpenAPI)
	r.Method(http.MethodGet, "/", s.page)
	r.Method(http.MethodGet, web.Prefix+"*", s.page)
	pages := openapi.Pages()
	r.Handle("/docs", pages)
	r.Handle("/docs/*", pages)
	r.With(s.authenticate, s.holds, s.takesBody, s.permit(users.Viewer)).Method(http.MethodGet, "/metrics", s.opts.Metrics.Handler())
	r.Route("/api/v1", func(r chi.Router) {
		r.Use(s.authenticate, s.holds, s.takesBody)
		for _, one := range s.table() {
			r.With(s.permit(one.role)).Method(one.method, one.path, one.serve)
		}
	})
}

// route is a route below /api/v1 and the minimum role that may use it.
type route struct {
	method, path string
	role         users.Role
	serve        http.HandlerFunc
}

func (s *server) table() []route {
	const viewer, operator, admin = users.Viewer, users.Operator, users.Admin
	states, goals, leases := stateHandlers{s.app, &view.Encoder{}}, goalHandlers{s.app}, leaseHandlers{s.app}
	operations, control, logs := operationHandlers{s.app}, controlHandlers{s.app}, logHandlers{s.app}
	return []route{
		{"POST", "/tokens", viewer, s.handle(s.makeToken)},
		{"GET", "/session", viewer, s.handle(s.getSession)},
		{"POST", "/session", viewer, s.handle(s.signIn)},
		{"DELETE", "/session", viewer, s.handle(s.signOut)},
		{"GET", "/app", viewer, s.view(states.getApp)},
		{"GET", "/app/drawing", viewer, s.handle(states.getDrawing)},
		{"GET", "/app/goal", viewer, s.handle(goals.getGoal)},
		{"PUT", "/app/goal", operator, s.handle(goals.putGoal)},
		{"PATCH", "/app/goal", operator, s.handle(goals.patchGoal)},
		{"PUT", "/app/goal/leases/{lease}", operator, s.handle(leases.lease)},
		{"DELETE", "/app/goal/leases/{lease}", operator, s.handle(leases.endLease)},
		{"POST", "/app/goal/resume", operator, s.takesKey(s.handle(goals.resumeGoal))},
		{"POST", "/app/goal/restore", operator, s.takesKey(s.handle(goals.restoreGoal))},
		{"POST", "/app/tasks/{task}/run", operator, s.takesKey(s.handle(goals.runTask))},
		{"POST", "/app/plan", viewer, s.takesKey(s.handle(goals.makePlan))},
		{"GET", "/components", viewer, s.view(states.getComponents)},
		{"GET", "/credentials", admin, s.handle(s.getCredentials)},
		{"PUT", "/drains/{node}", admin, s.handle(control.drain)},
		{"DELETE", "/drains/{node}", admin, s.handle(control.endDrain)},
		{"GET", "/events", viewer, s.serveEvents},
		{"GET", "/executions", viewer, s.handle(operations.getHistory)},
		{"GET", "/executions/{execution}", viewer, s.handle(operations.getExecution)},
		{"DELETE", "/executions/{execution}", operator, s.handle(operations.cancelExecution)},
		{"GET", "/logs", viewer, s.serveLines},
		{"GET", "/series", viewer, s.handle(states.getSeries)},
		{"GET", "/node", viewer, s.view(states.getNodes)},
		{"POST", "/node/reload", admin, s.takesKey(s.handle(control.reload))},
		{"GET", "/node/{node}", viewer, s.view(states.getNode)},
		{"DELETE", "/node/{node}/operations", operator, s.handle(control.stopAll)},
		{"GET", "/node/{node}/log", viewer, s.handle(logs.getUnitLog)},
		{"DELETE", "/node/{node}/log", admin, s.handle(logs.clearUnitLog)},
		{"GET", "/node/{node}/{component}", viewer, s.view(states.getComponent)},
		{"GET", "/node/{node}/{component}/{operation}", viewer, s.view(states.getOperation)},
		{"POST", "/node/{node}/{component}/{operation}", operator, s.takesKey(s.handle(operations.run))},
		{"DELETE", "/node/{node}/{component}/{operation}", operator, s.handle(control.stop)},
		{"POST", "/node/{node}/{component}/{operation}/signal", operator, s.takesKey(s.handle(control.signal))},
		{"GET", "/node/{node}/{component}/{operation}/log", viewer, s.handle(logs.getLog)},
		{"DELETE", "/node/{node}/{component}/{operation}/log", admin, s.handle(logs.clearLog)},
	}
}
