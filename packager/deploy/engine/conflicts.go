package engine

import (
	"context"
	"errors"

	"github.com/toskose/toskose/packager/compose"
	"github.com/toskose/toskose/packager/conflict"
)

// Conflicts returns an error if other containers or another application on the engine use the application's name, ports or
// container names.
func (e *Engine) Conflicts(ctx context.Context, asStack bool) error {
	ports, err := conflict.PortsOf(e.Dir, e.Info, asStack)
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
