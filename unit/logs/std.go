package logs

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// pipeBuf is how much a pipe or terminal that poll calls writable takes
// without blocking (PIPE_BUF).
const pipeBuf = 4096

// patience is how long a write waits for the reader of the container's output,
// unless an earlier one has waited in vain.
const patience = time.Second

// errStalled is why output of the container is dropped.
var errStalled = errors.New("nobody reads the container's output")

// stdStream writes to the unit's own stdout or stderr. It does not open
// /dev/stdout, which fails for a socket and for another user's pipe, and does
// not make the descriptor non-blocking, which others share: it asks, then
// writes no more than is sure to be taken.
type stdStream struct {
	fd       int
	patience time.Duration

	turn    chan struct{} // holds one while somebody writes
	stalled atomic.Bool   // the last write waited in vain
}

func newStdStream(fd int, patience time.Duration) *stdStream {
	return &stdStream{fd: fd, patience: patience, turn: make(chan struct{}, 1)}
}

// Both are the process's, and so is the order of what is written to them: all
// logs that go there share these, or one could take the room that another one
// was promised.
var (
	stdout = newStdStream(1, patience)
	stderr = newStdStream(2, patience)
)

func stdStreamOf(path string) *stdStream {
	switch path {
	case "/dev/stdout", "/proc/self/fd/1", "/dev/fd/1":
		return stdout
	case "/dev/stderr", "/proc/self/fd/2", "/dev/fd/2":
		return stderr
	}
	return nil
}

// Write writes all of p, or as much as is taken in time: the first one to wait
// in vain waits for patience, those after it not at all.
func (s *stdStream) Write(p []byte) (int, error) {
	if !s.take() {
		return 0, errStalled
	}
	defer func() { <-s.turn }()
	return s.write(p, s.writable)
}

// take waits for its turn, which a Console may hold while it waits for the
// reader.
func (s *stdStream) take() bool {
	select {
	case s.turn <- struct{}{}:
		return true
	default:
	}
	timer := time.NewTimer(s.wait())
	defer timer.Stop()
	select {
	case s.turn <- struct{}{}:
		return true
	case <-timer.C:
		s.stalled.Store(true)
		return false
	}
}

// wait is how long a write may wait.
func (s *stdStream) wait() time.Duration {
	if s.stalled.Load() {
		return 0
	}
	return s.patience
}

// write is called by whose turn it is. It asks writable before each piece.
func (s *stdStream) write(p []byte, writable func() bool) (int, error) {
	written := 0
	for written < len(p) {
		if !writable() {
			s.stalled.Store(true)
			return written, errStalled
		}
		s.stalled.Store(false)
		n, err := unix.Write(s.fd, p[written:min(written+pipeBuf, len(p))])
		written += max(n, 0)
		if err != nil && !errors.Is(err, unix.EINTR) && !errors.Is(err, unix.EAGAIN) {
			return written, fmt.Errorf("cannot write to the container's output: %w", err)
		}
	}
	return written, nil
}

func (s *stdStream) writable() bool {
	end := time.Now().Add(s.wait())
	for {
		fds := []unix.PollFd{{Fd: int32(s.fd), Events: unix.POLLOUT}}
		n, err := unix.Poll(fds, int(max(time.Until(end), 0).Milliseconds()))
		if errors.Is(err, unix.EINTR) {
			continue
		}
		return err == nil && n > 0
	}
}
