// Package event reports the progress of images: as events for programs and as lines for people. It
// starts no goroutine.
package event

import (
	"fmt"
	"io"
	"strings"
	"sync"
)

// The states of an image: the current step, and then the result.
const (
	Pulling  = "pulling"  // by the engine
	Packing  = "packing"  // its files are read to compute its layers
	Sending  = "sending"  // to the engine
	Building = "building" // by the engine, step by step
	Writing  = "writing"  // to a layout
	Pushing  = "pushing"  // to a registry

	Retrying  = "retrying" // a failed push is retried
	Built     = "built"
	Unchanged = "unchanged"
	Written   = "written"
	Pushed    = "pushed"
	Context   = "context" // its build context was written
	Planned   = "planned" // by a dry run
	Pinned    = "pinned"  // the name used in manifests is known
	Warning   = "warning" // something may be wrong with it
)

// Event is a step or a result of building an image.
type Event struct {
	Image     string           `json:"image,omitempty"`
	State     string           `json:"state,omitempty"`
	Text      string           `json:"text,omitempty"`        // line for people; empty: progress only
	Done      int64            `json:"done_bytes,omitempty"`  // of Total
	Total     int64            `json:"total_bytes,omitempty"` // 0: unknown
	Step      int              `json:"step,omitempty"`        // of Steps
	Steps     int              `json:"steps,omitempty"`
	Base      string           `json:"base,omitempty"`
	Pinned    string           `json:"pinned,omitempty"` // immutable name of the image, for manifests
	Platforms []string         `json:"platforms,omitempty"`
	Seconds   float64          `json:"seconds,omitempty"`
	Grows     map[string]int64 `json:"grows_bytes,omitempty"` // size added to the base, by layer
}

// Log reports progress, one event at a time.
type Log struct {
	Events func(Event) // receives all events; may be nil
	Lines  io.Writer   // receives the lines of events, unless Events is set; may be nil
	Debug  io.Writer   // receives the output of the engine; may be nil

	mu sync.Mutex
}

// Send reports an event.
func (l *Log) Send(e Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.Events != nil:
		l.Events(e)
	case l.Lines != nil && e.Text != "":
		fmt.Fprintln(l.Lines, e.Text)
	}
}

// Line reports an event with a line for people, which starts with the image's name.
func (l *Log) Line(e Event, format string, args ...any) {
	e.Text = e.Image + ": " + fmt.Sprintf(format, args...)
	l.Send(e)
}

// Transferred reports the progress of a transfer, with a line for people at each quarter.
func (l *Log) Transferred(e Event, quarters *Quarters) {
	if at, ok := quarters.next(e.Done, e.Total); ok {
		l.Line(e, "%s, %d%% of %s", e.State, at, Bytes(e.Total))
		return
	}
	l.Send(e)
}

// Debugf writes complete lines to Debug.
func (l *Log) Debugf(format string, args ...any) {
	if l.Debug == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintln(l.Debug, strings.TrimSuffix(fmt.Sprintf(format, args...), "\n"))
}

// Writer wraps a writer to report e with the number of bytes written, at each hundredth of the
// total but not more often than each megabyte.
func (l *Log) Writer(w io.Writer, e Event) io.Writer {
	return &countingWriter{w: w, event: e, send: l.Send, each: max(1<<20, e.Total/100)}
}

type countingWriter struct {
	w     io.Writer
	event Event
	send  func(Event)
	each  int64
	sent  int64
}

func (w *countingWriter) Write(p []byte) (int, error) {
	n, err := w.w.Write(p)
	w.event.Done += int64(n)
	if w.event.Done-w.sent >= w.each {
		w.sent = w.event.Done
		w.send(w.event)
	}
	return n, err
}

// Quarters tracks which quarter a transfer has reached.
type Quarters struct{ last int64 }

func (q *Quarters) next(done, total int64) (percent int64, ok bool) {
	const minimum = 1 << 20 // smaller transfers are fast
	if total < minimum {
		return 0, false
	}
	at := done * 100 / total / 25 * 25
	if at <= q.last || at >= 100 {
		return 0, false
	}
	q.last = at
	return at, true
}

// Bytes formats a size for people.
func Bytes(n int64) string {
	switch {
	case n >= 1e9:
		return fmt.Sprintf("%.1f GB", float64(n)/1e9)
	case n >= 1e6:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	case n >= 1e3:
		return fmt.Sprintf("%.1f KB", float64(n)/1e3)
	default:
		return fmt.Sprintf("%d bytes", n)
	}
}
