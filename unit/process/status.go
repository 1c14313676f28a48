package process

import (
	"context"
	"time"

	"github.com/toskose/toskose/unit/reaper"
	"github.com/toskose/toskose/unit/wire"
)

// Exit is how a process ended.
type Exit = reaper.Exit

// Status is what others may know of a program.
type Status struct {
	Run      uint64 // counts the starts; 0: never started
	State    wire.ProcessState
	Arrived  bool // this run was running
	PID      int  // of the main process, 0: none; once it ended, of the oldest that it left
	SpawnErr string
	Started  time.Time
	Stopped  time.Time
	Exit     *Exit   // of the main process of this run
	Last     *Orphan // the last of its orphans to end
	Left     bool    // processes live on after the main process
	Killed   bool    // this run's grace passed, and KILL was sent
	Unready  bool    // this run did not become ready, and the unit ended it
	Unproven string  // what is not known of the end of what it left; empty: all is known
	Stuck    string  // why the stop under way cannot end it; empty: it can
	Waits    string  // what its start waits for, as in "waits for db"; empty: nothing
}

// Orphan is the end of a process of the program that the unit adopted.
type Orphan struct {
	PID  int
	Exit Exit
}

// AtRest reports whether nothing runs, and nothing will by itself.
func (s Status) AtRest() bool { return s.State.InStoppedSet() }

// StopAnswered reports whether a stop that was asked for has its answer.
func (s Status) StopAnswered() bool { return s.AtRest() || s.Stuck != "" }

// Startable reports whether there is something to start.
func (s Status) Startable() bool { return !s.State.InRunningSet() }

// Stoppable reports whether there is something to stop: also what the unit ends
// already, but would start again, and what waits to be started.
func (s Status) Stoppable() bool {
	return s.Waits != "" || s.State.InRunningSet() || s.State == wire.Stopping && s.Unready
}

// Signallable reports whether there is something to signal.
func (s Status) Signallable() bool { return s.State.Signallable() }

// Status returns what is known of the program now.
func (p *Program) Status() Status {
	s, _ := p.observe()
	return s
}

// observe returns the status, and a channel that is closed when it changes.
func (p *Program) observe() (Status, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.status, p.changed
}

// Await waits until the status is as wanted.
func (p *Program) Await(ctx context.Context, wanted func(Status) bool) (Status, error) {
	for {
		s, changed := p.observe()
		if wanted(s) {
			return s, nil
		}
		select {
		case <-changed:
		case <-p.unserved:
			if s = p.Status(); wanted(s) {
				return s, nil
			}
			return s, p.over()
		case <-ctx.Done():
			return s, ctx.Err()
		}
	}
}

// publish changes the status under its lock and wakes those who wait.
func (p *Program) publish(change func(*Status)) {
	defer p.table.Wake()
	p.mu.Lock()
	defer p.mu.Unlock()
	change(&p.status)
	close(p.changed)
	p.changed = make(chan struct{})
}

// orphaned notes the end of an orphan of the program.
func (p *Program) orphaned(pid int, exit Exit) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.status.Last = &Orphan{PID: pid, Exit: exit}
}

// ExitOnWire is how clients see an exit; nil: there was none.
func ExitOnWire(exit *Exit) wire.Exit {
	switch {
	case exit == nil:
		return wire.Exit{}
	case exit.Signalled():
		return wire.Exit{Signal: reaper.SignalName(exit.Signal)}
	}
	return wire.Exit{ExitCode: &exit.Code}
}

// supervisorStatus is an exit as Supervisor counts it: -1 for a signal.
func supervisorStatus(exit Exit) int {
	if exit.Signalled() {
		return -1
	}
	return exit.Code
}

// containerCode is an exit as shells and container engines count it.
func containerCode(exit Exit) int {
	const signalled = 128
	if exit.Signalled() {
		return signalled + int(exit.Signal)
	}
	return exit.Code
}

// finalCode is what a container ends with because a program has ended. A
// program that was given up has not succeeded, whatever its exit code.
func finalCode(s Status, state wire.ProcessState) int {
	const failed = 1
	code := execFailed // nothing was ever executed
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
