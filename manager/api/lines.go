package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/toskose/toskose/manager"
	"github.com/toskose/toskose/manager/logs"
	"github.com/toskose/toskose/manager/rest"
	"github.com/toskose/toskose/unit/wire"
)

const (
	maxFollowers  = 240 // of logs; a unit has room for 256
	standardLines = 1000
	pageBytes     = 8 << 20 // approximate size of the lines on a page
)

// serveLines returns log lines: one page, or an endless stream of server-sent events.
func (s *server) serveLines(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Vary", "Accept")
	follow, err := flag(r, "follow")
	switch {
	case err != nil:
		s.problem(w, r, err)
	case follow || strings.HasPrefix(r.Header.Get("Accept"), eventStream):
		s.followLines(w, r)
	default:
		s.handle(s.getLines)(w, r)
	}
}

func (s *server) followLines(w http.ResponseWriter, r *http.Request) {
	query, err := linesQuery(r)
	if err != nil {
		s.problem(w, r, err)
		return
	}
	select {
	case s.followers <- struct{}{}:
		defer func() { <-s.followers }()
		defer s.opts.Metrics.Follow()()
	default:
		s.problem(w, r, &rest.Error{Kind: rest.ErrUnavailable, Detail: fmt.Sprintf("%d clients already follow logs", maxFollowers)})
		return
	}
	query.Follow = true
	if id := r.Header.Get("Last-Event-ID"); id != "" {
		query.After = id
	}
	lines, err := s.app.Lines(r.Context(), query)
	if err != nil {
		s.problem(w, r, err)
		return
	}
	defer lines.Close()
	w.Header().Set("Content-Type", eventStream)
	w.Header().Set("X-Accel-Buffering", "no")
	if r.Method != http.MethodHead {
		s.sendLines(r.Context(), w, lines)
	}
}

// sendLines ends when the client disconnects, the manager stops, or the client does not read in time. A client
// that reconnects resumes at its position.
func (s *server) sendLines(ctx context.Context, w http.ResponseWriter, lines manager.LineReader) {
	stream := http.NewResponseController(w)
	text := []byte(": lines of logs\n\n")
	for {
		_ = stream.SetWriteDeadline(time.Now().Add(s.opts.AnswerTime))
		if _, err := w.Write(text); err != nil || stream.Flush() != nil {
			return
		}
		quiet, cancel := context.WithTimeout(ctx, heartbeat)
		entries, err := lines.Next(quiet)
		cancel()
		text = text[:0]
		switch {
		case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
			// A client that reconnects should not read filtered lines again.
			text = fmt.Appendf(text, "id: %s\n\n", lines.Position())
			continue
		case err != nil:
			return
		}
		for i := range entries {
			e := &entries[i]
			if e.Position != "" {
				text = append(append(append(text, "id: "...), e.Position...), '\n')
			}
			text = append(append(append(text, "event: "...), e.Kind...), "\ndata: "...)
			text = append(e.AppendJSON(text), "\n\n"...)
		}
	}
}

// getLines returns a page of lines, as JSON or as text.
func (s *server) getLines(r *http.Request) (reply, error) {
	query, err := linesQuery(r)
	if err != nil {
		return reply{}, err
	}
	p, err := pageOf(r, standardLines, logs.MaxTail)
	if err != nil {
		return reply{}, err
	}
	lines, err := s.app.Lines(r.Context(), query)
	if err != nil {
		return reply{}, err
	}
	defer lines.Close()
	page, text, more, err := readPage(r.Context(), lines, p.limit)
	if err != nil {
		return reply{}, err
	}
	var next string
	if more {
		next = page.Next
	}
	if strings.HasPrefix(r.Header.Get("Accept"), "text/plain") {
		return paged(r, text, next), nil
	}
	return paged(r, page, next), nil
}

// readPage reads up to limit lines, or to the end.
func readPage(ctx context.Context, lines manager.LineReader, limit int) (page rest.LogPage, text string, more bool, err error) {
	page = rest.LogPage{Lines: []rest.LogLine{}}
	var plain strings.Builder
	size := 0
	for {
		entries, err := lines.Next(ctx)
		if errors.Is(err, io.EOF) {
			page.Next = lines.Position()
			return page, plain.String(), false, nil
		}
		if err != nil {
			return page, "", false, &rest.Error{Kind: rest.ErrUnavailable, Detail: "the manager is shutting down", Cause: err}
		}
		for i := range entries {
			e := &entries[i]
			if e.Kind != rest.LogPrinted {
				page.Notes = append(page.Notes, e.Clone())
				fmt.Fprintf(&plain, "(%s)\n", e.Why)
				continue
			}
			page.Lines = append(page.Lines, e.Clone())
			fmt.Fprintf(&plain, "%s | %s\n", e.Process(), e.Line)
			size += len(e.Line)
			if len(page.Lines) >= limit || size >= pageBytes {
				page.Next = e.Position
				return page, plain.String(), true, nil
			}
		}
	}
}

// linesQuery reads the query parameters that select lines.
func linesQuery(r *http.Request) (rest.LogQuery, error) {
	query := r.URL.Query()
	q := rest.LogQuery{
		Of: query["of"], Replica: query.Get("replica"), Stream: wire.Stream(query.Get("stream")),
		Text: query.Get("text"), Match: query.Get("match"), After: query.Get("after"),
	}
	for name, at := range map[string]*time.Time{"since": &q.Since, "until": &q.Until} {
		if !query.Has(name) {
			continue
		}
		parsed, err := time.Parse(time.RFC3339, query.Get(name))
		if err != nil {
			return q, invalid("%s is a time such as 2026-11-22T12:00:00Z, not %q", name, query.Get(name))
		}
		*at = parsed
	}
	if query.Has("tail") {
		n, err := strconv.Atoi(query.Get("tail"))
		if err != nil {
			return q, invalid("tail is a number of lines, not %q", query.Get("tail"))
		}
		q.Tail = &n
	}
	return q, nil
}
