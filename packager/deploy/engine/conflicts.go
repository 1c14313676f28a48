package engine

import (
	"context"
	"errors"

	"github.com/toskose/toskose/packager/compose"
	"github.com/toskose/toskose/packager/conflict"
)

// Conflicts refuses what another application, or somebody else, has on the engine: its
// ports, its name, or those of its containers.
func (e *Engine) Conflicts(ctx context.Context, asStack bool) error {
	ports, err := conflict.PortsOf(e.Dir, e.Info)
	if err != nil {
		return err
	}
	services, err := compose.Services(e.Dir)
	if err != nil {
		return err
	}
	on := conflict.On(e.Docker, e.System, e.Info.App, asStack)
	return errors.Join(on.Name(ctx), on.Parts(ctx, services), on.Ports(ctx, ports))
}
