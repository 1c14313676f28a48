package rpc

import (
	"fmt"
	"net/http"
)

// getHealth says whether the unit works.
func (h healthHandler) getHealth(a *answer, _ *http.Request) error {
	switch {
	case h.unit.State() < 1:
		return a.openly(http.StatusServiceUnavailable, "shutting down")
	case h.unit.Healthy() != nil:
		return a.openly(http.StatusServiceUnavailable, "unhealthy")
	}
	return a.openly(http.StatusOK, "ok")
}

// getReadiness says whether clients should be led to the container, and not why:
// it takes no password.
func (h healthHandler) getReadiness(a *answer, _ *http.Request) error {
	if err := h.unit.Ready(); err != nil {
		h.logger.Debug("not ready", "why", err)
		return a.openly(http.StatusServiceUnavailable, "not ready")
	}
	return a.openly(http.StatusOK, "ready")
}

// openly answers a request that takes no password, and closes its connection:
// nobody may hold one by it.
func (a *answer) openly(status int, word string) error {
	a.Header().Set("Connection", "close")
	a.Header().Set("Content-Type", "application/json")
	a.WriteHeader(status)
	_, err := fmt.Fprintf(a, "{\"status\":%q}\n", word)
	return err
}
