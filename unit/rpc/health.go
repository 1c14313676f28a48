package rpc

import (
	"fmt"
	"net/http"
)

// getHealth says whether the unit works.
func (s *server) getHealth(a *answer, _ *http.Request) error {
	switch {
	case s.unit.State() < 1:
		return a.openly(http.StatusServiceUnavailable, "shutting down")
	case s.unit.Healthy() != nil:
		return a.openly(http.StatusServiceUnavailable, "unhealthy")
	}
	return a.openly(http.StatusOK, "ok")
}

// getReadiness says whether clients should be led to the container, and not why:
// it takes no password.
func (s *server) getReadiness(a *answer, _ *http.Request) error {
	if err := s.unit.Ready(); err != nil {
		s.logger.Debug("not ready", "why", err)
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
