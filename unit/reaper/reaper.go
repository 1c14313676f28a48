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

// drainBatch bounds how many children are reaped before [Options.Drained] is called, so that a
// continuous stream of deaths does not starve its listeners.
const drainBatch = 4096

// Options are the callbacks of a Reaper. The goroutine of [Reaper.Run] calls them one at a time; no
// child is reaped during a call.
type Options struct {
	// Orphan is called when a process that [Reaper.Start] did not fork has ended. The process is
	// still a zombie, so its /proc/PID can be read; it is reaped when Orphan returns. cpu is its
	// user and system time, including that of the children it waited for. May be nil.
	Orphan func(pid int, exit Exit, cpu time.Duration)
	// Drained is called after all dead children have been reaped and delivered; under heavy load,
	// after every few thousand. May be nil.
	Drained func()
}

// Reaper forks and reaps children. Create one per process with [New].
type Reaper struct {
	options Options

	// mu is held from a fork until the child is registered, and from finding a dead child until its
	// registration is looked up. Otherwise a child that dies at once could be mistaken for an
	// orphan, and its exit would be lost. It is also held while a child is reaped, so that a signal
	// never goes to a reused pid.
	mu       sync.Mutex
	children map[int]*Child

	storm storm // owned by the goroutine of Run

	draining sync.Mutex // held while dead children are reaped and delivered
}

// New makes this process a subreaper unless it is PID 1 (prctl(2), PR_SET_CHILD_SUBREAPER), so that
// it adopts the orphans among its descendants.
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

// Run reaps until ctx is done, then returns nil. It fails only if the kernel refuses to wait.
// Children that died before the call are reaped and delivered first. Call it once.
//
// Its goroutine waits in the kernel, which a context cannot interrupt: if children outlive ctx, the
// goroutine remains until one of them ends, and does not reap it.
func (r *Reaper) Run(ctx context.Context) error {
	ended := make(chan error, 1)
	go func() { ended <- r.run(ctx) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	r.draining.Lock() // wait for a delivery in progress
	defer r.draining.Unlock()
	return nil
}

func (r *Reaper) run(ctx context.Context) error {
	if err := handleSIGCHLD(false); err != nil {
		return err
	}
	for ctx.Err() == nil {
		r.draining.Lock()
		found, err := r.drain(ctx)
		r.draining.Unlock()
		if err != nil {
			return err
		}
		if pause := r.storm.next(found == orphans, time.Now()); pause > 0 {
			time.Sleep(pause)
			continue
		}
		alone, err := awaitDeath()
		if err != nil {
			return fmt.Errorf("cannot wait for children: %w", err)
		}
		if alone {
			if err := r.awaitSignal(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// awaitSignal waits for SIGCHLD while there are no children. It is too slow for a stream of deaths:
// passing a signal between goroutines takes several times as long as the reaping.
func (r *Reaper) awaitSignal(ctx context.Context) error {
	// A buffer of one is enough: each signal means "check again", and one that arrives during a
	// check stays in the buffer.
	died := make(chan os.Signal, 1)
	signal.Notify(died, syscall.SIGCHLD)
	defer signal.Stop(died)
	if err := handleSIGCHLD(true); err != nil {
		return err
	}
	if pid, _, _, err := peek(); pid == 0 && err == nil { // otherwise it died before that took effect
		select {
		case <-died:
		case <-ctx.Done():
		}
	}
	return handleSIGCHLD(false)
}

// deadChildren classifies the children that one drain found.
type deadChildren int

const (
	nothing deadChildren = iota
	orphans              // orphans only
	own                  // including one that Start forked
)

// drain reaps all dead children.
func (r *Reaper) drain(ctx context.Context) (all deadChildren, err error) {
	for ctx.Err() == nil {
		reaped, found, err := r.reapBatch()
		all = max(all, found)
		if reaped > 0 && r.options.Drained != nil {
			r.options.Drained()
		}
		if err != nil || reaped < drainBatch {
			return all, err
		}
	}
	return all, nil
}

// reapBatch reaps up to drainBatch dead children and returns their number.
func (r *Reaper) reapBatch() (n int, what deadChildren, err error) {
	for n := range drainBatch {
		pid, exit, cpu, child, err := r.peek()
		if err != nil {
			return n, what, fmt.Errorf("cannot wait for children: %w", err)
		}
		if pid == 0 {
			return n, what, nil
		}
		if child == nil && r.options.Orphan != nil {
			r.options.Orphan(pid, exit, cpu)
		}
		if err := r.reap(pid); err != nil {
			return n, what, fmt.Errorf("cannot reap process %d: %w", pid, err)
		}
		if child != nil {
			child.exit, child.cpu = exit, cpu
			close(child.done)
			what = own
		}
		what = max(what, orphans)
	}
	return drainBatch, what, nil
}

// peek finds one dead child; child is nil if Start did not fork it.
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

// Freeze calls do while no child is forked or reaped; forked reports whether Start has forked a
// child that is not reaped yet. do must not call the Reaper.
func (r *Reaper) Freeze(do func(forked func(pid int) bool)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	do(func(pid int) bool { return r.children[pid] != nil })
}

// Child is a process that [Reaper.Start] forked.
type Child struct {
	reaper *Reaper
	pid    int
	done   chan struct{}
	exit   Exit
	cpu    time.Duration
}

// PID is the child's process id. It stays valid after the child has ended.
func (c *Child) PID() int { return c.pid }

// Done is closed when the child has ended and was reaped.
func (c *Child) Done() <-chan struct{} { return c.done }

// Exit returns how the child ended. It is valid once Done is closed.
func (c *Child) Exit() Exit {
	select {
	case <-c.done:
		return c.exit
	default:
		return Exit{}
	}
}

// CPU returns the user and system time of the child and of the children it waited for.
// It is valid once Done is closed.
func (c *Child) CPU() time.Duration {
	select {
	case <-c.done:
		return c.cpu
	default:
		return 0
	}
}

// Signal sends a signal to the child. It returns [os.ErrProcessDone] once the child has been
// reaped, so it never reaches another process with the same pid.
func (c *Child) Signal(sig syscall.Signal) error { return c.kill(c.pid, sig) }

// SignalGroup sends a signal to the child's process group. It returns [os.ErrProcessDone] once the
// child has been reaped, since the group number may be reused from then on.
func (c *Child) SignalGroup(sig syscall.Signal) error { return c.kill(-c.pid, sig) }

// Suspended reports whether a signal has stopped the child. A stopped process handles only KILL
// until it continues.
func (c *Child) Suspended() bool {
	c.reaper.mu.Lock()
	defer c.reaper.mu.Unlock()
	return c.reaper.children[c.pid] == c && isStopped(c.pid)
}

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
