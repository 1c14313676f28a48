package logs

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/toskose/toskose/unit/wire"
)

// maxLine is the maximum length of a line in bytes; longer lines are split.
const maxLine = 16 << 10

// nanoseconds is RFC 3339 with nine fractional digits, so that all times have the same length.
const nanoseconds = "2006-01-02T15:04:05.000000000Z07:00"

// Style is the format of a line in the container's output.
type Style int

// The styles of lines.
const (
	// Prefixed is `COMPONENT:OPERATION | LINE`, with the line's bytes as they are.
	Prefixed Style = iota
	// JSON is one object per line: time (RFC 3339, UTC, nanoseconds), component, operation, stream,
	// and line, or base64 for a line that is not UTF-8. A piece of a split line has "partial":true.
	JSON
)

func (l *Lines) line(to, line []byte, partial bool) []byte {
	if l.spool.style == Prefixed {
		to = append(to, l.prefix...)
		to = append(to, line...)
		return append(to, '\n')
	}
	to = append(to, `{"time":"`...)
	to = append(to, l.time...)
	to = append(to, l.prefix...)
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

// dropped returns a note about missing lines.
func (s Style) dropped(at time.Time, stream wire.Stream, m missed) []byte {
	if s == Prefixed {
		return fmt.Appendf(nil, "toskose-unit | %d lines of %d bytes were dropped here: the output was not read\n", m.lines, m.bytes)
	}
	return fmt.Appendf(nil, "{\"time\":\"%s\",\"stream\":%q,\"dropped_lines\":%d,\"dropped_bytes\":%d}\n",
		at.UTC().Format(nanoseconds), stream, m.lines, m.bytes)
}

// appendJSON appends valid UTF-8 as a JSON string (RFC 8259, 7).
func appendJSON(to, text []byte) []byte {
	const hex = "0123456789abcdef"
	to = append(to, '"')
	plain := 0 // start of bytes that need no escaping
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

// Lines splits one stream of a process into lines for a Console. Its methods never wait for a
// reader.
type Lines struct {
	now    func() time.Time
	spool  *Spool // of the stream, shared by all runs
	prefix []byte

	// Owned by the outlet's goroutine:
	rest []byte // an incomplete line; not empty once a piece of it was written
	time []byte // of the current part
}

// Lines returns a writer for a stream of COMPONENT:OPERATION.
func (c *Console) Lines(component, operation string, stream wire.Stream, style Style) *Lines {
	l := &Lines{now: c.now, spool: &Spool{to: c.outlet(stream), stream: stream, style: style}}
	return l.Of(component, operation)
}

// Of returns a writer for COMPONENT:OPERATION with the same Spool.
func (l *Lines) Of(component, operation string) *Lines {
	l = l.Plain()
	if l.spool.style == Prefixed {
		l.prefix = []byte(component + ":" + operation + " | ")
		return l
	}
	l.prefix = append(l.prefix, `","component":`...)
	l.prefix = appendJSON(l.prefix, bytes.ToValidUTF8([]byte(component), []byte("\uFFFD")))
	l.prefix = append(l.prefix, `,"operation":`...)
	l.prefix = appendJSON(l.prefix, bytes.ToValidUTF8([]byte(operation), []byte("\uFFFD")))
	l.prefix = append(l.prefix, `,"stream":`...)
	l.prefix = strconv.AppendQuote(l.prefix, string(l.spool.stream))
	return l
}

// Plain returns a writer of lines without a prefix with the same Spool.
func (l *Lines) Plain() *Lines { return &Lines{now: l.now, spool: l.spool} }

// Spool returns the spool shared by all runs.
func (l *Lines) Spool() *Spool { return l.spool }

// Write accepts all of p. An incomplete line is kept until it ends, grows too long, or is flushed.
func (l *Lines) Write(p []byte) (int, error) {
	if !l.spool.to.enqueue(part{spool: l.spool, lines: l, at: l.now()}, p) {
		l.spool.dropped.Add(uint64(len(p)))
	}
	return len(p), nil
}

// Flush ends an incomplete line.
func (l *Lines) Flush() {
	l.spool.to.enqueue(part{spool: l.spool, lines: l, at: l.now(), flush: true}, nil)
}

// format formats the lines of a part.
func (l *Lines) format(p part, data []byte) {
	if l.spool.style == JSON {
		l.time = p.at.UTC().AppendFormat(l.time[:0], nanoseconds)
	}
	for len(data) > 0 {
		end := bytes.IndexByte(data, '\n')
		if end < 0 {
			l.rest = append(l.rest, data...)
			l.cut()
			break
		}
		line := data[:end]
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
		data = data[end+1:]
	}
	if p.flush {
		l.end()
	}
}

// end ends an incomplete line.
func (l *Lines) end() {
	if len(l.rest) > 0 {
		l.put(l.rest, false)
	}
	l.rest = nil
}

// cut writes pieces of an incomplete line until the rest fits into one.
func (l *Lines) cut() {
	at := 0
	for len(l.rest)-at > maxLine {
		n := pieceOf(l.rest[at:])
		l.put(l.rest[at:at+n], true)
		at += n
	}
	l.rest = append(l.rest[:0], l.rest[at:]...)
}

// pieceOf returns the length of the next piece of a long line. It does not split a UTF-8 character.
func pieceOf(line []byte) int {
	for n := maxLine; n > maxLine-utf8.UTFMax; n-- {
		if utf8.RuneStart(line[n]) {
			return n
		}
	}
	return maxLine
}

func (l *Lines) put(line []byte, partial bool) {
	o := l.spool.to
	o.text = l.line(o.text, line, partial)
	l.spool.written.Add(uint64(len(line)))
	if len(o.text) >= formatted {
		o.send()
	}
}

// Next returns a writer for the stream's next run with the same Spool. Each run has its own, so
// that their lines do not mix.
func (l *Lines) Next() *Lines { return &Lines{now: l.now, spool: l.spool, prefix: l.prefix} }

// Stats returns the bytes of lines written and dropped, over all runs.
func (l *Lines) Stats() Stats {
	return Stats{Written: l.spool.written.Load(), Dropped: l.spool.dropped.Load()}
}
