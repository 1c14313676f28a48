package process

import (
	"fmt"
	"slices"

	"github.com/toskose/toskose/spec/protocol"
	"github.com/toskose/toskose/unit/config"
	"github.com/toskose/toskose/unit/wire"
)

// rules are what of a program's configuration its state machine obeys.
type rules struct {
	kind      protocol.Kind
	settles   bool // startsecs is above zero
	checked   bool // it is running only when it is ready
	retries   int  // startretries
	restart   config.Autorestart
	exitCodes []int
}

// machine is the state of a program's state machine.
type machine struct {
	process  wire.ProcessState
	failures int  // consecutive starts that failed; Supervisor's backoff
	main     bool // the main process lives

	// Of STARTING, where the program is checked.
	settled     bool // startsecs have passed
	ready       bool
	descendants bool // the main process has ended with 0 and left some

	failing bool // of STOPPING: it is ended because it did not become ready
}

// occurrence is what can happen to a program.
type occurrence int

const (
	startAsked      occurrence = iota
	spawned                    // the main process was started
	unspawnable                // it could not be
	settled                    // startsecs passed
	exited                     // the main process ended
	leftDescendants            // after that, processes of the program are still there
	noDescendants              // none is
	retry                      // the wait after a failed start is over
	stopAsked
	overdue // stopwaitsecs passed
	readied // all of its checks passed
	unready // they did not in time, or never will
)

var occurrenceNames = [...]string{
	"a start", "spawned", "unspawnable", "settled", "exited", "left descendants", "no descendants", "retry", "a stop", "overdue",
	"readied", "unready",
}

func (o occurrence) String() string { return occurrenceNames[o] }

// event is an occurrence with what it brings.
type event struct {
	what  occurrence
	code  int  // of exited; -1: by a signal
	early bool // of exited: before startsecs passed
}

// effect is what the owner of a program has to do after a step.
type effect int

const (
	spawn              effect = iota // start the main process, then report spawned or unspawnable
	awaitSettle                      // report settled after startsecs
	awaitReady                       // report readied or unready
	awaitRetry                       // report retry after as many seconds as there were failures
	signalMain                       // send stopsignal
	awaitGrace                       // report overdue after stopwaitsecs
	lookForDescendants               // report leftDescendants or noDescendants, and the latter as soon as it is so
	endDescendants                   // TERM, and KILL at the end of the grace, to what the main process left; then report noDescendants
	killAll                          // KILL to all of the program
)

// impossible is the error of a pair of state and event that cannot meet.
func impossible(s machine, e event) error {
	return fmt.Errorf("%s cannot happen to a program that is %s", e.what, s.process)
}

// rulesOf is what the state machine of a program obeys.
func rulesOf(cfg *config.Program) rules {
	return rules{
		kind: cfg.Kind, settles: cfg.StartSecs > 0, checked: cfg.Ready != nil, retries: cfg.StartRetries,
		restart: cfg.Autorestart, exitCodes: cfg.ExitCodes,
	}
}

// next is the state machine of a program. For programs without
// toskose_operation it has Supervisor's rules (Supervisor manual, "Process
// States"), except that a stop ends when nothing of the program is left; an
// operation is never started again by itself, and a start whose command ended
// with 0 is running while what it left is. A program with checks is running
// when these have passed, too; that it ends before, or is ended because they do
// not pass, is a failed start.
func next(r rules, s machine, e event) (machine, []effect, error) {
	switch s.process {
	case wire.Stopped, wire.Exited, wire.Fatal, wire.Unknown:
		return nextAtRest(s, e)
	case wire.Starting:
		return nextStarting(r, s, e)
	case wire.Running:
		return nextRunning(r, s, e)
	case wire.Backoff:
		return nextBackoff(s, e)
	case wire.Stopping:
		return nextStopping(r, s, e)
	}
	return s, nil, impossible(s, e)
}

func nextAtRest(s machine, e event) (machine, []effect, error) {
	switch e.what {
	case startAsked:
		return machine{process: wire.Starting}, []effect{spawn}, nil
	case stopAsked:
		return s, nil, ErrNotRunning
	case settled, retry, overdue, noDescendants, leftDescendants, readied, unready: // late: a timer, a look or a check that was under way
		return s, nil, nil
	case spawned, unspawnable, exited:
	}
	return s, nil, impossible(s, e)
}

func nextStarting(r rules, s machine, e event) (machine, []effect, error) {
	switch e.what {
	case spawned:
		return begun(r, s)
	case unspawnable:
		s.main = false
		return failedStart(r, s)
	case settled:
		if !s.main {
			return s, nil, nil // a start whose command has ended with 0: what it left decides
		}
		s.settled = true
		return arrive(r, s)
	case readied:
		s.ready = true
		return arrive(r, s)
	case unready:
		return giveUp(s)
	case exited:
		return endedStarting(r, s, e)
	case leftDescendants:
		s.main, s.descendants = false, true
		return arrive(r, s)
	case noDescendants:
		switch {
		case s.main:
			return s, nil, nil
		case r.checked && !s.ready:
			return failedStart(r, s)
		}
		return machine{process: wire.Exited}, nil, nil
	case stopAsked:
		return beginStop(s)
	case startAsked:
		return s, nil, ErrAlreadyStarted
	case retry, overdue:
		return s, nil, nil
	}
	return s, nil, impossible(s, e)
}

