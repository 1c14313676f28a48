package unit

import (
	"errors"
	"fmt"
	"slices"

	"github.com/toskose/toskose/unit/wire"
)

// restart is when a program that has exited is started again by the unit
// (Supervisor's autorestart).
type restart int

const (
	restartNever restart = iota
	restartUnexpected
	restartAlways
)

// rules are what of a program's configuration its state machine obeys.
type rules struct {
	kind      wire.OperationKind
	settles   bool // startsecs is above zero
	checked   bool // it is running only when it is ready
	retries   int  // startretries
	restart   restart
	exitCodes []int
}

// machine is the state of a program's state machine.
type machine struct {
	process  wire.ProcessState
	failures int  // consecutive starts that failed; Supervisor's backoff
	main     bool // the main process lives

	// Of STARTING, where the program is checked.
	settled bool // startsecs have passed
	ready   bool
	rest    bool // the main process has ended with 0 and left something

	failing bool // of STOPPING: it is ended because it did not become ready
}

// occurrence is what can happen to a program.
type occurrence int

const (
	asked       occurrence = iota // to start
	spawned                       // the main process was started
	unspawnable                   // it could not be
	settled                       // startsecs passed
	exited                        // the main process ended
	left                          // after that, processes of the program are still there
	emptied                       // none is
	retry                         // the wait after a failed start is over
	halted                        // asked to stop
	overdue                       // stopwaitsecs passed
	readied                       // all of its checks passed
	unready                       // they did not in time, or never will
)

var occurrenceNames = [...]string{
	"asked", "spawned", "unspawnable", "settled", "exited", "left", "emptied", "retry", "halted", "overdue",
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
	spawn       effect = iota // start the main process, then report spawned or unspawnable
	awaitSettle               // report settled after startsecs
	awaitReady                // report readied or unready
	awaitRetry                // report retry after as many seconds as there were failures
	signalMain                // send stopsignal
	awaitGrace                // report overdue after stopwaitsecs
	lookForRest               // report left or emptied, and emptied as soon as that is so
	endRest                   // TERM, and KILL at the end of the grace, to what the main process left; then report emptied
	killAll                   // KILL to all of the program
)

// The errors of a step. What is not one of them is an error of this package.
var (
	errAlreadyStarted = errors.New("it is started already")
	errStopping       = errors.New("it is being stopped")
	errNotRunning     = errors.New("it is not running")
)

// impossible is the error of a pair of state and event that cannot meet.
func impossible(s machine, e event) error {
	return fmt.Errorf("%s cannot happen to a program that is %s", e.what, s.process)
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
	case asked:
		return machine{process: wire.Starting}, []effect{spawn}, nil
	case halted:
		return s, nil, errNotRunning
	case settled, retry, overdue, emptied, left, readied, unready: // late: a timer, a look or a check that was under way
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
	case left:
		s.main, s.rest = false, true
		return arrive(r, s)
	case emptied:
		switch {
		case s.main:
			return s, nil, nil
		case r.checked && !s.ready:
			return failedStart(r, s)
		}
		return machine{process: wire.Exited}, nil, nil
	case halted:
		return halt(s)
	case asked:
		return s, nil, errAlreadyStarted
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
	there := s.rest || s.main && s.settled
	if there && (s.ready || !r.checked) {
		return machine{process: wire.Running, main: s.main}, nil, nil
	}
	return s, nil, nil
}

// endedStarting is the end of a main process before the program was running.
func endedStarting(r rules, s machine, e event) (machine, []effect, error) {
	s.main = false
	switch {
	case r.kind == wire.OperationStart && e.code == 0:
		return s, []effect{lookForRest}, nil
	case r.kind != wire.OperationNone:
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
	s, effects, err := halt(s)
	s.failures, s.failing = failures, true
	return s, effects, err
}

// failedStart counts a failed start: as many seconds of waiting as there were
// failures, startretries+1 starts in all.
func failedStart(r rules, s machine) (machine, []effect, error) {
	s = machine{failures: s.failures + 1}
	if r.kind != wire.OperationNone || s.failures > r.retries {
		return machine{process: wire.Fatal}, nil, nil
	}
	s.process = wire.Backoff
	return s, []effect{awaitRetry}, nil
}

func nextRunning(r rules, s machine, e event) (machine, []effect, error) {
	switch e.what {
	case exited:
		if r.kind == wire.OperationStart {
			s.main = false
			return s, []effect{lookForRest}, nil
		}
		again := r.restart == restartAlways ||
			r.restart == restartUnexpected && !slices.Contains(r.exitCodes, e.code)
		if r.kind == wire.OperationNone && again {
			return machine{process: wire.Starting}, []effect{spawn}, nil
		}
		return machine{process: wire.Exited}, nil, nil
	case left:
		return s, nil, nil
	case emptied:
		if s.main {
			return s, nil, nil
		}
		return machine{process: wire.Exited}, nil, nil
	case halted:
		return halt(s)
	case asked:
		return s, nil, errAlreadyStarted
	case settled, retry, overdue, readied, unready:
		return s, nil, nil
	case spawned, unspawnable:
	}
	return s, nil, impossible(s, e)
}

// halt begins a stop: the main process first, so that a master can let its
// workers finish, or, where it has ended, all that it left.
func halt(s machine) (machine, []effect, error) {
	s = machine{process: wire.Stopping, main: s.main}
	if s.main {
		return s, []effect{signalMain, awaitGrace}, nil
	}
	return s, []effect{awaitGrace, endRest}, nil
}

func nextBackoff(s machine, e event) (machine, []effect, error) {
	switch e.what {
	case retry:
		s.process = wire.Starting
		return s, []effect{spawn}, nil
	case halted:
		return machine{process: wire.Stopped}, nil, nil
	case asked:
		return s, nil, errAlreadyStarted
	case settled, overdue, left, emptied, readied, unready:
		return s, nil, nil
	case spawned, unspawnable, exited:
	}
	return s, nil, impossible(s, e)
}

func nextStopping(r rules, s machine, e event) (machine, []effect, error) {
	switch e.what {
	case exited:
		s.main = false
		return s, []effect{endRest}, nil
	case emptied:
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
	case asked:
		return s, nil, errStopping
	case halted:
		if s.failing {
			return machine{process: wire.Stopping, main: s.main}, nil, nil // and is not started again
		}
		return s, nil, errNotRunning // Supervisor answers so while it stops
	case settled, retry, left, readied, unready:
		return s, nil, nil
	case spawned, unspawnable:
	}
	return s, nil, impossible(s, e)
}
