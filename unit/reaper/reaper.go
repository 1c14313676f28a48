package reaper

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// drainBatch bounds how many are reaped before [Options.Drained] is called, so
// that a storm without end does not keep its listeners waiting for ever.
const drainBatch = 4096

// Options are what a Reaper tells its owner. Its functions are called by the
// goroutine of [Reaper.Run], one at a time, and hold up reaping while they run.
type Options struct {
	// Orphan is told of the end of a process that [Reaper.Start] did not
	// fork. It is still a zombie then, so that its /proc/PID can be read, and
	// is reaped when Orphan returns. May be nil.
	Orphan func(pid int, exit Exit)
	// Drained is called once after all that were dead have been reaped and
	// delivered, however many they were, and not at all where none were. (In
	// a storm it is called every few thousand.) May be nil.
	Drained func()
}

// Reaper forks and reaps. Make one per process, with [New].
type Reaper struct {
	options Options

	// mu is held from a fork until the child is registered, and from looking
	// at a dead child until it is known whose it is. Otherwise a child that
	// dies at once would be seen before it is registered and be taken for an
	// orphan, and its end would be lost. It is held while a child is reaped,
	// too, so that a signal never goes to a pid that has just become free.
	mu       sync.Mutex
	children map[int]*Child

	draining sync.Mutex // held while the dead are reaped and delivered
}

// New prepares this process to reap: where it is not PID 1, it becomes a
// subreaper (prctl(2), PR_SET_CHILD_SUBREAPER), so that it still adopts the
// orphans among its descendants.
func New(options Options) (*Reaper, error) {
	if os.Getpid() != 1 {
		if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
			return nil, fmt.Errorf("cannot become a subreaper: %w", err)
		}
	}
	if err := closeOnExec(); err != nil {
		return nil, err
	}
	return &Reaper{options: options, children: map[int]*Child{}}, nil
}

// Run reaps until ctx ends, then returns nil; it fails only where the kernel
// refuses to let it wait. Children that died before it was called are reaped
// and delivered first. Call it once.
//
// Its goroutine waits in the kernel, which no context ends: where children
// outlive ctx, it stays until one of them ends, and leaves that unreaped.
func (r *Reaper) Run(ctx context.Context) error {
	ended := make(chan error, 1)
	go func() { ended <- r.run(ctx) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	r.draining.Lock() // until what it was about to deliver is delivered
	defer r.draining.Unlock()
	return nil
}

func (r *Reaper) run(ctx context.Context) error {
	for ctx.Err() == nil {
		r.draining.Lock()
		err := r.drain(ctx)
		r.draining.Unlock()
		if err != nil {
			return err
		}
		alone, err := await()
		if err != nil {
			return fmt.Errorf("cannot wait for children: %w", err)
		}
		if alone {
			r.awaitSignal(ctx)
		}
	}
	return nil
}

// awaitSignal waits where there are no children until one has died. For a
// storm of deaths it would not do: to hand on a signal from one goroutine to
// the next takes Go several times as long as all of the reaping.
func (r *Reaper) awaitSignal(ctx context.Context) {
	// One place in the channel is enough: each signal means "look", and a
	// signal that comes during a look leaves one for the next.
	died := make(chan os.Signal, 1)
	signal.Notify(died, syscall.SIGCHLD)
	defer signal.Stop(died)
	if pid, _, _, err := peek(); pid != 0 || err != nil {
		return // it came and died before the signal counted
	}
	select {
	case <-died:
	case <-ctx.Done():
	}
}

// drain reaps all that are dead.
func (r *Reaper) drain(ctx context.Context) error {
	for ctx.Err() == nil {
		reaped, err := r.batch()
		if reaped > 0 && r.options.Drained != nil {
			r.options.Drained()
		}
		if err != nil || reaped < drainBatch {
			return err
		}
	}
	return nil
}

// batch reaps up to drainBatch dead children, and counts them.
func (r *Reaper) batch() (int, error) {
	for n := range drainBatch {
		pid, exit, cpu, child, err := r.peek()
		if err != nil {
			return n, fmt.Errorf("cannot wait for children: %w", err)
		}
		if pid == 0 {
			return n, nil
		}
		if child == nil && r.options.Orphan != nil {
			r.options.Orphan(pid, exit)
		}
		if err := r.reap(pid); err != nil {
			return n, fmt.Errorf("cannot reap process %d: %w", pid, err)
		}
		if child != nil {
			child.exit, child.cpu = exit, cpu
			close(child.done)
		}
	}
	return drainBatch, nil
}

// peek finds one dead child, and whether Start forked it.
func (r *Reaper) peek() (int, Exit, time.Duration, *Child, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	pid, exit, cpu, err := peek()
	return pid, exit, cpu, r.children[pid], err
}

// reap frees the pid of a dead child.
func (r *Reaper) reap(pid int) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.children, pid)
	return release(pid)
}

// Child is a process that [Reaper.Start] forked.
type Child struct {
	reaper *Reaper
	pid    int
	done   chan struct{}
	exit   Exit
	cpu    time.Duration
}

// PID is the child's process id, also after its end.
func (c *Child) PID() int { return c.pid }

// Done is closed when the child has ended and was reaped.
func (c *Child) Done() <-chan struct{} { return c.done }

// Exit is how the child ended. It is valid once Done is closed, and the zero
// value before.
func (c *Child) Exit() Exit {
	select {
	case <-c.done:
		return c.exit
	default:
		return Exit{}
	}
}

// CPU is the user and system time that the child used, and the children it had
// waited for. It is valid once Done is closed, and 0 before.
func (c *Child) CPU() time.Duration {
	select {
	case <-c.done:
		return c.cpu
	default:
		return 0
	}
}

// Signal sends a signal to the child. It is [os.ErrProcessDone] when the child
// was reaped, so that it never reaches another process of the same pid.
func (c *Child) Signal(sig syscall.Signal) error { return c.kill(c.pid, sig) }

// SignalGroup sends a signal to all of the child's process group. It is
// [os.ErrProcessDone] when the child was reaped: from then on the number of
// the group may belong to others.
func (c *Child) SignalGroup(sig syscall.Signal) error { return c.kill(-c.pid, sig) }

func (c *Child) kill(target int, sig syscall.Signal) error {
	c.reaper.mu.Lock()
	defer c.reaper.mu.Unlock()
	if c.reaper.children[c.pid] != c {
		return os.ErrProcessDone
	}
	err := unix.Kill(target, sig)
	if errors.Is(err, unix.ESRCH) {
		return os.ErrProcessDone
	}
	if err != nil {
		return fmt.Errorf("cannot send %s to process %d: %w", SignalName(sig), c.pid, err)
	}
	return nil
}
