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
	maxLogs       = 10_000           // in one request
	quietInterval = 10 * time.Second // interval of quiet lines
	firstQuiet    = 2 * time.Second  // delay of the first quiet line
)

// postLogs returns several logs as one.
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
		return statusErrorf(http.StatusServiceUnavailable, "at most %d logs are followed at the same time", h.limits.Followers)
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

// sendLogs sends the logs until the client hangs up, a log is closed or, without follow, all data
// was sent.
func sendLogs(ctx context.Context, a *answer, merger *unit.LogMerger, follow bool) error {
	lines := json.NewEncoder(a)
	var due time.Time // time of the next quiet line
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
			err, due = lines.Encode(wire.LogChunk{Live: true}), now.Add(firstQuiet)
		case fresh:
			due = now.Add(firstQuiet)
		case !now.Before(due):
			err, due = lines.Encode(wire.LogChunk{Live: true, Quiet: true}), now.Add(quietInterval)
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
