package logs

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/toskose/toskose/unit/wire"
)

// maxLine is the most bytes of a line that are written as one; what is longer
// comes in several pieces.
const maxLine = 16 << 10

// nanoseconds is RFC 3339 with all of them, so that every time is of one length.
const nanoseconds = "2006-01-02T15:04:05.000000000Z07:00"

// Style is how a line is written to the container's output.
type Style int

// The styles of lines.
const (
	// Prefixed is `COMPONENT:OPERATION | LINE`, with the line's bytes as they are.
	Prefixed Style = iota
	// JSON is one object in each line: time (RFC 3339, UTC, nanoseconds),
	// component, operation, stream, and line, or, where the line is not UTF-8,
	// base64 with all of its bytes. A piece of a line that goes on has
	// "partial":true.
	JSON
)

// format writes lines in a style.
type format struct{ style Style }

func (f format) line(to, time []byte, source *Lines, line []byte, partial bool) []byte {
	if f.style == Prefixed {
		to = append(to, source.prefix...)
		to = append(to, line...)
		return append(to, '\n')
	}
	to = append(to, `{"time":"`...)
	to = append(to, time...)
	to = append(to, source.prefix...)
	if utf8.Valid(line) {
		to = append(to, `,"line":`...)
		to = appendJSON(to, line)
	} else {
		to = append(to, `,"base64":"`...)
		to = base64.StdEncoding.AppendEncode(to, line)
		to = append(to, '"')
	}
	if partial {
		to = append(to, `,"partial":true`...)
	}
	return append(to, "}\n"...)
}

// dropped says that lines are missing.
func (f format) dropped(now time.Time, stream wire.Stream, lines, size int) []byte {
	if f.style == Prefixed {
		return fmt.Appendf(nil, "toskose-unit | %d lines of %d bytes were dropped here: the container's output was not read\n", lines, size)
	}
	return fmt.Appendf(nil, "{\"time\":\"%s\",\"stream\":%q,\"dropped_lines\":%d,\"dropped_bytes\":%d}\n",
		now.UTC().Format(nanoseconds), stream, lines, size)
}

// appendJSON writes valid UTF-8 as a JSON string (RFC 8259, 7).
func appendJSON(to, text []byte) []byte {
	const hex = "0123456789abcdef"
	to = append(to, '"')
	plain := 0 // where the bytes begin that stand for themselves
	for i, c := range text {
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		to = append(to, text[plain:i]...)
		plain = i + 1
		switch c {
		case '"', '\\':
			to = append(to, '\\', c)
		case '\t':
			to = append(to, `\t`...)
		case '\r':
			to = append(to, `\r`...)
		default:
			to = append(to, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	to = append(to, text[plain:]...)
	return append(to, '"')
}

// Lines takes one stream of a process apart into lines and gives them to a
// Console. Its methods never wait for a reader. It starts no goroutine.
type Lines struct {
	console *Console
	feed    *feed
	format  format
	prefix  []byte

	mu     sync.Mutex
	rest   []byte // of a line whose end has not come; never empty after a piece of it was written
	buf    []byte
	time   []byte // of what is being written
	counts *lineCounts
}

// lineCounts are shared by the writers of one stream, run after run.
type lineCounts struct{ written, dropped atomic.Uint64 }

// Lines gives a writer for a stream of COMPONENT:OPERATION.
func (c *Console) Lines(component, operation string, stream wire.Stream, style Style) *Lines {
	l := &Lines{console: c, feed: c.feed(stream), format: format{style}, counts: &lineCounts{}}
	if style == Prefixed {
		l.prefix = []byte(component + ":" + operation + " | ")
		return l
	}
	l.prefix = append(l.prefix, `","component":`...)
	l.prefix = appendJSON(l.prefix, bytes.ToValidUTF8([]byte(component), []byte("\uFFFD")))
	l.prefix = append(l.prefix, `,"operation":`...)
	l.prefix = appendJSON(l.prefix, bytes.ToValidUTF8([]byte(operation), []byte("\uFFFD")))
	l.prefix = append(l.prefix, `,"stream":`...)
	l.prefix = strconv.AppendQuote(l.prefix, string(stream))
	return l
}

// Write takes all of p. The end of it that is no whole line is kept until the
// line ends, grows too long, or is flushed.
func (l *Lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tick()
	for left := p; len(left) > 0; {
		end := bytes.IndexByte(left, '\n')
		if end < 0 {
			l.rest = append(l.rest, left...)
			l.cut()
			break
		}
		line := left[:end]
		if len(l.rest) > 0 {
			l.rest = append(l.rest, line...)
			l.cut()
			line = l.rest
		}
		for len(line) > maxLine {
			n := pieceOf(line)
			l.put(line[:n], true)
			line = line[n:]
		}
		l.put(line, false)
		l.rest = l.rest[:0]
		left = left[end+1:]
	}
	return len(p), nil
}

func (l *Lines) tick() {
	if l.format.style == JSON {
		l.time = l.console.now().UTC().AppendFormat(l.time[:0], nanoseconds)
	}
}

// cut writes pieces of the rest as long as it is too long for one.
func (l *Lines) cut() {
	at := 0
	for len(l.rest)-at > maxLine {
		n := pieceOf(l.rest[at:])
		l.put(l.rest[at:at+n], true)
		at += n
	}
	l.rest = append(l.rest[:0], l.rest[at:]...)
}

// pieceOf is how much of a long line is its next piece: it does not end within
// a character of UTF-8.
func pieceOf(line []byte) int {
	for n := maxLine; n > maxLine-utf8.UTFMax; n-- {
		if utf8.RuneStart(line[n]) {
			return n
		}
	}
	return maxLine
}

func (l *Lines) put(line []byte, partial bool) {
	l.buf = l.format.line(l.buf[:0], l.time, l, line, partial)
	if l.feed.put(l.buf, l.format) {
		l.counts.written.Add(uint64(len(line)))
	} else {
		l.counts.dropped.Add(uint64(len(line)))
	}
}

// Flush writes what has come of a line that has no end.
func (l *Lines) Flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.rest) > 0 {
		l.tick()
		l.put(l.rest, false)
	}
	l.rest, l.buf = nil, nil
}

// Next gives a writer for the stream's next run, which counts into the same
// Stats. Each run has its own, so that their lines do not mix.
func (l *Lines) Next() *Lines {
	return &Lines{console: l.console, feed: l.feed, format: l.format, prefix: l.prefix, counts: l.counts}
}

// Stats count the bytes of lines that were queued and dropped, of all runs.
func (l *Lines) Stats() Stats {
	return Stats{Written: l.counts.written.Load(), Dropped: l.counts.dropped.Load()}
}
