package rpc

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/toskose/toskose/unit"
	"github.com/toskose/toskose/unit/wire"
)

// maxJournalWait bounds how long one request of the journal waits.
const maxJournalWait = time.Minute

// serveLogTail follows a log of a process. Names hold no slash, so what comes
// after one is the stream.
func (s *server) serveLogTail(a *answer, r *http.Request) error {
	name, stream, given := strings.Cut(strings.TrimPrefix(r.URL.Path, "/logtail/"), "/")
	if !given {
		stream = string(wire.Stdout)
	}
	if stream != string(wire.Stdout) && stream != string(wire.Stderr) {
		return refuse(http.StatusNotFound, "a process has no log %q", clip(stream))
	}
	follow, err := s.unit.FollowProcessLog(name, wire.Stream(stream))
	return s.follow(a, r, follow, err)
}

func (s *server) serveMainLogTail(a *answer, r *http.Request) error {
	follow, err := s.unit.FollowLog()
	return s.follow(a, r, follow, err)
}

// follow sends a log until the client or the unit ends it.
func (s *server) follow(a *answer, r *http.Request, follow unit.Follow, err error) error {
	if code, isFault := wire.FaultCodeOf(err); isFault && code != wire.ShutdownState {
		return refuse(http.StatusNotFound, "%w", err)
	}
	if err != nil {
		return err
	}
	a.Header().Set("Content-Type", "text/plain;charset=utf-8")
	a.Header().Set("X-Accel-Buffering", "no")
	a.Header().Set("Connection", "close") // supervisorctl leaves only when the connection does
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

// flusher sends each piece at once.
type flusher struct{ a *answer }

func (f flusher) Write(p []byte) (int, error) {
	n, err := f.a.Write(p)
	if err != nil {
		return n, err
	}
	return n, f.a.flush()
}

// serveJournal answers the entries after a cursor, waiting for the first if
// asked to.
func (s *server) serveJournal(a *answer, r *http.Request) error {
	query := r.URL.Query()
	after := query.Get("after")
	if !validCursor(after) {
		return refuse(http.StatusBadRequest, "after is no cursor INSTANCE:SEQ: %q", clip(after))
	}
	wait, err := journalWait(query.Get("wait"))
	if err != nil {
		return err
	}
	page, err := s.unit.Journal(r.Context(), after, wait)
	if code, isFault := wire.FaultCodeOf(err); isFault && (code == wire.IncorrectParameters || code == wire.BadArguments) {
		return refuse(http.StatusBadRequest, "%w", err)
	}
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
	lines := json.NewEncoder(a)
	for _, entry := range page.Entries {
		if err := lines.Encode(entry); err != nil {
			s.logger.Debug("journal not delivered", "error", err)
			return nil
		}
	}
	return nil
}

// validCursor tells whether text is a cursor; none is the beginning.
func validCursor(text string) bool {
	if text == "" {
		return true
	}
	instance, seq, _ := strings.Cut(text, ":")
	_, err := strconv.ParseUint(seq, 10, 64)
	return instance != "" && err == nil
}

func journalWait(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	wait, err := time.ParseDuration(text)
	if err != nil || wait < 0 {
		return 0, refuse(http.StatusBadRequest, "wait is no duration such as 30s: %q", clip(text))
	}
	return min(wait, maxJournalWait), nil
}

// nextCursor is where a reader goes on who has read this page.
func nextCursor(page unit.JournalPage, after string) string {
	if n := len(page.Entries); n > 0 {
		return fmt.Sprintf("%s:%d", page.Instance, page.Entries[n-1].Seq)
	}
	if page.Reset || after == "" {
		return page.Instance + ":0"
	}
	return after
}
