package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/toskose/toskose/manager"
	"github.com/toskose/toskose/manager/rest"
)

const (
	maxStreams = 256              // concurrent streams of events
	heartbeat  = 15 * time.Second // keeps proxies from closing an idle stream

	eventStream = "text/event-stream"
	stillHere   = ": still here\n\n" // a comment
)

// serveEvents streams component events as server-sent events, or returns a page of them.
func (s *server) serveEvents(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Vary", "Accept")
	if strings.HasPrefix(r.Header.Get("Accept"), "application/json") {
		s.handle(s.getEvents)(w, r)
		return
	}
	goals, err := s.goal.follow(s.app, r)
	if err != nil {
		s.problem(w, r, err)
		return
	}
	select {
	case s.streams <- struct{}{}:
		defer func() { <-s.streams }()
		defer s.opts.Metrics.Follow()()
	default:
		s.problem(w, r, &rest.Error{Kind: rest.ErrUnavailable, Detail: fmt.Sprintf("%d clients already follow the events", maxStreams)})
		return
	}
	w.Header().Set("Content-Type", eventStream)
	w.Header().Set("X-Accel-Buffering", "no")
	if r.Method == http.MethodHead {
		return
	}
	stream := http.NewResponseController(w)
	say := func(text string) bool {
		_ = stream.SetWriteDeadline(time.Now().Add(s.opts.AnswerTime))
		_, err := w.Write([]byte(text))
		return err == nil && stream.Flush() == nil
	}
	s.stream(r, goals, say)
}

// stream ends when the client disconnects, the manager stops, or the client does not read in time. A client that
// reconnects gets the events it missed, or an event that says that some were lost.
func (s *server) stream(r *http.Request, goals *goalStream, say func(string) bool) {
	next := s.app.Events(lastEvent(r))
	unwanted := eventFilter(r)
	for alive := say(": the states now, then what changes them\n\n" + goals.event()); alive; {
		ctx, cancel := context.WithTimeout(r.Context(), heartbeat)
		events, err := next(goals.until(ctx))
		cancel()
		switch {
		case errors.Is(err, context.DeadlineExceeded) && r.Context().Err() == nil:
			alive = say(stillHere)
			continue
		case err != nil && goals.due() && r.Context().Err() == nil:
			alive = say(goals.event())
			continue
		case err != nil:
			return
		}
		alive = say(streamed(events, unwanted))
	}
}

// streamed formats events for a stream. A client resumes after the last id it received. Only the last of several
// events with one id carries it, so that an interrupted client gets all of them again; a client whose filter
// excludes them still advances.
func streamed(events []manager.Event, unwanted func(manager.Event) bool) string {
	var text strings.Builder
	for i, e := range events {
		id := e.ID
		e.ID = "" // sent on its own line
		data, err := json.Marshal(e)
		wanted := err == nil && !unwanted(e)
		if !e.More && (wanted || i == len(events)-1) {
			fmt.Fprintf(&text, "id: %s\n", id)
		}
		if wanted {
			fmt.Fprintf(&text, "event: %s\ndata: %s\n", e.Kind, data)
		}
		text.WriteString("\n")
	}
	return text.String()
}

// lastEvent returns the id of the last event that the client received.
func lastEvent(r *http.Request) string {
	if id := r.Header.Get("Last-Event-ID"); id != "" {
		return id
	}
	return r.URL.Query().Get("after")
}

// eventFilter reads node, component and kind, and returns a function that reports whether an event is filtered
// out.
func eventFilter(r *http.Request) func(manager.Event) bool {
	query := r.URL.Query()
	node, component, kinds := query.Get("node"), query.Get("component"), query["kind"]
	return func(e manager.Event) bool {
		return e.Kind != manager.EventMissing && (node != "" && e.Node != node || component != "" && e.Component != component ||
			len(kinds) > 0 && !slices.Contains(kinds, e.Kind))
	}
}

// The number of events on a page.
const (
	standardEvents = 256
	maxWait        = 60 * time.Second
)

// getEvents returns the next events, and waits for the first one if requested. The next page starts after events
// that filters excluded, too.
func (s *server) getEvents(r *http.Request) (reply, error) {
	wanted, err := pageOf(r, standardEvents, maxPage)
	if err != nil {
		return reply{}, err
	}
	wait, err := waitOf(r)
	if err != nil {
		return reply{}, err
	}
	events, err := nextEvents(r.Context(), s.app.Events(lastEvent(r)), wanted.limit, wait)
	if err != nil {
		return reply{}, err
	}
	page := rest.EventPage{Events: []manager.Event{}, Next: lastEvent(r)}
	if strings.HasPrefix(page.Next, manager.Latest) {
		page.Next = ""
	}
	if len(events) > 0 {
		page.Next = events[len(events)-1].ID
	}
	page.Events = append(page.Events, slices.DeleteFunc(events, eventFilter(r))...)
	return ok(page), nil
}

// nextEvents collects events. Events with one id, which are the initial states, stay together.
func nextEvents(ctx context.Context, next func(context.Context) ([]manager.Event, error), limit int, wait time.Duration) ([]manager.Event, error) {
	var all []manager.Event
	for len(all) <= limit || all[len(all)-1].ID == all[0].ID {
		waiting, cancel := context.WithTimeout(ctx, wait)
		events, err := next(waiting)
		cancel()
		if err != nil && ctx.Err() != nil {
			return nil, err
		}
		if err != nil {
			break // no more events, or the manager is stopping
		}
		all, wait = append(all, events...), 0
	}
	for end := limit; end < len(all); end++ {
		if all[end].ID != all[end-1].ID {
			return all[:end], nil
		}
	}
	return all, nil
}
