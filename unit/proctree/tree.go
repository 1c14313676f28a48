package proctree

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Options configure a Tree; the zero value is the default.
type Options struct {
	Proc       string    // where proc(5) is mounted; empty: /proc
	Random     io.Reader // of the marks' bits; nil: crypto/rand
	NoCoreMark bool      // leave coredump_filter alone
	Cgroup     string    // where cgroup v2 is mounted; empty: /sys/fs/cgroup, if this process is PID 1
	// Tick is the interval for polling a process that is not our child on a
	// kernel without pidfd (before Linux 5.3). 0: 50 ms. Other kernels do not
	// need to poll.
	Tick time.Duration
	// Freeze calls do while this process neither reaps nor forks a child; forked reports whether
	// this process has forked a child. If nil, [Tree.Gone] always reports false.
	Freeze func(do func(forked func(pid int) bool))
}

// Tree attributes the processes of a container to programs, and ends them. Create one per process
// with [New].
type Tree struct {
	proc        procfs
	self        int
	pgid, sid   int  // of this process
	init        bool // this process is PID 1
	boot        boot
	tick        time.Duration
	pidfd       bool
	direct      bool  // the pids in proc are valid for system calls
	noLimitMark error // why limits cannot be marks; nil if they can
	core        *coreMark
	fakeLastPID func() (pid int, ok bool) // replaces procfs.lastPID in tests

	freeze        func(do func(forked func(pid int) bool))
	surveys       surveys
	childlessness childlessCache
	memory        *memory
	components    components
	cgroups       cgroups
	drained       broadcast
	scan          sync.Mutex // serialises scans: each builds on the one before
}

// New draws the random part of the marks and probes what the kernel supports. It fails only if
// /proc cannot be read.
func New(options Options) (*Tree, error) {
	self := os.Getpid()
	t := &Tree{
		proc: procfs{root: options.Proc}, self: self, init: self == 1,
		tick: options.Tick, freeze: options.Freeze, memory: newMemory(),
	}
	t.pgid = unix.Getpgrp()
	if sid, err := unix.Getsid(0); err == nil {
		t.sid = sid
	}
	if t.direct = t.proc.root == ""; t.direct {
		t.proc.root = "/proc"
	}
	if t.tick <= 0 {
		t.tick = 50 * time.Millisecond
	}
	random := options.Random
	if random == nil {
		random = rand.Reader
	}
	bits, err := drawBoot(random)
	if err != nil {
		return nil, err
	}
	t.boot = bits
	link, err := os.Readlink(t.proc.root + "/self")
	if err != nil {
		return nil, fmt.Errorf("cannot list processes: %w", err)
	}
	if link != strconv.Itoa(self) {
		return nil, fmt.Errorf("cannot list processes: %s belongs to another pid namespace", t.proc.root)
	}
	t.noLimitMark = t.probe()
	if t.core = (&coreMark{off: errors.New("it is switched off")}); !options.NoCoreMark {
		t.core = openCoreMark(t.proc)
	}
	t.pidfd = havePidfd()
	if t.cgroups.off = ErrNoCgroup; t.init || options.Cgroup != "" {
		t.cgroups.off = t.openCgroups(cmp.Or(options.Cgroup, "/sys/fs/cgroup"))
	}
	return t, nil
}

// Degraded returns why the stronger mark, the resource limit, cannot be used, or nil if it can.
// Without it processes are attributed by environment and ancestry only; a process that drops both
// is unclaimed.
func (t *Tree) Degraded() error { return t.noLimitMark }

// Drained must be called whenever children were reaped. It wakes waiters on a kernel without pidfd.
func (t *Tree) Drained() { t.drained.notify() }

// havePidfd reports whether the kernel has pidfds and the seccomp profile allows them: old Docker
// profiles return EPERM for unknown system calls.
func havePidfd() bool {
	fd, err := unix.PidfdOpen(os.Getpid(), 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	err = unix.PidfdSendSignal(fd, syscall.Signal(0), nil, 0)
	return !errors.Is(err, unix.ENOSYS) && !errors.Is(err, unix.EPERM)
}

// broadcast notifies all its waiters.
type broadcast struct {
	mu sync.Mutex
	ch chan struct{}
}

func (b *broadcast) next() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ch == nil {
		b.ch = make(chan struct{})
	}
	return b.ch
}

func (b *broadcast) notify() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ch != nil {
		close(b.ch)
		b.ch = nil
	}
}
