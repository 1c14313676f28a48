package ready

import (
	"bytes"
	"context"
	"errors"
	"io"
	"regexp"
	"sync"
	"sync/atomic"
)

// lineBytes is the maximum length of a line to match.
const lineBytes = 16 << 10

// Line is met when a complete line of a program's output matches.
type Line struct {
	pattern *regexp.Regexp
	found   chan struct{}
	once    sync.Once
	stopped atomic.Bool // found, or not needed any more
}

// NewLine returns a check that waits for a line matching a regular expression.
func NewLine(pattern string) (*Line, error) {
	compiled, err := regexp.Compile(pattern)
	if err != nil {
		return nil, err
	}
	return &Line{pattern: compiled, found: make(chan struct{})}, nil
}

// Wait blocks until the line has appeared.
func (l *Line) Wait(ctx context.Context) error {
	select {
	case <-l.found:
		return nil
	case <-ctx.Done():
	}
	if l.Met() {
		return nil
	}
	l.stopped.Store(true)
	return errors.New("no such line appeared")
}

// Met reports whether the line has appeared.
func (l *Line) Met() bool {
	select {
	case <-l.found:
		return true
	default:
		return false
	}
}

func (l *Line) String() string { return `log line "` + l.pattern.String() + `"` }

// Tap returns a writer that passes output on to another writer and searches it until the line is
// found or not needed any more. Each stream needs its own tap, which is not safe for concurrent
// use.
func (l *Line) Tap(to io.Writer) io.Writer { return &tap{line: l, to: to} }

type tap struct {
	line *Line
	to   io.Writer
	rest []byte // an incomplete line
}

func (t *tap) Write(p []byte) (int, error) {
	n, err := t.to.Write(p)
	if t.line.stopped.Load() {
		t.rest = nil
		return n, err
	}
	t.search(p)
	return n, err
}

func (t *tap) search(p []byte) {
	for {
		end := bytes.IndexByte(p, '\n')
		if end < 0 {
			t.keep(p)
			return
		}
		t.keep(p[:end])
		if t.line.pattern.Match(bytes.TrimSuffix(t.rest, []byte{'\r'})) {
			t.line.stopped.Store(true)
			t.line.once.Do(func() { close(t.line.found) })
			t.rest = nil
			return
		}
		t.rest, p = t.rest[:0], p[end+1:]
	}
}

// keep adds to the line, up to lineBytes.
func (t *tap) keep(p []byte) {
	t.rest = append(t.rest, p[:min(len(p), lineBytes-len(t.rest))]...)
}
