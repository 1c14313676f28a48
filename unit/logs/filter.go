package logs

import (
	"bytes"
	"io"
	"sync"
)

// The delimiters of captured output (Supervisor manual, "Capture Mode").
var (
	captureBegin = []byte("<!--XSUPERVISOR:BEGIN-->")
	captureEnd   = []byte("<!--XSUPERVISOR:END-->")
)

// The beginning of an ANSI escape sequence, and the bytes that end one.
var escapeBegin = []byte("\x1b[")

const escapeEnds = "HfABCDRsuJKhlpm"

// FilterOptions configure a Filter.
type FilterOptions struct {
	StripANSI  bool
	CaptureMax int64             // size of the tail of captured output to keep; 0: capture nothing
	Captured   func(data []byte) // called with complete captured output
}

// Filter removes escape sequences and capture delimiters from a stream. It passes everything else
// on, including captured output, which its Sink withholds from the log. Each run of a process needs
// its own Filter.
type Filter struct {
	o  FilterOptions
	to io.Writer

	mu        sync.Mutex
	escaping  bool   // within an escape sequence
	partial   []byte // a possible beginning of an escape sequence
	pending   []byte // a possible beginning of a delimiter
	capturing bool
	captured  []byte
	buf       []byte
}

// NewFilter returns a filter that discards its output until Pass is called.
func NewFilter(o FilterOptions) *Filter { return &Filter{o: o, to: io.Discard} }

// Pass sets the destination of the filtered stream; call it before the first Write.
func (f *Filter) Pass(to io.Writer) { f.to = to }

// Sink returns a writer to a log that omits captured output. It is meant for the filter's
// destination.
func (f *Filter) Sink(log io.Writer) io.Writer { return filterSink{f, log} }

type filterSink struct {
	filter *Filter
	log    io.Writer
}

// Write is called during a Write of the filter, which holds the lock.
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

// Write filters p and returns the error of the destination.
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

// Flush passes on an incomplete delimiter when the process has ended.
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

// strip removes escape sequences; one may continue in the next write.
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

// capture looks for delimiters; one may continue in the next write.
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

// prefixAtEnd returns the length of the longest suffix of p that is a prefix of mark.
func prefixAtEnd(p, mark []byte) int {
	for n := min(len(p), len(mark)-1); n > 0; n-- {
		if bytes.HasPrefix(mark, p[len(p)-n:]) {
			return n
		}
	}
	return 0
}
