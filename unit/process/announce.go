package process

import (
	"slices"

	"github.com/toskose/toskose/spec/protocol"
	"github.com/toskose/toskose/unit/events"
	"github.com/toskose/toskose/unit/wire"
)

// announce emits the events of a step of the state machine. Only the goroutine
// that owns the program calls it, before others can see the new state.
func (p *owner) announce(before, after machine, effects []effect) {
	if p.status.PID != 0 {
		p.mainPID = p.status.PID
	}
	from := before.process
	if p.connection != nil && after.process != wire.Running {
		p.connection.listener.Running(false) // it is not told of its own end
	}
	for _, to := range visited(p.rules.kind, from, after.process, slices.Contains(effects, spawn)) {
		change := events.Change{From: from, To: to, PID: p.mainPID, Tries: after.failures}
		switch to {
		case wire.Backoff:
			change.Tries = before.failures + 1 // also where it is the last
			p.mainPID = 0
		case wire.Exited:
			exit := p.status.Exit
			change.Expected = exit != nil && slices.Contains(p.Settings().ExitCodes, supervisorStatus(*exit))
		case wire.Starting, wire.Running, wire.Stopping, wire.Stopped, wire.Fatal, wire.Unknown:
		}
		p.logEntered(from, to)
		p.table.o.Events.Emit(change.Event(p.eventful()))
		from = to
	}
	if p.connection != nil && after.process == wire.Running {
		p.connection.listener.Running(true)
	}
}

// visited returns the states that Supervisor passes through where the state
// machine takes one step: an exit is seen before a restart, a failed start
// before it is given up. again says that the step starts a process.
func visited(kind protocol.Kind, before, after wire.ProcessState, again bool) []wire.ProcessState {
	ordinary := kind == protocol.KindNone
	switch {
	case again && before == wire.Running:
		return []wire.ProcessState{wire.Exited, wire.Starting}
	case again && before == wire.Starting:
		return []wire.ProcessState{wire.Running, wire.Exited, wire.Starting}
	case before == after:
		return nil
	case ordinary && before == wire.Starting && after == wire.Exited:
		return []wire.ProcessState{wire.Running, wire.Exited}
	case (before == wire.Starting || before == wire.Stopping) && after == wire.Fatal:
		return []wire.ProcessState{wire.Backoff, wire.Fatal}
	}
	return []wire.ProcessState{after}
}
