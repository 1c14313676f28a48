package logs

import (
	"bytes"
	"fmt"
	"time"

	"github.com/toskose/toskose/manager/rest"
	"github.com/toskose/toskose/unit/wire"
)

// maxLine is the maximum number of bytes kept of an unterminated line.
const maxLine = 64 << 10

// lines splits one log into lines.
type lines struct {
	source rest.LogSource
	read   *readPosition
	index  int // in read

	unterminated []byte // the beginning of a line
	end          cursor // the cursor after unterminated
	time         time.Time
}

// markRead records that everything before a cursor was emitted or filtered out.
func (l *lines) markRead(at cursor) { l.read.logs[l.index] = at }

func (l *lines) entry(kind rest.LogKind, at time.Time) rest.LogLine {
	return rest.LogLine{Kind: kind, Time: at, LogSource: l.source}
}

// add processes a chunk, and passes its entries to emit in order. They are valid until emit returns.
func (l *lines) add(c wire.LogChunk, data []byte, emit func(rest.LogLine)) error {
	at, err := parseCursor(c.At)
	if err != nil {
		return err
	}
	if c.Gap {
		l.finish(emit)
		l.markRead(at)
		e := l.entry(rest.LogLost, c.Time)
		e.Bytes, e.Why = c.Lost, "the log was cleared, or the unit cannot tell where the reader was; some lines may come again"
		if c.Lost > 0 {
			e.Why = fmt.Sprintf("%d bytes were rotated away before they were read, or a full disk did not take them", c.Lost)
		}
		emit(e)
	}
	if len(data) == 0 {
		if len(l.unterminated) == 0 {
			l.markRead(at)
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
		if len(l.unterminated) > 0 {
			l.unterminated = append(l.unterminated, line...)
			line = l.unterminated
		}
		at.offset += uint64(end) + 1
		l.markRead(at)
		e := l.entry(rest.LogPrinted, c.Time)
		e.Line = line
		emit(e)
		l.unterminated = nil // emitted lines stay valid
		data = data[end+1:]
	}
	return nil
}

// keep stores the beginning of a line, or emits it if it is too long.
func (l *lines) keep(data []byte, at cursor, when time.Time, emit func(rest.LogLine)) {
	l.unterminated = append(l.unterminated, data...)
	at.offset += uint64(len(data))
	l.end, l.time = at, when
	if len(l.unterminated) >= maxLine {
		l.finish(emit)
	}
}

// finish emits an unterminated line.
func (l *lines) finish(emit func(rest.LogLine)) {
	if len(l.unterminated) == 0 {
		return
	}
	l.markRead(l.end)
	e := l.entry(rest.LogPrinted, l.time)
	e.Line, e.Partial = l.unterminated, true
	emit(e)
	l.unterminated = nil
}
