package logs

import (
	"bytes"
	"fmt"
	"time"

	"github.com/toskose/toskose/unit/wire"
)

// maxLine is the maximum number of bytes kept of an unterminated line.
const maxLine = 64 << 10

// lines splits one log into lines.
type lines struct {
	source
	label   string
	process string
	stand   *standing
	index   int // in stand

	rest     []byte // an unterminated line
	restEnd  cursor // the cursor after rest
	restTime time.Time
}

// took records that everything before a cursor was emitted or filtered out.
func (l *lines) took(at cursor) { l.stand.logs[l.index] = at }

func (l *lines) entry(kind Kind, at time.Time) Entry {
	return Entry{Kind: kind, Time: at, label: l.label, Process: l.process}
}

// add processes a chunk, and passes its entries to emit in order. They are valid until emit returns.
func (l *lines) add(c wire.LogChunk, data []byte, emit func(Entry)) error {
	at, err := parseCursor(c.At)
	if err != nil {
		return err
	}
	if c.Gap {
		l.finish(emit)
		l.took(at)
		e := l.entry(Lost, c.Time)
		e.Bytes, e.Why = c.Lost, "the log was cleared, or the unit cannot tell where the reader was; some lines may come again"
		if c.Lost > 0 {
			e.Why = fmt.Sprintf("%d bytes were rotated away before they were read, or a full disk did not take them", c.Lost)
		}
		emit(e)
	}
	if len(data) == 0 {
		if len(l.rest) == 0 {
			l.took(at)
		}
		return nil
	}
	for len(data) > 0 {
		end := bytes.IndexByte(data, '\n')
		if end < 0 {
			l.keep(data, at, c.Time, emit)
			return nil
		}
		line := data[:end]
		if len(l.rest) > 0 {
			l.rest = append(l.rest, line...)
			line = l.rest
		}
		at.offset += uint64(end) + 1
		l.took(at)
		e := l.entry(Line, c.Time)
		e.Line = line
		emit(e)
		l.rest = nil // emitted lines stay valid
		data = data[end+1:]
	}
	return nil
}

// keep stores the beginning of a line, or emits it if it is too long.
func (l *lines) keep(data []byte, at cursor, when time.Time, emit func(Entry)) {
	l.rest = append(l.rest, data...)
	at.offset += uint64(len(data))
	l.restEnd, l.restTime = at, when
	if len(l.rest) >= maxLine {
		l.finish(emit)
	}
}

// finish emits an unterminated line.
func (l *lines) finish(emit func(Entry)) {
	if len(l.rest) == 0 {
		return
	}
	l.took(l.restEnd)
	e := l.entry(Line, l.restTime)
	e.Line, e.Partial = l.rest, true
	emit(e)
	l.rest = nil
}
