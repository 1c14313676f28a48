package rpc

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/toskose/toskose/unit"
	"github.com/toskose/toskose/unit/wire"
)

// maxWait bounds how long a request waits for an event.
const maxWait = time.Minute

// serveLogTail follows a log of a process. Names contain no slash, so the text after one is the
// stream.
func (h tailHandler) serveLogTail(a *answer, r *http.Request) error {
	name, stream, ok := strings.Cut(strings.TrimPrefix(r.URL.Path, "/logtail/"), "/")
	if !ok {
		stream = string(wire.Stdout)
	}
	if stream != string(wire.Stdout) && stream != string(wire.Stderr) {
		return statusErrorf(http.StatusNotFound, "a process has no log %q", clip(stream))
	}
	return h.follow(a, r, func() (unit.Follow, error) { return h.unit.FollowProcessLog(name, wire.Stream(stream)) })
}

func (h tailHandler) serveMainLogTail(a *answer, r *http.Request) error {
	return h.follow(a, r, h.unit.FollowLog)
}

// follow sends a log until the client hangs up or the unit ends.
func (s *server) follow(a *answer, r *http.Request, open func() (unit.Follow, error)) error {
	if c := connectionOf(r); c != nil && !c.follow(!s.auth.required) {
		return statusErrorf(http.StatusServiceUnavailable, "at most %d logs are followed at the same time", s.limits.Followers)
	}
	follow, err := open()
	if code, isFault := wire.FaultCodeOf(err); isFault && code != wire.ShutdownState {
		return statusErrorf(http.StatusNotFound, "%w", err)
	}
	if err != nil {
		return err
	}
	a.Header().Set("Content-Type", "text/plain;charset=utf-8")
	a.Header().Set("X-Accel-Buffering", "no")
	a.Header().Set("Connection", "close") // supervisorctl ends only when the connection is closed
	a.WriteHeader(http.StatusOK)
	if err := a.flush(); err != nil {
		return nil //nolint:nilerr // the client went away: nobody is left to tell
	}
	if err := follow(r.Context(), flusher{a}); err != nil && r.Context().Err() == nil {
		s.logger.Debug("log no longer followed", "path", clip(r.URL.Path), "error", err)
	}
	a.extend()
	return nil
}

// flusher flushes every write.
type flusher struct{ a *answer }

func (f flusher) Write(p []byte) (int, error) {
	n, err := f.a.Write(p)
	if err != nil {
		return n, err
	}
	return n, f.a.flush()
}

// getJournal returns the entries after a cursor, optionally waiting for the first one.
func (h componentHandler) getJournal(a *answer, r *http.Request) error {
	after := r.URL.Query().Get("after")
	if !validCursor(after) {
		return statusErrorf(http.StatusBadRequest, "after is neither a cursor INSTANCE:SEQ nor now: %q", clip(after))
	}
	wait, err := waitOf(r)
	if err != nil {
		return err
	}
	page, err := h.unit.Journal(r.Context(), after, wait)
	if err != nil {
		return err
	}
	a.Header().Set("Content-Type", "application/x-ndjson")
	a.Header().Set("Toskose-Instance", page.Instance)
	a.Header().Set("Toskose-Cursor", nextCursor(page, after))
	if page.Reset {
		a.Header().Set("Toskose-Reset", "true")
	}
	a.WriteHeader(http.StatusOK)
	if err := writeLines(a, page.Entries); err != nil {
		h.logger.Debug("journal not delivered", "error", err)
	}
	return nil
}

func writeLines(w io.Writer, entries []wire.Entry) error {
	lines := json.NewEncoder(w)
	for _, entry := range entries {
		if err := lines.Encode(entry); err != nil {
			return err
		}
	}
	return nil
}

// validCursor reports whether text is a cursor; the empty one is the beginning.
func validCursor(text string) bool {
	if text == "" || text == unit.Now {
		return true
	}
	instance, seq, _ := strings.Cut(text, ":")
	_, err := strconv.ParseUint(seq, 10, 64)
	return instance != "" && err == nil
}

// waitOf returns the wait parameter of a request.
func waitOf(r *http.Request) (time.Duration, error) {
	text := r.URL.Query().Get("wait")
	if text == "" {
		return 0, nil
	}
	wait, err := time.ParseDuration(text)
	if err != nil || wait < 0 {
		return 0, statusErrorf(http.StatusBadRequest, "wait is not a duration such as 30s: %q", clip(text))
	}
	return min(wait, maxWait), nil
}

// nextCursor returns the cursor after a page.
func nextCursor(page unit.JournalPage, after string) string {
	if n := len(page.Entries); n > 0 {
		return fmt.Sprintf("%s:%d", page.Instance, page.Entries[n-1].Seq)
	}
	if page.Reset || after == "" {
		return page.Instance + ":0"
	}
	return after
}
