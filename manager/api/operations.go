package api

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/toskose/toskose/manager/rest"
	"github.com/toskose/toskose/unit/wire"
)

// The number of executions on a page of the history.
const (
	standardHistory = 50
	maxHistory      = 200
)

// getHistory returns past executions.
func (h operationHandlers) getHistory(r *http.Request) (reply, error) {
	wanted, err := pageOf(r, standardHistory, maxHistory)
	if err != nil {
		return reply{}, err
	}
	output, err := flagOr(r, "output", true)
	if err != nil {
		return reply{}, err
	}
	query := r.URL.Query()
	q := rest.HistoryQuery{
		Node: query.Get("node"), Component: query.Get("component"), Operation: query.Get("operation"), By: query.Get("by"),
		Outcome: query.Get("outcome"), After: wanted.after, Limit: wanted.limit, Output: output,
	}
	if text := query.Get("index"); text != "" {
		index, err := strconv.Atoi(text)
		if err != nil || index < 0 {
			return reply{}, invalid("index is a number from 0 on, not %q", text)
		}
		q.Index = &index
	}
	switch wire.Outcome(q.Outcome) {
	case "", wire.OutcomeRunning, wire.OutcomeSucceeded, wire.OutcomeFailed, wire.OutcomeCancelled, wire.OutcomeTimeout, wire.OutcomeLost:
	default:
		return reply{}, invalid("%q is not an outcome that a journal has", q.Outcome)
	}
	page, err := h.app.History(r.Context(), q)
	return paged(r, page, page.Next), err
}

func (h operationHandlers) getExecution(r *http.Request) (reply, error) {
	wait, err := waitOf(r)
	if err != nil {
		return reply{}, err
	}
	x, err := h.app.Execution(r.Context(), param(r, "execution"), wait)
	return ok(x), err
}

func (h operationHandlers) cancelExecution(r *http.Request) (reply, error) {
	x, err := h.app.Cancel(r.Context(), param(r, "execution"))
	return ok(x), err
}

// run waits for the outcome unless the client prefers not to wait. A client that disconnects cancels nothing.
func (h operationHandlers) run(r *http.Request) (reply, error) {
	req, err := runRequest(r)
	if err != nil {
		return reply{}, err
	}
	x, err := h.app.Start(r.Context(), req)
	if err != nil {
		return reply{}, err
	}
	header := map[string]string{"Location": "/api/v1/executions/" + x.ID}
	patience, patient := prefers(r)
	if !patient || x.Err() != nil {
		ended, err := h.app.Wait(r.Context(), x.ID)
		return executionReply(header, ended, err)
	}
	header["Preference-Applied"] = "respond-async"
	if patience > 0 {
		ctx, cancel := context.WithTimeout(r.Context(), patience)
		defer cancel()
		ended, err := h.app.Wait(ctx, x.ID)
		if !errors.Is(err, context.DeadlineExceeded) || r.Context().Err() != nil {
			delete(header, "Preference-Applied")
			return executionReply(header, ended, err)
		}
		x = ended
	}
	return reply{status: http.StatusAccepted, header: header, body: x}, nil
}

// executionReply returns an execution that was waited for, or the error if it did not succeed.
func executionReply(header map[string]string, x rest.Execution, err error) (reply, error) {
	if err == nil {
		err = x.Err()
	}
	return reply{header: header, body: x}, err
}

func (h controlHandlers) stop(r *http.Request) (reply, error) {
	results, err := h.app.Stop(r.Context(), param(r, "node"), param(r, "component"), param(r, "operation"), replicaOf(r))
	return resultsReply(results), err
}

func (h controlHandlers) stopAll(r *http.Request) (reply, error) {
	results, err := h.app.StopAll(r.Context(), param(r, "node"), replicaOf(r))
	return resultsReply(results), err
}

func (h controlHandlers) signal(r *http.Request) (reply, error) {
	results, err := h.app.Signal(r.Context(), param(r, "node"), param(r, "component"), param(r, "operation"),
		replicaOf(r), r.URL.Query().Get("signal_type"))
	return resultsReply(results), err
}

func (h controlHandlers) reload(r *http.Request) (reply, error) {
	results, err := h.app.Reload(r.Context())
	return resultsReply(results), err
}

// resultsReply returns the results of each replica.
func resultsReply(results []rest.Result) reply { return ok(map[string]any{"results": results}) }
