package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/toskose/toskose/manager"
)

const (
	maxStreams = 16               // concurrent streams of events: each polls every unit
	heartbeat  = 15 * time.Second // so that proxies do not close a quiet stream
)

// serveEvents streams what happens to components as server-sent events.
func (s *server) serveEvents(w http.ResponseWriter, r *http.Request) {
	select {
	case s.streams <- struct{}{}:
		defer func() { <-s.streams }()
	default:
		s.problem(w, r, &manager.Error{Kind: manager.ErrUnavailable, Detail: fmt.Sprintf("%d clients already follow the events", maxStreams)})
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

// stream ends with the client or the manager. It reads events to the end, so that
// nothing is left waiting to send.
func (s *server) stream(r *http.Request, say func(string) bool) {
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for alive, events := say(": the states now, then what changes them\n\n"), s.app.Events(r.Context()); ; {
		select {
		case event, more := <-events:
			if !more {
				return
			}
			if data, err := json.Marshal(event); err == nil && alive {
				alive = say(fmt.Sprintf("event: %s\ndata: %s\n\n", event.Kind, data))
			}
		case <-beat.C:
			if alive {
				alive = say(": still here\n\n")
			}
		}
	}
}
