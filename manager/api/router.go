package api

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"

	"github.com/toskose/toskose/manager"
	"github.com/toskose/toskose/manager/logs"
	"github.com/toskose/toskose/manager/metrics"
	"github.com/toskose/toskose/manager/outcome"
	"github.com/toskose/toskose/manager/view"
)

// Application is what the API serves; *manager.App implements it.
type Application interface {
	Topology
	Goals
	Operations
	Control
	Logs
	Ready() ([]manager.NotReady, int)
	Events(after string) func(context.Context) ([]manager.Event, error)
}

// Topology returns states.
type Topology interface {
	App(ctx context.Context, d manager.Detail) view.App
	Nodes(ctx context.Context, d manager.Detail) []view.Node
	Node(ctx context.Context, node string, d manager.Detail) (view.Node, error)
	Component(ctx context.Context, node, component string, d manager.Detail) (view.Component, error)
}

// Goals takes the application where it should be.
type Goals interface {
	Goal() manager.GoalView
	SetGoal(ctx context.Context, req manager.GoalRequest) (view manager.GoalView, kept bool, err error)
	ResumeGoal(ctx context.Context, components []string, by string) (view manager.GoalView, kept bool, err error)
	Plan(ctx context.Context, req manager.GoalRequest) manager.PlanView
}

// Operations runs operations.
type Operations interface {
	Operation(ctx context.Context, node, component, operation string, d manager.Detail) (view.Operation, error)
	Start(ctx context.Context, req manager.RunRequest) (outcome.Execution, error)
	Wait(ctx context.Context, id string) (outcome.Execution, error)
	Execution(ctx context.Context, id string) (outcome.Execution, error)
}

// Control ends and signals operations.
type Control interface {
	Stop(ctx context.Context, node, component, operation, replica string) ([]outcome.Result, error)
	StopAll(ctx context.Context, node, replica string) ([]outcome.Result, error)
	Signal(ctx context.Context, node, component, operation, replica, signal string) ([]outcome.Result, error)
	Reload(ctx context.Context) ([]outcome.Result, error)
}

// Logs reads and clears logs.
type Logs interface {
	Log(ctx context.Context, node, component, operation, replica string, req manager.LogRequest) ([]outcome.Log, error)
	UnitLog(ctx context.Context, node, replica string, req manager.LogRequest) ([]outcome.Log, error)
	ClearLog(ctx context.Context, node, component, operation, replica string) ([]outcome.Result, error)
	ClearUnitLog(ctx context.Context, node, replica string) ([]outcome.Result, error)
	Lines(ctx context.Context, q logs.Query) (*logs.Reader, error)
}

// Options configure the API.
type Options struct {
	User, Password string // of everything that needs them
	Version        string
	Logger         *slog.Logger
	Testing        bool             // answers to internal errors say what broke
	Metrics        *metrics.Metrics // nil: executions are not counted
}

type server struct {
	app     Application
	opts    Options
	root    *chi.Mux
	openapi []byte
	streams chan struct{} // a slot for each stream of events

	followers chan struct{} // a slot for each of lines
}

// New returns the handler of the whole API.
func New(app Application, opts Options) (http.Handler, error) {
	document, err := openAPI(opts.Version)
	if err != nil {
		return nil, err
	}
	if opts.Metrics == nil {
		opts.Metrics = metrics.New(app, opts.Version)
	}
	s := &server{
		app: app, opts: opts, root: chi.NewRouter(), openapi: document,
		streams: make(chan struct{}, maxStreams), followers: make(chan struct{}, maxFollowers),
	}
	s.routes()
	return s.root, nil
}

func (s *server) routes() {
	r := s.root
	r.Use(s.observe, s.recover, sameOrigin, middleware.StripSlashes, middleware.GetHead)
	r.NotFound(s.notFound)
	r.MethodNotAllowed(s.notAllowed)
	r.Get("/healthz", s.handle(s.healthz))
	r.Get("/readyz", s.handle(s.readyz))
	r.Get("/openapi.json", s.serveOpenAPI)
	r.Handle("/docs", docs())
	r.Handle("/docs/*", docs())
	r.With(s.authenticate).Method(http.MethodGet, "/metrics", s.opts.Metrics.Handler())
	r.Route("/api/v1", func(r chi.Router) {
		r.Use(s.authenticate)
		r.Get("/app", s.view(s.getApp))
		r.Get("/app/goal", s.handle(s.getGoal))
		r.With(s.takesBody).Put("/app/goal", s.handle(s.putGoal))
		r.With(s.takesBody).Patch("/app/goal", s.handle(s.patchGoal))
		r.With(s.takesBody).Post("/app/goal/resume", s.handle(s.resumeGoal))
		r.With(s.takesBody).Post("/app/plan", s.handle(s.makePlan))
		r.Get("/components", s.view(s.getComponents))
		r.Get("/events", s.serveEvents)
		r.Get("/executions/{execution}", s.handle(s.getExecution))
		r.Get("/logs", s.serveLines)
		r.Get("/node", s.view(s.getNodes))
		r.Post("/node/reload", s.handle(s.reload))
		r.Get("/node/{node}", s.view(s.getNode))
		r.Delete("/node/{node}/operations", s.handle(s.stopAll))
		r.Get("/node/{node}/log", s.handle(s.getUnitLog))
		r.Delete("/node/{node}/log", s.handle(s.clearUnitLog))
		r.Get("/node/{node}/{component}", s.view(s.getComponent))
		r.Get("/node/{node}/{component}/{operation}", s.view(s.getOperation))
		r.With(s.takesBody).Post("/node/{node}/{component}/{operation}", s.handle(s.run))
		r.Delete("/node/{node}/{component}/{operation}", s.handle(s.stop))
		r.Post("/node/{node}/{component}/{operation}/signal", s.handle(s.signal))
		r.Get("/node/{node}/{component}/{operation}/log", s.handle(s.getLog))
		r.Delete("/node/{node}/{component}/{operation}/log", s.handle(s.clearLog))
	})
}
