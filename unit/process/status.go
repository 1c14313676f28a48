package process

import (
	"context"
	"slices"
	"time"

	"github.com/toskose/toskose/unit/reaper"
	"github.com/toskose/toskose/unit/wire"
)

// Exit describes how a process ended.
type Exit = reaper.Exit

// Status is the published state of a program.
type Status struct {
	Run            uint64 // number of starts; 0: never started
	State          wire.ProcessState
	ReachedRunning bool // this run was running
	PID            int  // main process, or its oldest descendant after it exited; 0: none
	SpawnErr       string
	Started        time.Time
	Stopped        time.Time
	Exit           *Exit       // of the main process of this run
	Last           *Orphan     // the orphan that ended last
	Death          *wire.Death // how the main process of the last ended run ended; nil: none has ended
	Left           bool        // the main process exited and left descendants
	Killed         bool        // the grace period of this run passed and KILL was sent
	Unready        bool        // the unit ended this run because it did not become ready
	Unproven       string      // what is unknown about the end of the descendants; may be empty
	Stuck          string      // why the current stop cannot complete; empty if it can
	Failing        *Failing    // it runs, but is not live; nil: it is live, or not checked
	Unlive         Unlive      // the last run that the unit ended because it was not live
	WaitsFor       string      // what its start waits for, such as "waits for db"; may be empty
}

// Unlive is a run that the unit ended because it was not live.
type Unlive struct {
	Run uint64 // 0: none
	Why string
}

// EndedUnlive reports whether the unit has ended the current run because it was not live.
func (s Status) EndedUnlive() bool { return s.Run > 0 && s.Unlive.Run == s.Run }

// Orphan describes the end of a process of the program that the unit had adopted.
type Orphan struct {
	PID  int
	Exit Exit
}

// AtRest reports whether nothing runs or is about to run.
func (s Status) AtRest() bool { return s.State.InStoppedSet() }

// StopAnswered reports whether a stop has completed or cannot complete.
func (s Status) StopAnswered() bool { return s.AtRest() || s.Stuck != "" }

// Startable reports whether the program can be started.
func (s Status) Startable() bool { return !s.State.InRunningSet() }

// Stoppable reports whether there is something to stop, including a run that is ending but would be
// restarted, and a start that is waiting.
func (s Status) Stoppable() bool {
	return s.WaitsFor != "" || s.State.InRunningSet() || s.State == wire.Stopping && (s.Unready || s.EndedUnlive())
}

// Signallable reports whether there is a process to signal.
func (s Status) Signallable() bool { return s.State.Signallable() }

// Status returns the current status.
func (p *Program) Status() Status {
	s, _ := p.Observe()
	return s
}

// Observe returns the status and a channel that is closed when it changes.
func (p *Program) Observe() (Status, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.status, p.changed
}

// Await blocks until the status satisfies wanted.
func (p *Program) Await(ctx context.Context, wanted func(Status) bool) (Status, error) {
	for {
		s, changed := p.Observe()
		if wanted(s) {
			return s, nil
		}
		select {
		case <-changed:
		case <-p.serveDone:
			if s = p.Status(); wanted(s) {
				return s, nil
			}
			return s, p.unservedError()
		case <-ctx.Done():
			return s, ctx.Err()
		}
	}
}

// publish changes the status under the lock and notifies all waiters.
func (p *Program) publish(change func(*Status)) {
	defer p.table.Notify()
	p.mu.Lock()
	defer p.mu.Unlock()
	change(&p.status)
	close(p.changed)
	p.changed = make(chan struct{})
}

// recordOrphan records the end of an orphan of the program.
func (p *Program) recordOrphan(pid int, exit Exit) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.status.Last = &Orphan{PID: pid, Exit: exit}
}

// ExitOnWire converts an exit for clients; nil means none.
func ExitOnWire(exit *Exit) wire.Exit {
	switch {
	case exit == nil:
		return wire.Exit{}
	case exit.Signalled():
		return wire.Exit{Signal: reaper.SignalName(exit.Signal)}
	}
	return wire.Exit{ExitCode: &exit.Code}
}

// Completed reports whether the program has ended as its exitcodes expect, and is not restarted.
func (p *Program) Completed(s Status) bool {
	return s.State == wire.Exited && s.Exit != nil && slices.Contains(p.Settings().ExitCodes, supervisorStatus(*s.Exit))
}

// supervisorStatus returns Supervisor's exit status: -1 for a signal.
func supervisorStatus(exit Exit) int {
	if exit.Signalled() {
		return -1
	}
	return exit.Code
}

// containerCode returns the exit code used by shells and container engines.
func containerCode(exit Exit) int {
	const signalled = 128
	if exit.Signalled() {
		return signalled + int(exit.Signal)
	}
	return exit.Code
}

// finalCode returns the exit code of a container that ends because this program ended. A FATAL
// program never yields 0.
func finalCode(s Status, state wire.ProcessState) int {
	const failed = 1
	code := execFailed // nothing was executed
	switch {
	case s.Unready:
		code = failed
	case s.Left && s.Last != nil:
		code = containerCode(s.Last.Exit)
	case s.Exit != nil:
		code = containerCode(*s.Exit)
	}
	if code == 0 && state == wire.Fatal {
		return failed
	}
	return code
}
