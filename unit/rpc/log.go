package rpc

import (
	"bytes"
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/toskose/toskose/unit"
	"github.com/toskose/toskose/unit/wire"
)

// getLog returns a piece of a process's log.
func (h pageHandler) getLog(a *answer, r *http.Request) error {
	name, stream, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/log/"), "/")
	if stream != string(wire.Stdout) && stream != string(wire.Stderr) {
		return statusErrorf(http.StatusNotFound, "a log is at /log/NAMESPEC/stdout or /log/NAMESPEC/stderr")
	}
	return h.logPage(a, r, func(ctx context.Context, after string, wait time.Duration) (unit.LogPage, error) {
		return h.unit.ProcessLogAfter(ctx, name, wire.Stream(stream), after, wait)
	})
}

// getMainLog returns a piece of the unit's own log.
func (h pageHandler) getMainLog(a *answer, r *http.Request) error {
	return h.logPage(a, r, h.unit.LogAfter)
}

func (s *server) logPage(a *answer, r *http.Request, read func(context.Context, string, time.Duration) (unit.LogPage, error)) error {
	wait, err := waitOf(r)
	if err != nil {
		return err
	}
	page, err := read(r.Context(), r.URL.Query().Get("after"), wait)
	if err != nil {
		return err
	}
	a.Header().Set("Content-Type", "application/octet-stream")
	a.Header().Set("X-Content-Type-Options", "nosniff")
	a.Header().Set("Content-Length", strconv.Itoa(len(page.Data)))
	a.Header().Set("Toskose-Cursor", page.Next)
	if page.Gap {
		a.Header().Set("Toskose-Gap", "true")
	}
	a.WriteHeader(http.StatusOK)
	if _, err := a.Write(page.Data); err != nil {
		s.logger.Debug("log not delivered", "path", clip(r.URL.Path), "error", err)
	}
	return nil
}

// getMetrics returns all metrics, or an error.
func (h healthHandler) getMetrics(a *answer, _ *http.Request) error {
	var text bytes.Buffer
	if err := h.unit.WriteMetrics(&text); err != nil {
		return err
	}
	a.Header().Set("Content-Type", unit.MetricsType)
	a.Header().Set("Content-Length", strconv.Itoa(text.Len()))
	a.WriteHeader(http.StatusOK)
	if _, err := a.Write(text.Bytes()); err != nil {
		h.logger.Debug("metrics not delivered", "error", err)
	}
	return nil
}
