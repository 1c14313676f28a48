package proctree

import (
	"errors"
	"fmt"
	"math"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// handle refers to one process, so that a signal reaches no other.
type handle struct {
	id
	fd        int // its pidfd, -1 if there is none
	process   Process
	suspended bool // stopped by a signal when the handle was opened

	sent    syscall.Signal // the last signal tried; 0: none
	sentAt  uint64         // in ticks since boot, like start times
	refused bool           // we may not signal it
	ended   bool
}

// openHandle opens a process found by a look. ok is false if it has ended.
//
// A pidfd refers to one process from the moment it is opened. The start time is read again after
// that: if it has not changed, the pidfd refers to the process whose marks were read, or to one
// that ended before and that no signal reaches.
func (t *Tree) openHandle(e *entry) (h *handle, ok bool) {
	fd := -1
	if t.pidfd {
		var err error
		if fd, err = unix.PidfdOpen(e.pid, 0); errors.Is(err, unix.ESRCH) {
			return nil, false
		} else if err != nil {
			fd = -1 // too many open files; the start time is checked instead
		}
	}
	h = &handle{id: e.id(), fd: fd, process: t.describe(e), suspended: e.suspended()}
	if !t.alive(h.id) {
		h.close()
		return nil, false
	}
	return h, true
}

// alive reports whether the pid still refers to this process and it has not ended.
func (t *Tree) alive(i id) bool {
	s, err := t.proc.stat(i.pid)
	return err == nil && s.start == i.start && !s.ended()
}

// signal sends a signal to the process. It returns os.ErrProcessDone if the
// process has ended, and os.ErrPermission if we may not signal it.
func (t *Tree) signal(h *handle, sig syscall.Signal) error {
	h.sent = sig
	if ticks, ok := now(); ok {
		h.sentAt = ticks
	} else {
		h.sentAt = math.MaxUint64
	}
	err := t.send(h, sig)
	if err == nil && sig == syscall.SIGTERM && h.suspended {
		// A stopped process handles no signal but KILL until it continues.
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
	if !t.alive(h.id) {
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
