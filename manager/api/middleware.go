package api

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/toskose/toskose/manager/audit"
	"github.com/toskose/toskose/manager/httpserver"
	"github.com/toskose/toskose/manager/rest"
)

// sameOrigin rejects cross-site requests from browsers: they would carry the password that the browser keeps for
// the documentation page.
func (s *server) sameOrigin(next http.Handler) http.Handler {
	protection := http.NewCrossOriginProtection()
	protection.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.problem(w, r, errForeign)
	}))
	return protection.Handler(next)
}

// recover responds with 500 if a handler panics, which is always a bug.
func (s *server) recover(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			cause := recover()
			if cause == nil {
				return
			}
			if err, isErr := cause.(error); isErr && errors.Is(err, http.ErrAbortHandler) {
				panic(cause)
			}
			s.opts.Logger.Error("handler panicked", "request", requestOf(r).id, "method", r.Method, "path", r.URL.Path,
				"error", cause, "stack", string(debug.Stack()))
			p := problemOf(errInternal)
			p.Request = requestOf(r).id
			if s.opts.Testing {
				p.Detail = fmt.Sprint(cause)
			}
			write(w, p.Status, "application/problem+json", p)
		}()
		next.ServeHTTP(w, r)
	})
}

// observe counts requests and writes the audit log.
func (s *server) observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		counted := &statusWriter{ResponseWriter: w, status: http.StatusOK, time: s.opts.AnswerTime}
		begun := time.Now()
		next.ServeHTTP(counted, r)
		route := chi.RouteContext(r.Context()).RoutePattern()
		took := time.Since(begun)
		s.opts.Metrics.Request(r.Method, route, counted.status, took, w.Header().Get("Content-Type") == eventStream)
		s.audit.Note(auditLine(r, counted, begun))
		s.opts.Logger.Debug("request", "request", requestOf(r).id, "method", r.Method, "path", r.URL.Path, "status", counted.status, "duration", took)
	})
}

// auditLine returns the audit log entry of a request.
func auditLine(r *http.Request, answer *statusWriter, begun time.Time) audit.Line {
	known := requestOf(r)
	line := audit.Line{
		Time: begun.UTC(), Request: known.id, User: known.caller.Name, Role: known.caller.Role, By: known.caller.Method,
		Address: addressOf(r), Client: r.UserAgent(), Method: r.Method, Route: chi.RouteContext(r.Context()).RoutePattern(),
		Node: param(r, "node"), Component: cmp.Or(param(r, "component"), param(r, "task")), Operation: param(r, "operation"),
		Status: answer.status, Seconds: time.Since(begun).Seconds(),
	}
	line.Execution, _ = strings.CutPrefix(answer.Header().Get("Location"), "/api/v1/executions/")
	if !answer.wrote && r.Context().Err() != nil {
		line.Status = 0 // the client disconnected
	}
	return line
}

// holds protects the connection of an authenticated caller while its request is in progress.
func (s *server) holds(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		release, ok := httpserver.Hold(r)
		if !ok {
			w.Header().Set("Retry-After", "1")
			s.problem(w, r, &rest.Error{Kind: rest.ErrUnavailable, Detail: "too many requests are under way"})
			return
		}
		defer release()
		next.ServeHTTP(w, r)
	})
}

// takesKey runs a request with an Idempotency-Key at most once. takesBody has read the body.
func (s *server) takesKey(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := s.answers.Serve(w, r, callerOf(r).Name, next); err != nil {
			s.problem(w, r, err)
		}
	}
}

// statusWriter records the status of a response, and limits how long the client may take to read it.
type statusWriter struct {
	http.ResponseWriter
	time   time.Duration
	status int
	wrote  bool
}

func (w *statusWriter) WriteHeader(status int) {
	if !w.wrote {
		w.status, w.wrote = status, true
		_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(time.Now().Add(w.time))
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *statusWriter) Write(data []byte) (int, error) {
	if !w.wrote {
		w.WriteHeader(http.StatusOK)
	}
	return w.ResponseWriter.Write(data)
}

// Unwrap lets http.ResponseController reach the connection.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (s *server) notFound(w http.ResponseWriter, r *http.Request) {
	s.problem(w, r, fmt.Errorf("%w: %s; see /docs", errNoRoute, r.URL.Path))
}

// notAllowed responds to methods that a path does not support, and to OPTIONS.
func (s *server) notAllowed(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	if r.URL.RawPath != "" {
		path = r.URL.RawPath
	}
	if len(path) > 1 {
		path = strings.TrimSuffix(path, "/")
	}
	allowed := []string{http.MethodOptions}
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		if s.root.Match(chi.NewRouteContext(), method, path) {
			allowed = append(allowed, method)
			if method == http.MethodGet {
				allowed = append(allowed, http.MethodHead)
			}
		}
	}
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	if r.Method == http.MethodOptions {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	s.problem(w, r, fmt.Errorf("%w: %s has %s", errMethod, r.URL.Path, strings.Join(allowed, ", ")))
}
