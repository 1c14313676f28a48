package api

import (
	"net/http"

	"github.com/toskose/toskose/manager/rest"
)

func (h goalHandlers) getGoal(*http.Request) (reply, error) { return ok(h.app.Goal()), nil }

// putGoal replaces the goal, and patchGoal adds to it.
func (h goalHandlers) putGoal(r *http.Request) (reply, error) { return h.setGoal(r, false) }

func (h goalHandlers) patchGoal(r *http.Request) (reply, error) { return h.setGoal(r, true) }

func (h goalHandlers) setGoal(r *http.Request, merge bool) (reply, error) {
	req, err := goalRequest(r)
	if err != nil {
		return reply{}, err
	}
	req.Merge = merge
	view, kept, err := h.app.SetGoal(r.Context(), req)
	return goalReply(view, kept), err
}

// resumeGoal removes holds.
func (h goalHandlers) resumeGoal(r *http.Request) (reply, error) {
	var body struct {
		Components []string `json:"components"` // none: all
	}
	if err := decode(r, &body, `{"components": ["api"]}`); err != nil {
		return reply{}, err
	}
	view, kept, err := h.app.ResumeGoal(r.Context(), body.Components, callerOf(r).Name)
	return goalReply(view, kept), err
}

// runTask makes the completion of a task part of the goal.
func (h goalHandlers) runTask(r *http.Request) (reply, error) {
	var body struct {
		Again bool `json:"again"` // including completed indexes
	}
	if err := decode(r, &body, `{"again": true}`); err != nil {
		return reply{}, err
	}
	view, kept, err := h.app.RunTask(r.Context(), param(r, "task"), body.Again, callerOf(r).Name)
	return goalReply(view, kept), err
}

func (h goalHandlers) makePlan(r *http.Request) (reply, error) {
	req, err := goalRequest(r)
	if err != nil {
		return reply{}, err
	}
	return ok(h.app.Plan(r.Context(), req)), nil
}

// goalReply returns 202 if a majority of the replicas does not store the goal yet.
func goalReply(view rest.Goal, kept bool) reply {
	status := http.StatusOK
	if !kept {
		status = http.StatusAccepted
	}
	return reply{status: status, body: view}
}

// restoreGoal sets a goal that getGoal returned earlier.
func (h goalHandlers) restoreGoal(r *http.Request) (reply, error) {
	var body rest.SavedGoal
	if err := decode(r, &body, `{"revision": "3:a", "state": "up"}`); err != nil {
		return reply{}, err
	}
	view, kept, err := h.app.RestoreGoal(r.Context(), body, callerOf(r).Name)
	return goalReply(view, kept), err
}

func goalRequest(r *http.Request) (rest.GoalRequest, error) {
	req := rest.GoalRequest{By: callerOf(r).Name}
	err := decode(r, &req, `{"state": "up"} or {"states": {"api": "running"}}`)
	return req, err
}
