package logs

import (
	"bytes"
	"io"
	"sync"
)

// What encloses output that is captured (Supervisor manual, "Capture Mode").
var (
	captureBegin = []byte("<!--XSUPERVISOR:BEGIN-->")
	captureEnd   = []byte("<!--XSUPERVISOR:END-->")
)

// escapeBegin begins an ANSI escape sequence, and one of escapeEnds ends it.
var escapeBegin = []byte("\x1b[")

const escapeEnds = "HfABCDRsuJKhlpm"

// FilterOptions say what a Filter does.
type FilterOptions struct {
	StripANSI  bool
	CaptureMax int64             // how much of captured output is kept, its end; 0: none is captured
	Captured   func(data []byte) // called with captured output when it is complete
}

// Filter takes escape sequences and the marks of captured output out of a stream.
// It passes everything else on, captured output too, which its Sink then keeps from
// the log. Each run of a process needs its own.
type Filter struct {
	o  FilterOptions
	to io.Writer

	mu        sync.Mutex
	escaping  bool   // within an escape sequence
	partial   []byte // the beginning of an escape sequence, perhaps
	pending   []byte // the beginning of a mark, perhaps
	capturing bool
	captured  []byte
	buf       []byte
}

// NewFilter returns a filter that passes nothing on before Pass.
func NewFilter(o FilterOptions) *Filter { return &Filter{o: o, to: io.Discard} }

// Pass sets where the filtered stream goes, before the first Write.
func (f *Filter) Pass(to io.Writer) { f.to = to }

// Sink returns a writer to a log, which leaves out what is captured. It is for what
// the filter passes on.
func (f *Filter) Sink(log io.Writer) io.Writer { return filterSink{f, log} }

type filterSink struct {
	filter *Filter
	log    io.Writer
}

// Write is called within a Write of the filter, whose lock it has.
func (s filterSink) Write(p []byte) (int, error) {
	f := s.filter
	if !f.capturing {
		return s.log.Write(p)
	}
	f.captured = append(f.captured, p...)
	if surplus := int64(len(f.captured)) - f.o.CaptureMax; surplus > 0 {
		f.captured = append(f.captured[:0], f.captured[surplus:]...)
	}
	return len(p), nil
}

// Write filters p, and returns the error of what it has passed on.
func (f *Filter) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	data := p
	if f.o.StripANSI {
		data = f.strip(p)
	}
	if f.o.CaptureMax > 0 {
		return len(p), f.capture(data)
	}
	return len(p), f.pass(data)
}

// Flush passes on what might have become a mark: the process has ended.
func (f *Filter) Flush() {
	f.mu.Lock()
	defer f.mu.Unlock()
	_ = f.pass(append(f.pending, f.partial...))
	f.pending, f.partial = nil, nil
}

func (f *Filter) pass(data []byte) error {
	if len(data) == 0 {
		return nil
	}
	_, err := f.to.Write(data)
	return err
}

// strip removes escape sequences, of which one may continue in the next write.
func (f *Filter) strip(p []byte) []byte {
	if len(f.partial) > 0 {
		p = append(f.partial, p...)
		f.partial = nil
	}
	f.buf = f.buf[:0]
	for len(p) > 0 {
		if f.escaping {
			end := bytes.IndexAny(p, escapeEnds)
			if end < 0 {
				return f.buf
			}
			p, f.escaping = p[end+1:], false
			continue
		}
		begin := bytes.Index(p, escapeBegin)
		if begin < 0 {
			n := len(p) - prefixAtEnd(p, escapeBegin)
			f.partial = append([]byte(nil), p[n:]...)
			return append(f.buf, p[:n]...)
		}
		f.buf = append(f.buf, p[:begin]...)
		p, f.escaping = p[begin+len(escapeBegin):], true
	}
	return f.buf
}

// capture looks for marks, of which one may continue in the next write.
func (f *Filter) capture(p []byte) (err error) {
	if len(f.pending) > 0 {
		p = append(f.pending, p...)
		f.pending = nil
	}
	for {
		mark := captureBegin
		if f.capturing {
			mark = captureEnd
		}
		before, after, found := bytes.Cut(p, mark)
		if !found {
			n := len(p) - prefixAtEnd(p, mark)
			f.pending = append([]byte(nil), p[n:]...)
			before = p[:n]
		}
		if failed := f.pass(before); failed != nil {
			err = failed
		}
		if !found {
			return err
		}
		if f.capturing {
			f.o.Captured(f.captured)
			f.captured = nil
		}
		f.capturing = !f.capturing
		p = after
	}
}

// prefixAtEnd returns the length of the longest end of p that begins mark.
func prefixAtEnd(p, mark []byte) int {
	for n := min(len(p), len(mark)-1); n > 0; n-- {
		if bytes.HasPrefix(mark, p[len(p)-n:]) {
			return n
		}
	}
	return 0
}
