package logs

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/toskose/toskose/unit/wire"
)

const (
	// spoolFull is how much of a stream waits for the reader of the container's
	// output before the program that prints it is held.
	spoolFull = 1 << 20
	// spoolMost is how much waits at most. A held program ends with what is in its
	// pipe, so only one that is started again and again without a reader gets here.
	spoolMost = 4 << 20
)

// errStalled is why output is dropped.
var errStalled = errors.New("nobody reads the container's output")

// Spool counts what one stream of a program has waiting for the reader of the
// container's output.
type Spool struct {
	to     *outlet
	stream wire.Stream
	style  Style // of the lines

	// Guarded by the outlet's lock.
	waiting int           // bytes
	room    chan struct{} // closed when there is room again; nil: there is room
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
	return s.room
}

// note returns the line that says that some are missing.
func (s *Spool) note(at time.Time, m missed) []byte { return s.style.dropped(at, s.stream, m) }
