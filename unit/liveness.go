package unit

import (
	"fmt"

	"github.com/toskose/toskose/spec/protocol"
	"github.com/toskose/toskose/unit/process"
	"github.com/toskose/toskose/unit/wire"
)

// Live returns nil if the unit works, and its programs do: none with autostart is FATAL, and none
// fails its liveness checks.
func (u *Unit) Live() error {
	if err := u.Healthy(); err != nil {
		return err
	}
	for _, p := range u.names.all() {
		s := p.Status()
		switch {
		case s.Failing != nil:
			return fmt.Errorf("%s is failing: %s", p.Name(), s.Failing.Why)
		case s.State == wire.Fatal && p.Settings().Autostart:
			return fmt.Errorf("%s is FATAL: %s", p.Name(), s.SpawnErr)
		}
	}
	return nil
}

// recordLiveness records when programs with liveness checks begin to fail, and when they are live
// again.
func (u *core) recordLiveness(programs []*process.Program) {
	for _, p := range programs {
		name := p.Config().Component
		if p.Kind() == protocol.KindNone {
			name = p.Namespec()
		}
		if p.Config().Live != nil {
			u.tasks.Go(func() { u.components.RecordLiveness(name, p) })
		}
	}
}
