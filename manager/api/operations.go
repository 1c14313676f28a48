package api

import (
	"net/http"

	"github.com/toskose/toskose/manager/outcome"
)

func (s *server) getExecution(r *http.Request) (reply, error) {
	x, err := s.app.Execution(r.Context(), param(r, "execution"))
	return ok(x), err
}

// run waits for the outcome unless the client prefers not to. A client that hangs
// up cancels nothing.
func (s *server) run(r *http.Request) (reply, error) {
	req, err := runRequest(r)
	if err != nil {
		return reply{}, err
	}
	x, err := s.app.Start(r.Context(), req)
	if err != nil {
		return reply{}, err
	}
	header := map[string]string{"Location": "/api/v1/executions/" + x.ID}
	if prefersAsync(r) && x.Err() == nil {
		header["Preference-Applied"] = "respond-async"
		return reply{status: http.StatusAccepted, header: header, body: x}, nil
	}
	if x, err = s.app.Wait(r.Context(), x.ID); err == nil {
		err = x.Err()
	}
	return reply{header: header, body: x}, err
}

func (s *server) stop(r *http.Request) (reply, error) {
	results, err := s.app.Stop(r.Context(), param(r, "node"), param(r, "component"), param(r, "operation"), replicaOf(r))
	return done(results), err
}

func (s *server) stopAll(r *http.Request) (reply, error) {
	results, err := s.app.StopAll(r.Context(), param(r, "node"), replicaOf(r))
	return done(results), err
}

func (s *server) signal(r *http.Request) (reply, error) {
	results, err := s.app.Signal(r.Context(), param(r, "node"), param(r, "component"), param(r, "operation"),
		replicaOf(r), r.URL.Query().Get("signal_type"))
	return done(results), err
}

func (s *server) reload(r *http.Request) (reply, error) {
	results, err := s.app.Reload(r.Context())
	return done(results), err
}

// done answers with the results at each replica.
func done(results []outcome.Result) reply { return ok(map[string]any{"results": results}) }
