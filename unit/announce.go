package unit

import (
	"slices"

	"github.com/toskose/toskose/unit/events"
	"github.com/toskose/toskose/unit/wire"
)

// announce emits the events of a step of the state machine. Only the goroutine
// that owns the program calls it, before others can see the new state.
func (p *program) announce(before, after machine, effects []effect) {
	if p.status.pid != 0 {
		p.mainPID = p.status.pid
	}
	from := before.process
	if p.ear != nil && after.process != wire.Running {
		p.ear.listener.Running(false) // it is not told of its own end
	}
	for _, to := range visited(p.rules.kind, from, after.process, slices.Contains(effects, spawn)) {
		change := events.Change{From: from, To: to, PID: p.mainPID, Tries: after.failures}
		switch to {
		case wire.Backoff:
			change.Tries = before.failures + 1 // also where it is the last
			p.mainPID = 0
		case wire.Exited:
			exit := p.status.exit
			change.Expected = exit != nil && slices.Contains(p.settings().ExitCodes, exitStatus(*exit))
		case wire.Starting, wire.Running, wire.Stopping, wire.Stopped, wire.Fatal, wire.Unknown:
		}
		p.world.events.Emit(change.Event(p.eventful()))
		from = to
	}
	if p.ear != nil && after.process == wire.Running {
		p.ear.listener.Running(true)
	}
}

// visited gives the states that Supervisor passes through where the state
// machine takes one step: an exit is seen before a restart, a failed start
// before it is given up. again says that the step starts a process.
func visited(kind wire.OperationKind, before, after wire.ProcessState, again bool) []wire.ProcessState {
	ordinary := kind == wire.OperationNone
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

// eventful names the process in events.
func (p *program) eventful() events.Process {
	return events.Process{Name: p.cfg.Name, Group: p.cfg.Group}
}

// SendRemoteCommEvent tells the listeners that subscribed to
// REMOTE_COMMUNICATION what a client has to say, also while the unit shuts down.
func (u *Unit) SendRemoteCommEvent(kind, data string) error {
	u.events.Emit(events.Remote(kind, data))
	return nil
}
