package logs

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/toskose/toskose/unit/wire"
)

const (
	// spoolFull is how much of a stream is spooled for the reader of the container's output, a pipe
	// or a terminal, before the program that prints it is blocked.
	spoolFull = 1 << 20
	// spoolMost is the maximum size of a spool. A blocked program adds only the content of its pipe
	// when it ends, so only one that is restarted again and again without a reader reaches this
	// limit.
	spoolMost = 4 << 20
)

// errStalled is the reason for dropped output.
var errStalled = errors.New("its reader does not read")

// Blocker is a destination of output that may have to wait for its reader: a Spool or a File.
type Blocker interface {
	// full returns a channel that is closed when there is room again; nil if there is room.
	full() <-chan struct{}
}

// Spool counts the queued data of one stream of a program, or of a log that is a pipe or terminal.
type Spool struct {
	to     *outlet
	stream wire.Stream
	style  Style // of its lines

	// Guarded by the outlet's lock:
	waiting int           // in bytes
	notFull chan struct{} // closed when there is room again; nil if there is room
	missed  missed        // since the last part was queued

	written, dropped atomic.Uint64 // bytes of lines
}

// full returns a channel that is closed when the spool has room again; nil if it has, or if there
// is no spool.
func (s *Spool) full() <-chan struct{} {
	if s == nil {
		return nil
	}
	s.to.mu.Lock()
	defer s.to.mu.Unlock()
	return s.notFull
}

// droppedNote returns the line that reports missing lines.
func (s *Spool) droppedNote(at time.Time, m missed) []byte { return s.style.dropped(at, s.stream, m) }
