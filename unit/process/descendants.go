package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/toskose/toskose/unit/proctree"
)

// lookForDescendants tells the state machine whether the main process left anything,
// and, where it did, sees to it that the machine learns when that has ended.
func (p *owner) lookForDescendants(ctx context.Context) error {
	if p.table.tree.Gone(p.number) {
		return p.step(ctx, event{what: noDescendants})
	}
	found, err := p.table.tree.Live(p.number)
	if err != nil {
		// Until that can be seen it counts as something: watchDescendants tries again.
		p.table.log.Error("cannot see what a process left", "process", p.Name(), "error", err)
	} else if len(found) == 0 {
		return p.step(ctx, event{what: noDescendants})
	}
	pid := 0
	if len(found) > 0 {
		pid = oldest(found).PID
	}
	p.publish(func(s *Status) { s.Left, s.PID = true, pid })
	p.watchDescendants(ctx, p.awaitGone)
	return p.step(ctx, event{what: leftDescendants})
}

// reapingTime is how long the state of a program waits for the exit statuses of its
// processes once all have ended.
const reapingTime = 500 * time.Millisecond

// awaitGone waits until what the main process left has ended, and until it is known how.
// The latter is bounded: a program without a process must not be shown as running because
// the reaper is behind.
func (p *owner) awaitGone(ctx context.Context) error {
	err := p.table.tree.WaitGone(ctx, p.number)
	if err == nil {
		limited, cancel := context.WithTimeout(ctx, reapingTime)
		defer cancel()
		err = p.awaitReaped(limited)
		if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
			err = errUnreaped
		}
	}
	if errors.Is(err, proctree.ErrUnproven) || errors.Is(err, errUnreaped) {
		p.table.log.Warn("what a process left has ended", "process", p.Name(), "unknown", err)
		p.publish(func(s *Status) { s.Unproven = err.Error() })
		return nil
	}
	return err
}

var errUnreaped = errors.New("how the last of its processes ended is not known yet: the unit is behind with reaping")

