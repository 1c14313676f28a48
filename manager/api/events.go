package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/toskose/toskose/manager/outcome"
)

const (
	maxStreams = 256              // concurrent streams of events
	heartbeat  = 15 * time.Second // so that proxies do not close a quiet stream

	// upToDate tells those who do not follow that all is told for now.
	upToDate = ": up to date\n\n"
)

// serveEvents streams what happens to components as server-sent events.
func (s *server) serveEvents(w http.ResponseWriter, r *http.Request) {
	select {
	case s.streams <- struct{}{}:
		defer func() { <-s.streams }()
	default:
		s.problem(w, r, &outcome.Error{Kind: outcome.ErrUnavailable, Detail: fmt.Sprintf("%d clients already follow the events", maxStreams)})
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	if r.Method == http.MethodHead {
		return
	}
	stream := http.NewResponseController(w)
	say := func(text string) bool {
		_ = stream.SetWriteDeadline(time.Now().Add(writeTime))
		_, err := w.Write([]byte(text))
		return err == nil && stream.Flush() == nil
	}
	s.stream(r, say)
}

// stream ends with the client or the manager, or with a client that does not read
// in time: when it comes back, it is told what it missed, or that it did.
func (s *server) stream(r *http.Request, say func(string) bool) {
	next := s.app.Events(r.Header.Get("Last-Event-ID"))
	quiet, comment := time.Duration(0), upToDate
	for alive := say(": the states now, then what changes them\n\n"); alive; {
		ctx, cancel := context.WithTimeout(r.Context(), quiet)
		events, err := next(ctx)
		cancel()
		switch {
		case errors.Is(err, context.DeadlineExceeded) && r.Context().Err() == nil:
			alive = say(comment)
			quiet, comment = heartbeat, ": still here\n\n"
			continue
		case err != nil:
			return
		}
		var text strings.Builder
		for _, e := range events {
			if data, err := json.Marshal(e); err == nil {
				fmt.Fprintf(&text, "id: %s\nevent: %s\ndata: %s\n\n", e.ID, e.Kind, data)
			}
		}
		alive = say(text.String())
	}
}
