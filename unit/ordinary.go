package unit

import (
	"slices"

	"github.com/toskose/toskose/spec/protocol"
	"github.com/toskose/toskose/unit/component"
	"github.com/toskose/toskose/unit/process"
)

// ordinary returns the programs that are components by themselves: if the unit has joined an
// application by its environment, all but operations and event listeners.
func (u *core) ordinary(programs []*process.Program) []*process.Program {
	if !u.joined {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(programs), func(p *process.Program) bool {
		return p.Kind() != protocol.KindNone || p.IsListener()
	})
}

// observe records the states of ordinary programs until they are removed.
func (u *core) observe(programs []*process.Program) {
	for _, p := range u.ordinary(programs) {
		u.tasks.Go(func() { u.components.Observe(p.Namespec(), p) })
	}
}

// replaceOrdinary takes the components of some programs out of use, and puts others in use. The
// programs that leave are held, so that none of them runs.
func (u *core) replaceOrdinary(leaving, coming []*process.Program) error {
	for _, p := range u.ordinary(leaving) {
		if err := u.components.WithdrawOrdinary(p.Namespec(), p); err != nil {
			return err
		}
	}
	for _, p := range u.ordinary(coming) {
		if err := u.components.Use(p.Namespec(), component.Definition{Program: p}); err != nil {
			return err
		}
	}
	return nil
}