// begun is the start of a main process.
func begun(r rules, s machine) (machine, []effect, error) {
	s = machine{process: wire.Starting, failures: s.failures, main: true, settled: !r.settles}
	var effects []effect
	if r.settles {
		effects = append(effects, awaitSettle)
	}
	if r.checked {
		effects = append(effects, awaitReady)
	}
	if len(effects) == 0 {
		return arrive(r, s)
	}
	return s, effects, nil
}

// arrive makes a program running that has all that it takes: a main process
// that has lived for startsecs, or what one that ended with 0 has left.
func arrive(r rules, s machine) (machine, []effect, error) {
	there := s.descendants || s.main && s.settled
	if there && (s.ready || !r.checked) {
		return machine{process: wire.Running, main: s.main}, nil, nil
	}
	return s, nil, nil
}

// endedStarting is the end of a main process before the program was running.
func endedStarting(r rules, s machine, e event) (machine, []effect, error) {
	s.main = false
	switch {
	case r.kind == protocol.KindStart && e.code == 0:
		return s, []effect{lookForDescendants}, nil
	case r.kind != protocol.KindNone:
		return machine{process: wire.Exited}, nil, nil
	case e.early, r.checked && !s.ready:
		return failedStart(r, s)
	}
	return nextRunning(r, machine{process: wire.Running, main: true}, e)
}

// giveUp ends a program that has not become ready, as a stop would, so that
// nothing of it is left when its start has failed.
func giveUp(s machine) (machine, []effect, error) {
	failures := s.failures
	s, effects, err := beginStop(s)
	s.failures, s.failing = failures, true
	return s, effects, err
}

// failedStart counts a failed start: as many seconds of waiting as there were
// failures, startretries+1 starts in all.
func failedStart(r rules, s machine) (machine, []effect, error) {
	s = machine{failures: s.failures + 1}
	if r.kind != protocol.KindNone || s.failures > r.retries {
		return machine{process: wire.Fatal}, nil, nil
	}
	s.process = wire.Backoff
	return s, []effect{awaitRetry}, nil
}

func nextRunning(r rules, s machine, e event) (machine, []effect, error) {
	switch e.what {
	case exited:
		if r.kind == protocol.KindStart {
			s.main = false
			return s, []effect{lookForDescendants}, nil
		}
		again := r.restart == config.RestartAlways ||
			r.restart == config.RestartUnexpected && !slices.Contains(r.exitCodes, e.code)
		if r.kind == protocol.KindNone && again {
			return machine{process: wire.Starting}, []effect{spawn}, nil
		}
		return machine{process: wire.Exited}, nil, nil
	case leftDescendants:
		return s, nil, nil
	case noDescendants:
		if s.main {
			return s, nil, nil
		}
		return machine{process: wire.Exited}, nil, nil
	case stopAsked:
		return beginStop(s)
	case startAsked:
		return s, nil, ErrAlreadyStarted
	case settled, retry, overdue, readied, unready:
		return s, nil, nil
	case spawned, unspawnable:
	}
	return s, nil, impossible(s, e)
}

// beginStop begins a stop: the main process first, so that a master can let its
// workers finish, or, where it has ended, all that it left.
func beginStop(s machine) (machine, []effect, error) {
	s = machine{process: wire.Stopping, main: s.main}
	if s.main {
		return s, []effect{signalMain, awaitGrace}, nil
	}
	return s, []effect{awaitGrace, endDescendants}, nil
}

func nextBackoff(s machine, e event) (machine, []effect, error) {
	switch e.what {
	case retry:
		s.process = wire.Starting
		return s, []effect{spawn}, nil
	case stopAsked:
		return machine{process: wire.Stopped}, nil, nil
	case startAsked:
		return s, nil, ErrAlreadyStarted
	case settled, overdue, leftDescendants, noDescendants, readied, unready:
		return s, nil, nil
	case spawned, unspawnable, exited:
	}
	return s, nil, impossible(s, e)
}

func nextStopping(r rules, s machine, e event) (machine, []effect, error) {
	switch e.what {
	case exited:
		s.main = false
		return s, []effect{endDescendants}, nil
	case noDescendants:
		switch {
		case s.main:
			return s, nil, nil
		case s.failing:
			return failedStart(r, s)
		}
		return machine{process: wire.Stopped}, nil, nil
	case overdue:
		if !s.main {
			return s, nil, nil // what is left is being ended already
		}
		return s, []effect{killAll}, nil
	case startAsked:
		return s, nil, ErrStopping
	case stopAsked:
		if s.failing {
			return machine{process: wire.Stopping, main: s.main}, nil, nil // and is not started again
		}
		return s, nil, ErrNotRunning // Supervisor answers so while it stops
	case settled, retry, leftDescendants, readied, unready:
		return s, nil, nil
	case spawned, unspawnable:
	}
	return s, nil, impossible(s, e)
}
