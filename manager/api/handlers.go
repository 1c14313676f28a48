package api

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/toskose/toskose/manager"
	"github.com/toskose/toskose/manager/outcome"
	"github.com/toskose/toskose/unit/wire"
)

func (s *server) healthz(*http.Request) (reply, error) {
	return ok(map[string]string{"status": "ok"}), nil
}

// readyz takes no password, so it names the nodes that are not ready, but not why.
func (s *server) readyz(*http.Request) (reply, error) {
	missing, units := s.app.Ready()
	if len(missing) == 0 {
		return ok(map[string]any{"status": "ready", "units": units}), nil
	}
	silent := make(notReadyError, 0, len(missing))
	for _, m := range missing {
		silent = append(silent, m.Node)
	}
	return reply{}, silent
}

func (s *server) getApp(r *http.Request, d manager.Detail) (any, error) {
	return s.app.App(r.Context(), d), nil
}

func (s *server) getNodes(r *http.Request, d manager.Detail) (any, error) {
	return s.app.Nodes(r.Context(), d), nil
}

func (s *server) getNode(r *http.Request, d manager.Detail) (any, error) {
	return s.app.Node(r.Context(), param(r, "node"), d)
}

func (s *server) getComponent(r *http.Request, d manager.Detail) (any, error) {
	return s.app.Component(r.Context(), param(r, "node"), param(r, "component"), d)
}

func (s *server) getOperation(r *http.Request, d manager.Detail) (any, error) {
	return s.app.Operation(r.Context(), param(r, "node"), param(r, "component"), param(r, "operation"), d)
}

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
		s.metrics.operation(x.Outcome)
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

func (s *server) getLog(r *http.Request) (reply, error) {
	req, err := logRequest(r)
	if err != nil {
		return reply{}, err
	}
	logs, err := s.app.Log(r.Context(), param(r, "node"), param(r, "component"), param(r, "operation"), replicaOf(r), req)
	return logReply(r, logs), err
}

func (s *server) clearLog(r *http.Request) (reply, error) {
	results, err := s.app.ClearLog(r.Context(), param(r, "node"), param(r, "component"), param(r, "operation"), replicaOf(r))
	return done(results), err
}

func (s *server) getUnitLog(r *http.Request) (reply, error) {
	req, err := logRequest(r)
	if err != nil {
		return reply{}, err
	}
	logs, err := s.app.UnitLog(r.Context(), param(r, "node"), replicaOf(r), req)
	return logReply(r, logs), err
}

func (s *server) clearUnitLog(r *http.Request) (reply, error) {
	results, err := s.app.ClearUnitLog(r.Context(), param(r, "node"), replicaOf(r))
	return done(results), err
}

// done answers with the results at each replica.
func done(results []outcome.Result) reply { return ok(map[string]any{"results": results}) }

// replicaOf returns the address or instance of the replica that a request is for.
func replicaOf(r *http.Request) string { return r.URL.Query().Get("replica") }

// view answers with states, and with processes if they are wanted.
func (s *server) view(show func(*http.Request, manager.Detail) (any, error)) http.HandlerFunc {
	return s.handle(func(r *http.Request) (reply, error) {
		wanted, err := flag(r, "processes")
		if err != nil {
			return reply{}, err
		}
		body, err := show(r, manager.Detail(wanted))
		return ok(body), err
	})
}

// flag reads a query parameter that is true or false.
func flag(r *http.Request, name string) (bool, error) {
	switch value := r.URL.Query().Get(name); value {
	case "":
		return false, nil
	case "true", "false":
		return value == "true", nil
	default:
		return false, invalid("%s is true or false, not %q", name, value)
	}
}

// logRequest reads std_type, tail, offset and length.
func logRequest(r *http.Request) (manager.LogRequest, error) {
	query := r.URL.Query()
	req := manager.LogRequest{Stream: wire.Stream(query.Get("std_type"))}
	if !query.Has("std_type") {
		req.Stream = wire.Stdout
	}
	var offset int64
	for name, field := range map[string]*int64{"tail": &req.Tail, "offset": &offset, "length": &req.Length} {
		if !query.Has(name) {
			continue
		}
		n, err := strconv.ParseInt(query.Get(name), 10, 64)
		if err != nil {
			return req, &outcome.Error{Kind: outcome.ErrInvalid, Detail: fmt.Sprintf("%s=%q is not a number of bytes", name, query.Get(name))}
		}
		*field = n
	}
	if query.Has("offset") {
		req.Offset = &offset
	}
	return req, nil
}

// logReply answers in plain text if asked to, with a heading for each replica if
// there are several.
func logReply(r *http.Request, logs []outcome.Log) reply {
	if !strings.HasPrefix(r.Header.Get("Accept"), "text/plain") {
		return ok(map[string]any{"logs": logs})
	}
	var text strings.Builder
	for _, l := range logs {
		if len(logs) > 1 {
			fmt.Fprintf(&text, "==> %s <==\n", l.Replica)
		}
		if l.Problem != "" {
			fmt.Fprintf(&text, "(%s)\n", l.Problem)
		}
		text.WriteString(l.Text)
	}
	return ok(text.String())
}
