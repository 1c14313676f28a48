package process

import (
	"fmt"
	"slices"

	"github.com/toskose/toskose/spec/protocol"
	"github.com/toskose/toskose/unit/config"
	"github.com/toskose/toskose/unit/wire"
)

// rules are the settings that the state machine depends on.
type rules struct {
	kind         protocol.Kind
	hasStartSecs bool // startsecs is above zero
	hasChecks    bool // running also requires that the checks pass
	retries      int  // startretries
	restart      config.Autorestart
	exitCodes    []int
}

// machine is the state of a program.
type machine struct {
	process  wire.ProcessState
	failures int  // consecutive failed starts; Supervisor's backoff
	main     bool // the main process is alive

	// In STARTING, for a program with checks:
	settled     bool // startsecs have passed
	ready       bool
	descendants bool // the main process exited with 0 and left descendants

	// In STOPPING:
	failing    bool // ended because it did not become ready
	restarting bool // ended because it was not live, and is started again
}

// eventKind is a kind of event in the life of a program.
type eventKind int

const (
	startAsked       eventKind = iota
	spawned                    // the main process was started
	spawnFailed                // the main process could not be started
	settled                    // startsecs have passed
	exited                     // the main process exited
	descendantsFound           // the exited main process left descendants
	noDescendants              // no descendants are left
	retryDue                   // the delay after a failed start has passed
	stopAsked
	graceExpired // stopwaitsecs have passed
	checksPassed // all checks passed
	checksFailed // the checks failed or timed out
	livenessLost // the program is to be restarted, since it is not live
)

var occurrenceNames = [...]string{
	"a start", "spawned", "unspawnable", "settled", "exited", "left descendants", "no descendants", "retry", "a stop", "overdue",
	"readied", "unready", "not live",
}

func (o eventKind) String() string { return occurrenceNames[o] }

// event is an event with its parameters.
type event struct {
	kind  eventKind
	code  int  // for exited; -1: terminated by a signal
	early bool // for exited: before startsecs passed
}

// effect is an action that the owner of a program takes after a step.
type effect int

const (
	spawn              effect = iota // start the main process, then report spawned or spawnFailed
	awaitSettle                      // report settled after startsecs
	awaitReady                       // report checksPassed or checksFailed
	awaitRetry                       // report retryDue after one second per failure
	signalMain                       // send stopsignal
	awaitGrace                       // report graceExpired after stopwaitsecs
	lookForDescendants               // report descendantsFound or noDescendants; after the former, report noDescendants later
	endDescendants                   // end descendants by TERM, then KILL after the grace period; then report noDescendants
	killAll                          // kill all processes of the program
)

// impossible returns the error for an event that cannot occur in a state.
func impossible(s machine, e event) error {
	return fmt.Errorf("%s cannot happen to a program that is %s", e.kind, s.process)
}

func rulesOf(cfg *config.Program) rules {
	return rules{
		kind: cfg.Kind, hasStartSecs: cfg.StartSecs > 0, hasChecks: cfg.Ready != nil, retries: cfg.StartRetries,
		restart: cfg.Autorestart, exitCodes: cfg.ExitCodes,
	}
}

// next is the state machine of a program. It follows Supervisor's rules (Supervisor manual,
// "Process States") with these differences: a stop completes when no descendants are left; an
// operation is never restarted automatically; an operation of kind start that exited with 0 is
// running while its descendants live; and a program with checks is running only once they have
// passed. Exiting before that, or being ended because they fail, counts as a failed start. A program
// that is not live is stopped, and started again unless it is an operation.
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
	switch e.kind {
	case startAsked:
		return machine{process: wire.Starting}, []effect{spawn}, nil
	case stopAsked:
		return s, nil, ErrNotRunning
	case settled, retryDue, graceExpired, noDescendants, descendantsFound, checksPassed, checksFailed, livenessLost: // late reports of a cancelled timer or check
		return s, nil, nil
	case spawned, spawnFailed, exited:
	}
	return s, nil, impossible(s, e)
}

func nextStarting(r rules, s machine, e event) (machine, []effect, error) {
	switch e.kind {
	case spawned:
		return enterStarting(r, s)
	case spawnFailed:
		s.main = false
		return countFailedStart(r, s)
	case settled:
		if !s.main {
			return s, nil, nil // a start that exited with 0: its descendants decide
		}
		s.settled = true
		return tryEnterRunning(r, s)
	case checksPassed:
		s.ready = true
		return tryEnterRunning(r, s)
	case checksFailed:
		return abandonStart(s)
	case exited:
		return exitWhileStarting(r, s, e)
	case descendantsFound:
		s.main, s.descendants = false, true
		return tryEnterRunning(r, s)
	case noDescendants:
		switch {
		case s.main:
			return s, nil, nil
		case r.hasChecks && !s.ready:
			return countFailedStart(r, s)
		}
		return machine{process: wire.Exited}, nil, nil
	case stopAsked:
		return beginStop(s)
	case startAsked:
		return s, nil, ErrAlreadyStarted
	case retryDue, graceExpired, livenessLost:
		return s, nil, nil
	}
	return s, nil, impossible(s, e)
}

