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
	"github.com/toskose/toskose/manager/users"
	"github.com/toskose/toskose/manager/view"
	"github.com/toskose/toskose/manager/web"
)

// Application is the interface that the API serves; *manager.App implements it.
type Application interface {
	Topology
	Goals
	Operations
	Control
	Logs
	Ready() ([]manager.NotReady, int)
	UnitCredentials(ctx context.Context) []rest.UnitCredentials
	Events(after string) func(context.Context) ([]manager.Event, error)
}

// Topology returns states.
type Topology interface {
	App(ctx context.Context, d manager.Detail) rest.App
	Drawing() manager.Drawing
	Nodes(ctx context.Context, d manager.Detail) []rest.Node
	Node(ctx context.Context, node string, d manager.Detail) (rest.Node, error)
	Component(ctx context.Context, node, component string, d manager.Detail) (rest.Component, error)
}

// Goals sets goals and reports progress.
type Goals interface {
	Goal() rest.Goal
	Signing() manager.Signing
	GoalChanged() <-chan struct{}
	SetGoal(ctx context.Context, req rest.GoalRequest) (view rest.Goal, kept bool, err error)
	ResumeGoal(ctx context.Context, components []string, by string) (view rest.Goal, kept bool, err error)
	RestoreGoal(ctx context.Context, g rest.SavedGoal, by string) (view rest.Goal, kept bool, err error)
	Lease(ctx context.Context, req rest.LeaseRequest) (rest.Lease, error)
	EndLease(ctx context.Context, id string) error
	RunTask(ctx context.Context, task string, again bool, by string) (view rest.Goal, kept bool, err error)
	Plan(ctx context.Context, req rest.GoalRequest) rest.Plan
}

// Operations runs operations.
type Operations interface {
	Operation(ctx context.Context, node, component, operation string, d manager.Detail) (rest.Operation, error)
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
	Lines(ctx context.Context, q rest.LogQuery) (manager.LineReader, error)
}

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
	answers idempotency.Answers
	audit   *audit.Log
	page    http.Handler
	encoder view.Encoder // of the whole application
	goal    goalStreams
	streams chan struct{} // a slot for each stream of events

	followers chan struct{} // a slot for each of lines
}

// New returns the handler of the whole API.
func New(app Application, opts Options) (http.Handler, error) {
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
		app: app, opts: opts, root: chi.NewRouter(), page: files, audit: audit.New(opts.Audit, opts.Logger),
		openapi: sync.OnceValues(func() ([]byte, error) { return openapi.Document(opts.Version) }),
		streams: make(chan struct{}, maxStreams), followers: make(chan struct{}, maxFollowers),
	}
	s.routes()
	return s.root, nil
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
	return []route{
		{"POST", "/tokens", viewer, s.handle(s.makeToken)},
		{"GET", "/session", viewer, s.handle(s.getSession)},
		{"POST", "/session", viewer, s.handle(s.signIn)},
		{"DELETE", "/session", viewer, s.handle(s.signOut)},
		{"GET", "/app", viewer, s.view(s.getApp)},
		{"GET", "/app/drawing", viewer, s.handle(s.getDrawing)},
		{"GET", "/app/goal", viewer, s.handle(s.getGoal)},
		{"PUT", "/app/goal", operator, s.handle(s.putGoal)},
		{"PATCH", "/app/goal", operator, s.handle(s.patchGoal)},
		{"PUT", "/app/goal/leases/{lease}", operator, s.handle(s.lease)},
		{"DELETE", "/app/goal/leases/{lease}", operator, s.handle(s.endLease)},
		{"POST", "/app/goal/resume", operator, s.takesKey(s.handle(s.resumeGoal))},
		{"POST", "/app/goal/restore", operator, s.takesKey(s.handle(s.restoreGoal))},
		{"POST", "/app/tasks/{task}/run", operator, s.takesKey(s.handle(s.runTask))},
		{"POST", "/app/plan", viewer, s.takesKey(s.handle(s.makePlan))},
		{"GET", "/components", viewer, s.view(s.getComponents)},
		{"GET", "/credentials", admin, s.handle(s.getCredentials)},
		{"PUT", "/drains/{node}", admin, s.handle(s.drain)},
		{"DELETE", "/drains/{node}", admin, s.handle(s.endDrain)},
		{"GET", "/events", viewer, s.serveEvents},
		{"GET", "/executions", viewer, s.handle(s.getHistory)},
		{"GET", "/executions/{execution}", viewer, s.handle(s.getExecution)},
		{"DELETE", "/executions/{execution}", operator, s.handle(s.cancelExecution)},
		{"GET", "/logs", viewer, s.serveLines},
		{"GET", "/node", viewer, s.view(s.getNodes)},
		{"POST", "/node/reload", admin, s.takesKey(s.handle(s.reload))},
		{"GET", "/node/{node}", viewer, s.view(s.getNode)},
		{"DELETE", "/node/{node}/operations", operator, s.handle(s.stopAll)},
		{"GET", "/node/{node}/log", viewer, s.handle(s.getUnitLog)},
		{"DELETE", "/node/{node}/log", admin, s.handle(s.clearUnitLog)},
		{"GET", "/node/{node}/{component}", viewer, s.view(s.getComponent)},
		{"GET", "/node/{node}/{component}/{operation}", viewer, s.view(s.getOperation)},
		{"POST", "/node/{node}/{component}/{operation}", operator, s.takesKey(s.handle(s.run))},
		{"DELETE", "/node/{node}/{component}/{operation}", operator, s.handle(s.stop)},
		{"POST", "/node/{node}/{component}/{operation}/signal", operator, s.takesKey(s.handle(s.signal))},
		{"GET", "/node/{node}/{component}/{operation}/log", viewer, s.handle(s.getLog)},
		{"DELETE", "/node/{node}/{component}/{operation}/log", admin, s.handle(s.clearLog)},
	}
}
