package logs

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/toskose/toskose/unit/wire"
)

const (
	// spoolFull is how much of a stream waits for the reader of the container's
	// output, or of a pipe or terminal that is a log, before the program that prints
	// it is held.
	spoolFull = 1 << 20
	// spoolMost is how much waits at most. A held program ends with what is in its
	// pipe, so only one that is started again and again without a reader gets here.
	spoolMost = 4 << 20
)

// errStalled is why output is dropped.
var errStalled = errors.New("nobody reads it")

// Holder is what output is written to and may have to wait for its reader: a Spool
// or a File.
type Blocker interface {
	// full returns a channel that is closed when there is room again; nil: there is room.
	full() <-chan struct{}
}

// Spool counts what one stream of a program, or a log that is a pipe or terminal, has
// waiting for the reader.
type Spool struct {
	to     *outlet
	stream wire.Stream
	style  Style // of the lines

	// Guarded by the outlet's lock.
	waiting int           // bytes
	notFull chan struct{} // closed when there is room again; nil: there is room
	missed  missed        // since the last part was queued

	written, dropped atomic.Uint64 // bytes of lines
}

// full returns a channel that is closed when the spool has room again; nil: it has,
// or there is no spool.
func (s *Spool) full() <-chan struct{} {
	if s == nil {
		return nil
	}
	s.to.mu.Lock()
	defer s.to.mu.Unlock()
	return s.notFull
}

// note returns the line that says that some are missing.
func (s *Spool) droppedNote(at time.Time, m missed) []byte { return s.style.dropped(at, s.stream, m) }
