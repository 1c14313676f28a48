package unit

import (
	"context"
	"errors"
	"os"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/toskose/toskose/unit/proctree"
	"github.com/toskose/toskose/unit/reaper"
)

// stopWait is the program's stopwaitsecs.
func (p *program) stopWait() time.Duration {
	return time.Duration(p.settings().StopWaitSecs) * time.Second
}

// lookForRest tells the state machine whether the main process left anything,
// and, where it did, sees to it that the machine learns when that has ended.
func (p *program) lookForRest(ctx context.Context) error {
	found, err := p.world.tree.Live(p.number)
	if err != nil {
		// Until that can be seen it counts as something: watchRest tries again.
		p.world.log.Error("cannot see what a process left", "process", p.name(), "error", err)
	} else if len(found) == 0 {
		return p.step(ctx, event{what: emptied})
	}
	pid := 0
	if len(found) > 0 {
		pid = oldest(found).PID
	}
	p.publish(func(s *status) { s.left, s.pid = true, pid })
	p.watchRest(ctx, func(ctx context.Context) error {
		if err := p.world.tree.WaitGone(ctx, p.number); err != nil {
			return err
		}
		return p.awaitReaped(ctx)
	})
	return p.step(ctx, event{what: left})
}

// awaitReaped waits until the reaper has delivered the orphans of a program
// that have ended, so that it is known how they did, and none is left as a zombie.
func (p *program) awaitReaped(ctx context.Context) error {
	for {
		drained := p.world.drained.next()
		processes, err := p.world.tree.Scan()
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

// endRest ends what the main process left, within what remains of the grace.
func (p *program) endRest(ctx context.Context) error {
	found, err := p.world.tree.Live(p.number)
	if err == nil && len(found) == 0 {
		return p.step(ctx, event{what: emptied})
	}
	grace := time.Until(p.deadline)
	p.watchRest(ctx, func(ctx context.Context) error {
		ended, err := p.world.tree.End(ctx, []proctree.Program{p.number}, grace)
		if len(ended.Killed()) > 0 {
			p.publish(func(s *status) { s.killed = true })
		}
		if err != nil {
			return err
		}
		if len(ended.Left) > 0 {
			p.publish(func(s *status) { s.stuck = "the unit may not signal " + named(ended.Left) })
			if err := p.world.tree.WaitGone(ctx, p.number); err != nil {
				return err
			}
		}
		return p.awaitReaped(ctx)
	})
	return nil
}

// killAll ends all of the program while its main process lives. What may not
// be signalled is named to those who wait for the stop.
func (p *program) killAll() {
	_, refused, err := p.world.tree.Signal([]proctree.Program{p.number}, syscall.SIGKILL)
	if err != nil {
		p.world.log.Error("cannot stop", "process", p.name(), "error", err)
	}
	if len(refused) > 0 {
		p.publish(func(s *status) { s.stuck = "the unit may not signal " + named(refused) })
	}
}

// restRetry is how long a wait for what a main process left rests after it
// could not see or end that, for want of descriptors for instance.
const restRetry = time.Second

// watchRest runs a wait for what a main process left beside the goroutine that
// owns the program, until it succeeds, and reports that. Meanwhile a stop is
// answered with the reason why it cannot be done.
func (p *program) watchRest(ctx context.Context, wait func(context.Context) error) {
	p.stopWatch()
	ctx, cancel := context.WithCancel(ctx)
	p.stopWatch = cancel
	run := p.status.run
	p.waiters.Go(func() {
		defer cancel()
		for err := wait(ctx); err != nil; err = wait(ctx) {
			if ctx.Err() != nil {
				return // another wait has taken its place, or all is over
			}
			p.world.log.Error("cannot end what a process left", "process", p.name(), "error", err)
			p.publish(func(s *status) { s.stuck = err.Error() })
			select {
			case <-time.After(restRetry):
			case <-ctx.Done():
			}
		}
		select {
		case p.rest <- run:
		case <-ctx.Done():
		}
	})
}

// orphaned notes the end of an orphan of the program. The reaper's goroutine
// calls it.
func (p *program) orphaned(pid int, exit reaper.Exit) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.status.last = &orphan{pid: pid, exit: exit}
}

// signalLeft signals the oldest process that the main process left: of a
// start that daemonised it is what the clients are shown.
func (p *program) signalLeft(sig syscall.Signal) error {
	found, err := p.world.tree.Live(p.number)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return errNotRunning
	}
	pid := oldest(found).PID
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return errNotRunning
	}
	defer unix.Close(fd)
	// Whose the pid is counts only now that it can belong to no other process.
	if found, err = p.world.tree.Live(p.number); err != nil {
		return err
	}
	if !slices.ContainsFunc(found, func(q proctree.Process) bool { return q.PID == pid }) {
		return errNotRunning
	}
	return unix.PidfdSendSignal(fd, sig, nil, 0)
}

func oldest(processes []proctree.Process) proctree.Process {
	return slices.MinFunc(processes, func(a, b proctree.Process) int { return a.Started.Compare(b.Started) })
}

// signalMain signals the main process, or its process group.
func (p *program) signalMain(sig syscall.Signal, group bool) error {
	if p.child == nil {
		return p.signalLeft(sig)
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
