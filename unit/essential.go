package unit

import (
	"fmt"

	"github.com/toskose/toskose/unit/reaper"
	"github.com/toskose/toskose/unit/wire"
)

// EssentialError is what Run returns when an essential program ended by itself,
// and with it the unit.
type EssentialError struct {
	Process string // GROUP:NAME
	Code    int    // what the container is to end with: its exit code, or 128 and the signal's number
	State   wire.ProcessState
}

func (e *EssentialError) Error() string {
	return fmt.Sprintf("the essential process %s is %s, so the unit ends with %d", e.Process, e.State, e.Code)
}

// gaveOut ends the unit because an essential program has ended by itself.
func (u *Unit) gaveOut(e *EssentialError) {
	u.log.Error("an essential process has ended", "process", e.Process, "state", e.State.String(), "code", e.Code)
	u.finish(wire.DaemonShutdown, e)
}

// lose tells that an essential program came to rest by itself, in a state that
// the status does not have yet.
func (p *program) lose(state wire.ProcessState) {
	if !p.cfg.Essential || (state != wire.Exited && state != wire.Fatal) {
		return
	}
	s, _ := p.observe()
	p.world.lost(&EssentialError{Process: p.name(), Code: lastCode(s, state), State: state})
}

// lastCode is what a container ends with because a program has ended. A
// program that was given up has not succeeded, whatever its exit code.
func lastCode(s status, state wire.ProcessState) int {
	const failed = 1
	code := execFailed // nothing was ever executed
	switch {
	case s.unready:
		code = failed
	case s.left && s.last != nil:
		code = containerCode(s.last.exit)
	case s.exit != nil:
		code = containerCode(*s.exit)
	}
	if code == 0 && state == wire.Fatal {
		return failed
	}
	return code
}

// containerCode is an exit as shells and container engines count it.
func containerCode(exit reaper.Exit) int {
	const signalled = 128
	if exit.Signalled() {
		return signalled + int(exit.Signal)
	}
	return exit.Code
}
