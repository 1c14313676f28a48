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

// lookForDescendants reports to the state machine whether the exited main process left descendants.
// If it did, watchDescendants reports their end later.
func (p *owner) lookForDescendants(ctx context.Context) error {
	if p.table.tree.Gone(p.number) {
		return p.step(ctx, event{kind: noDescendants})
	}
	found, err := p.table.tree.Live(p.number)
	if err != nil {
		// Until the processes can be listed, assume that there are some; watchDescendants retries.
		p.table.log.Error("cannot list the descendants of a process", "process", p.Name(), "error", err)
	} else if len(found) == 0 {
		return p.step(ctx, event{kind: noDescendants})
	}
	pid := 0
	if len(found) > 0 {
		pid = oldest(found).PID
	}
	p.publish(func(s *Status) { s.Left, s.PID = true, pid })
	p.watchDescendants(ctx, p.awaitDescendants)
	return p.step(ctx, event{kind: descendantsFound})
}

// reapingTime is how long a program's state waits for the exit statuses of its ended processes.
const reapingTime = 500 * time.Millisecond

// awaitDescendants blocks until the descendants of the main process have ended and their exit
// statuses are known. The wait for the statuses is bounded: a program without processes must not
// appear to be running because the reaper is behind.
func (p *owner) awaitDescendants(ctx context.Context) error {
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
		p.table.log.Warn("the descendants of a process have ended", "process", p.Name(), "unknown", err)
		p.publish(func(s *Status) { s.Unproven = err.Error() })
		return nil
	}
	return err
}

var errUnreaped = errors.New("the exit status of its last process is not known yet: the unit is behind with reaping")

// awaitReaped blocks until the reaper has delivered the ended orphans of the program.
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

// endDescendants ends the descendants of the main process within the rest of the grace period.
func (p *owner) endDescendants(ctx context.Context) error {
	if p.table.tree.Gone(p.number) {
		return p.step(ctx, event{kind: noDescendants})
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

// killAll kills all processes of the program while its main process lives. Processes that the unit
// may not signal are reported to the clients waiting for the stop.
func (p *owner) killAll() {
	_, refused, err := p.table.tree.Signal([]proctree.Program{p.number}, syscall.SIGKILL)
	if err != nil {
		p.table.log.Error("cannot stop", "process", p.Name(), "error", err)
	}
	if len(refused) > 0 {
		p.publish(func(s *Status) { s.Stuck = "the unit may not signal " + processList(refused) })
	}
}

// descendantsRetry is the delay before another attempt to list or end descendants, for example
// after the unit ran out of file descriptors.
const descendantsRetry = time.Second

// watchDescendants runs a wait for the descendants in its own goroutine until it succeeds, and
// reports the result to the owner. Meanwhile Status.Stuck explains why a stop cannot complete.
func (p *owner) watchDescendants(ctx context.Context, wait func(context.Context) error) {
	p.stopWatch()
	ctx, cancel := context.WithCancel(ctx)
	p.stopWatch = cancel
	run := p.status.Run
	p.waiters.Go(func() {
		defer cancel()
		for err := wait(ctx); err != nil; err = wait(ctx) {
			if ctx.Err() != nil {
				return // replaced by another wait, or stopped
			}
			p.table.log.Error("cannot end the descendants of a process", "process", p.Name(), "error", err)
			p.publish(func(s *Status) { s.Stuck = err.Error() })
			select {
			case <-time.After(descendantsRetry):
			case <-ctx.Done():
			}
		}
		select {
		case p.descendantsGone <- run:
		case <-ctx.Done():
		}
	})
}

// signalDescendant signals the oldest descendant of the main process. For a daemonised program this
// is the process that clients see.
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
	// The pid handle is open now, so the pid cannot be reused: check the ownership again.
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

// stopMain sends the stop signal to the main process after recording its descendants, which can no
// longer be attributed once it has exited. A process suspended by SIGSTOP is continued, since it
// handles the signal only then.
func (p *owner) stopMain(sig syscall.Signal, group bool) error {
	if p.child != nil {
		if err := p.table.tree.Recognise(p.number, p.child.PID()); err != nil {
			p.table.log.Warn("cannot list the children of a process", "process", p.Name(), "error", err)
		}
	}
	suspended := p.child != nil && p.child.Suspended()
	if err := p.signalMain(sig, group); err != nil || !suspended {
		return err
	}
	return p.signalMain(syscall.SIGCONT, group)
}

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

// processList formats processes for a message.
func processList(processes []proctree.Process) string {
	var names []string
	for _, p := range processes {
		names = append(names, fmt.Sprintf("%d %s", p.PID, p.Command))
	}
	return strings.Join(names, ", ")
}

// EndDescendants ends and reaps the processes left by a failed run, within the grace period, so
// that they do not disturb the next start. It returns a description of the ended processes, or "".
func (p *Program) EndDescendants(ctx context.Context) string {
	ended, err := p.table.tree.End(ctx, []proctree.Program{p.number}, p.StopWait())
	if err == nil && len(ended.Left) == 0 {
		_ = p.awaitReaped(ctx) // if the wait is cut short, they have ended all the same
	}
	switch {
	case err != nil:
		return fmt.Sprintf("left processes that could not be ended: %v", err)
	case len(ended.Left) > 0:
		return fmt.Sprintf("left processes that the unit is not permitted to signal: %s", processList(ended.Left))
	case len(ended.Signalled) > 0:
		return "left processes, which the unit ended"
	}
	return ""
}

// Earlier reports whether processes of earlier runs are left: all of them while the program is at
// rest, else those that started before its main process.
func (p *Program) Earlier() bool {
	found, err := p.table.tree.Live(p.number)
	if err != nil {
		p.table.log.Error("cannot list the descendants of a process", "process", p.Name(), "error", err)
		return false
	}
	pid := p.Status().PID
	main := slices.IndexFunc(found, func(one proctree.Process) bool { return one.PID == pid })
	return slices.ContainsFunc(found, func(one proctree.Process) bool {
		return main < 0 || one.Started.Before(found[main].Started)
	})
}