// awaitReaped waits until the reaper has delivered the orphans of a program
// that have ended, so that it is known how they did, and none is left as a zombie.
func (p *Program) awaitReaped(ctx context.Context) error {
	for {
		drained := p.table.drained.Next()
		if p.table.tree.Gone(p.number) {
			return nil
		}
		processes, err := p.table.tree.Scan()
		if err != nil {
			return err
		}
		if !hasZombie(processes, p.number) {
			return nil
		}
		select {
		case <-drained:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func hasZombie(processes []proctree.Process, number proctree.Program) bool {
	for _, q := range processes {
		if q.Program == number && q.Zombie && q.Parent == os.Getpid() {
			return true
		}
	}
	return false
}

// endDescendants ends what the main process left, within what remains of the grace.
func (p *owner) endDescendants(ctx context.Context) error {
	if p.table.tree.Gone(p.number) {
		return p.step(ctx, event{what: noDescendants})
	}
	grace := time.Until(p.deadline)
	p.watchDescendants(ctx, func(ctx context.Context) error {
		ended, err := p.table.tree.End(ctx, []proctree.Program{p.number}, grace)
		if len(ended.Killed()) > 0 {
			p.publish(func(s *Status) { s.Killed = true })
		}
		if err != nil || len(ended.Signalled)+len(ended.Left) == 0 {
			return err
		}
		if len(ended.Left) > 0 {
			p.publish(func(s *Status) { s.Stuck = "the unit may not signal " + processList(ended.Left) })
			if err := p.table.tree.WaitGone(ctx, p.number); err != nil {
				return err
			}
		}
		return p.awaitReaped(ctx)
	})
	return nil
}

// killAll ends all of the program while its main process lives. What may not
// be signalled is named to those who wait for the stop.
func (p *owner) killAll() {
	_, refused, err := p.table.tree.Signal([]proctree.Program{p.number}, syscall.SIGKILL)
	if err != nil {
		p.table.log.Error("cannot stop", "process", p.Name(), "error", err)
	}
	if len(refused) > 0 {
		p.publish(func(s *Status) { s.Stuck = "the unit may not signal " + processList(refused) })
	}
}

// descendantsRetry is how long a wait for what a main process left rests after it
// could not see or end that, for want of descriptors for instance.
const descendantsRetry = time.Second

// watchDescendants runs a wait for what a main process left beside the goroutine that
// owns the program, until it succeeds, and reports that. Meanwhile a stop is
// answered with the reason why it cannot be done.
func (p *owner) watchDescendants(ctx context.Context, wait func(context.Context) error) {
	p.stopWatch()
	ctx, cancel := context.WithCancel(ctx)
	p.stopWatch = cancel
	run := p.status.Run
	p.waiters.Go(func() {
		defer cancel()
		for err := wait(ctx); err != nil; err = wait(ctx) {
			if ctx.Err() != nil {
				return // another wait has taken its place, or all is over
			}
			p.table.log.Error("cannot end what a process left", "process", p.Name(), "error", err)
			p.publish(func(s *Status) { s.Stuck = err.Error() })
			select {
			case <-time.After(descendantsRetry):
			case <-ctx.Done():
			}
		}
		select {
		case p.emptied <- run:
		case <-ctx.Done():
		}
	})
}

// signalDescendant signals the oldest process that the main process left: of a
// start that daemonised it is what the clients are shown.
func (p *owner) signalDescendant(sig syscall.Signal) error {
	found, err := p.table.tree.Live(p.number)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return ErrNotRunning
	}
	pid := oldest(found).PID
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return ErrNotRunning
	}
	defer unix.Close(fd)
	// Whose the pid is counts only now that it can belong to no other process.
	if found, err = p.table.tree.Live(p.number); err != nil {
		return err
	}
	if !slices.ContainsFunc(found, func(q proctree.Process) bool { return q.PID == pid }) {
		return ErrNotRunning
	}
	return unix.PidfdSendSignal(fd, sig, nil, 0)
}

func oldest(processes []proctree.Process) proctree.Process {
	return slices.MinFunc(processes, func(a, b proctree.Process) int { return a.Started.Compare(b.Started) })
}

// stopMain sends the signal that stops the main process, once it is known what that
// has started: nothing but their parents may tell. What is suspended
// (SIGSTOP) handles that only once it continues.
func (p *owner) stopMain(sig syscall.Signal, group bool) error {
	if p.child != nil {
		if err := p.table.tree.Recognise(p.number, p.child.PID()); err != nil {
			p.table.log.Warn("cannot see what a process has started", "process", p.Name(), "error", err)
		}
	}
	suspended := p.child != nil && p.child.Suspended()
	if err := p.signalMain(sig, group); err != nil || !suspended {
		return err
	}
	return p.signalMain(syscall.SIGCONT, group)
}

// signalMain signals the main process, or its process group.
func (p *owner) signalMain(sig syscall.Signal, group bool) error {
	if p.child == nil {
		return p.signalDescendant(sig)
	}
	send := p.child.Signal
	if group {
		send = p.child.SignalGroup
	}
	if err := send(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

// processList names processes for a sentence.
func processList(processes []proctree.Process) string {
	var names []string
	for _, p := range processes {
		names = append(names, fmt.Sprintf("%d %s", p.PID, p.Command))
	}
	return strings.Join(names, ", ")
}

// EndDescendants ends what a run left that came to nothing, within the grace of
// a stop, so that the next start does not stumble over it, and waits until it is
// reaped. It returns in words what there was to end; empty: nothing.
func (p *Program) EndDescendants(ctx context.Context) string {
	ended, err := p.table.tree.End(ctx, []proctree.Program{p.number}, p.StopWait())
	if err == nil && len(ended.Left) == 0 {
		_ = p.awaitReaped(ctx) // where that is cut short, they have ended all the same
	}
	switch {
	case err != nil:
		return fmt.Sprintf("what it left could not be ended: %v", err)
	case len(ended.Left) > 0:
		return fmt.Sprintf("left processes that the unit may not signal: %s", processList(ended.Left))
	case len(ended.Signalled) > 0:
		return "left processes, which the unit ended"
	}
	return ""
}
