package proctree

import (
	"errors"
	"fmt"
	"math"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// handle is a hold on one process, so that a signal reaches it or nobody.
type handle struct {
	id
	fd      int // its pidfd, -1 where there is none
	process Process
	stopped bool // by a signal, when it was opened

	sent    syscall.Signal // the last signal tried; 0: none
	sentAt  uint64         // in ticks as start times count
	refused bool           // we may not signal it
	ended   bool
}

// hold opens a process that a look found. ok is false where it has ended.
//
// Which process a pidfd is of is settled when it is opened. Only then is the
// start time read again: if it is still the one of the process whose marks
// were read, the pidfd is that one's, or of one that had ended before, which
// no signal reaches.
func (t *Tree) hold(e *entry) (h *handle, ok bool) {
	fd := -1
	if t.pidfd {
		var err error
		if fd, err = unix.PidfdOpen(e.pid, 0); errors.Is(err, unix.ESRCH) {
			return nil, false
		} else if err != nil {
			fd = -1 // too many open files; what has no pidfd is checked by its start time
		}
	}
	h = &handle{id: e.id(), fd: fd, process: t.describe(e), stopped: e.state == 'T'}
	if !t.same(h) {
		h.close()
		return nil, false
	}
	return h, true
}

// same tells whether the pid is still the process's, and it has not ended.
func (t *Tree) same(h *handle) bool {
	s, err := t.proc.stat(h.pid)
	return err == nil && s.start == h.start && !s.ended()
}

// signal sends a signal to the process. It is os.ErrProcessDone when the
// process has ended, and os.ErrPermission when we may not.
func (t *Tree) signal(h *handle, sig syscall.Signal) error {
	h.sent = sig
	if ticks, ok := now(); ok {
		h.sentAt = ticks
	} else {
		h.sentAt = math.MaxUint64
	}
	err := t.send(h, sig)
	if err == nil && sig == syscall.SIGTERM && h.stopped {
		// What is stopped sees no signal but KILL before it goes on.
		err = t.send(h, syscall.SIGCONT)
	}
	if errors.Is(err, unix.ESRCH) {
		return os.ErrProcessDone
	}
	if err != nil {
		h.refused = errors.Is(err, unix.EPERM)
		return fmt.Errorf("cannot send %s to process %d: %w", unix.SignalName(sig), h.pid, err)
	}
	return nil
}

func (t *Tree) send(h *handle, sig syscall.Signal) error {
	if h.fd >= 0 {
		return unix.PidfdSendSignal(h.fd, sig, nil, 0)
	}
	if !t.same(h) {
		return unix.ESRCH
	}
	return unix.Kill(h.pid, sig)
}

func (h *handle) close() {
	if h.fd >= 0 {
		_ = unix.Close(h.fd)
		h.fd = -1
	}
}
