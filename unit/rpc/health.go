package rpc

import (
	"fmt"
	"net/http"
)

// getHealth reports whether the unit works.
func (h healthHandler) getHealth(a *answer, _ *http.Request) error {
	switch {
	case h.unit.State() < 1:
		return a.answerOpen(http.StatusServiceUnavailable, "shutting down")
	case h.unit.Healthy() != nil:
		return a.answerOpen(http.StatusServiceUnavailable, "unhealthy")
	}
	return a.answerOpen(http.StatusOK, "ok")
}

// getReadiness reports whether the container is ready for clients. It does not say why not, since
// it is unauthenticated.
func (h healthHandler) getReadiness(a *answer, _ *http.Request) error {
	if err := h.unit.Ready(); err != nil {
		h.logger.Debug("not ready", "why", err)
		return a.answerOpen(http.StatusServiceUnavailable, "not ready")
	}
	return a.answerOpen(http.StatusOK, "ready")
}

// getLiveness reports whether the unit and its programs work, without the reason, since it is
// unauthenticated.
func (h healthHandler) getLiveness(a *answer, _ *http.Request) error {
	if err := h.unit.Live(); err != nil {
		h.logger.Debug("not live", "why", err)
		return a.answerOpen(http.StatusServiceUnavailable, "not live")
	}
	return a.answerOpen(http.StatusOK, "live")
}

// answerOpen responds to an unauthenticated request and closes the connection, so that such clients
// hold none.
func (a *answer) answerOpen(status int, word string) error {
	a.Header().Set("Connection", "close")
	a.Header().Set("Content-Type", "application/json")
	a.WriteHeader(status)
	_, err := fmt.Fprintf(a, "{\"status\":%q}\n", word)
	return err
}
