package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/toskose/toskose/unit"
	"github.com/toskose/toskose/unit/wire"
)

const (
	maxLogs  = 10_000           // in one request
	liveness = 10 * time.Second // how often a reader hears that there is nothing
	lull     = 2 * time.Second  // after which it hears it first
)

// postLogs answers with several logs as one.
func (h mergeHandler) postLogs(a *answer, r *http.Request) error {
	var request wire.LogsRequest
	if err := h.readJSON(a, r, "a request for logs", &request); err != nil {
		return err
	}
	if len(request.Logs) > maxLogs {
		return statusErrorf(http.StatusBadRequest, "at most %d logs are read at once", maxLogs)
	}
	merger, err := h.unit.MergeLogs(request)
	if err != nil {
		return err
	}
	defer merger.Close()
	if c := connectionOf(r); c != nil && request.Follow && !c.follow(!h.auth.required) {
		return statusErrorf(http.StatusServiceUnavailable, "at most %d logs are followed at the same time", h.limits.Tails)
	}
	a.Header().Set("Content-Type", "application/vnd.toskose.logs")
	a.Header().Set("X-Accel-Buffering", "no")
	if request.Follow {
		a.Header().Set("Connection", "close") // it counts as a follower until it ends
	}
	a.WriteHeader(http.StatusOK)
	if err := sendLogs(r.Context(), a, merger, request.Follow); err != nil && !errors.Is(err, io.EOF) && r.Context().Err() == nil {
		h.logger.Debug("logs no longer delivered", "error", err)
	}
	return nil
}

// sendLogs ends with the client, with a log that is closed, or, unless they are
// followed, where all is read.
func sendLogs(ctx context.Context, a *answer, merger *unit.LogMerger, follow bool) error {
	lines := json.NewEncoder(a)
	var due time.Time // when it is said next that there is nothing
	for fresh := false; ctx.Err() == nil; {
		chunk, err := merger.Next()
		if err != nil {
			return err
		}
		if chunk != nil {
			fresh = true
			head := wire.LogChunk{Log: chunk.Log, At: chunk.At, Time: chunk.Time, Bytes: len(chunk.Data), Gap: chunk.Gap, Lost: chunk.Lost}
			if err := lines.Encode(head); err != nil {
				return err
			}
			if _, err := a.Write(chunk.Data); err != nil {
				return err
			}
			continue
		}
		switch now := time.Now(); {
		case due.IsZero():
			err, due = lines.Encode(wire.LogChunk{Live: true}), now.Add(lull)
		case fresh:
			due = now.Add(lull)
		case !now.Before(due):
			err, due = lines.Encode(wire.LogChunk{Live: true, Quiet: true}), now.Add(liveness)
		}
		fresh = false
		if err = errors.Join(err, a.flush()); err != nil || !follow {
			return err
		}
		nothing, cancel := context.WithDeadline(ctx, due)
		merger.Wait(nothing)
		cancel()
	}
	return nil
}