// enterStarting starts a main process.
func enterStarting(r rules, s machine) (machine, []effect, error) {
	s = machine{process: wire.Starting, failures: s.failures, main: true, settled: !r.hasStartSecs}
	var effects []effect
	if r.hasStartSecs {
		effects = append(effects, awaitSettle)
	}
	if r.hasChecks {
		effects = append(effects, awaitReady)
	}
	if len(effects) == 0 {
		return tryEnterRunning(r, s)
	}
	return s, effects, nil
}

// tryEnterRunning enters RUNNING if all conditions are met: the main process has lived for
// startsecs, or it exited with 0 and left descendants.
func tryEnterRunning(r rules, s machine) (machine, []effect, error) {
	there := s.descendants || s.main && s.settled
	if there && (s.ready || !r.hasChecks) {
		return machine{process: wire.Running, main: s.main}, nil, nil
	}
	return s, nil, nil
}

// exitWhileStarting handles the exit of the main process before the program was running.
func exitWhileStarting(r rules, s machine, e event) (machine, []effect, error) {
	s.main = false
	switch {
	case r.kind == protocol.KindStart && e.code == 0:
		return s, []effect{lookForDescendants}, nil
	case r.kind != protocol.KindNone:
		return machine{process: wire.Exited}, nil, nil
	case e.early, r.hasChecks && !s.ready:
		return countFailedStart(r, s)
	}
	return nextRunning(r, machine{process: wire.Running, main: true}, e)
}

// abandonStart stops a program that did not become ready, so that a failed start leaves no
// processes.
func abandonStart(s machine) (machine, []effect, error) {
	failures := s.failures
	s, effects, err := beginStop(s)
	s.failures, s.failing = failures, true
	return s, effects, err
}

// countFailedStart schedules the next attempt after one second per failure, up to startretries+1
// starts in all.
func countFailedStart(r rules, s machine) (machine, []effect, error) {
	s = machine{failures: s.failures + 1}
	if r.kind != protocol.KindNone || s.failures > r.retries {
		return machine{process: wire.Fatal}, nil, nil
	}
	s.process = wire.Backoff
	return s, []effect{awaitRetry}, nil
}

func nextRunning(r rules, s machine, e event) (machine, []effect, error) {
	switch e.kind {
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
	case descendantsFound:
		return s, nil, nil
	case noDescendants:
		if s.main {
			return s, nil, nil
		}
		return machine{process: wire.Exited}, nil, nil
	case stopAsked:
		return beginStop(s)
	case livenessLost:
		s, effects, err := beginStop(s)
		s.restarting = r.kind == protocol.KindNone // the goal restarts a component
		return s, effects, err
	case startAsked:
		return s, nil, ErrAlreadyStarted
	case settled, retryDue, graceExpired, checksPassed, checksFailed:
		return s, nil, nil
	case spawned, spawnFailed:
	}
	return s, nil, impossible(s, e)
}

// beginStop begins a stop with the main process, so that a master can let its workers finish, or,
// if it has exited, with its descendants.
func beginStop(s machine) (machine, []effect, error) {
	s = machine{process: wire.Stopping, main: s.main}
	if s.main {
		return s, []effect{signalMain, awaitGrace}, nil
	}
	return s, []effect{awaitGrace, endDescendants}, nil
}

func nextBackoff(s machine, e event) (machine, []effect, error) {
	switch e.kind {
	case retryDue:
		s.process = wire.Starting
		return s, []effect{spawn}, nil
	case stopAsked:
		return machine{process: wire.Stopped}, nil, nil
	case startAsked:
		return s, nil, ErrAlreadyStarted
	case settled, graceExpired, descendantsFound, noDescendants, checksPassed, checksFailed, livenessLost:
		return s, nil, nil
	case spawned, spawnFailed, exited:
	}
	return s, nil, impossible(s, e)
}

func nextStopping(r rules, s machine, e event) (machine, []effect, error) {
	switch e.kind {
	case exited:
		s.main = false
		return s, []effect{endDescendants}, nil
	case noDescendants:
		switch {
		case s.main:
			return s, nil, nil
		case s.failing:
			return countFailedStart(r, s)
		case s.restarting:
			return machine{process: wire.Starting}, []effect{spawn}, nil
		}
		return machine{process: wire.Stopped}, nil, nil
	case graceExpired:
		if !s.main {
			return s, nil, nil // the descendants are being ended already
		}
		return s, []effect{killAll}, nil
	case startAsked:
		return s, nil, ErrStopping
	case stopAsked:
		if s.failing || s.restarting {
			return machine{process: wire.Stopping, main: s.main}, nil, nil // and no restart follows
		}
		return s, nil, ErrNotRunning // Supervisor's answer while it stops
	case settled, retryDue, descendantsFound, checksPassed, checksFailed, livenessLost:
		return s, nil, nil
	case spawned, spawnFailed:
	}
	return s, nil, impossible(s, e)
}
