package deploy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"

	"github.com/docker/docker/api/types/swarm"

	"github.com/toskose/toskose/packager/compose"
)

// onEngine sets a deployer to the Docker engine: as a stack or by Compose, as
// it is told or else as suits the engine.
func (d *deployer) onEngine(ctx context.Context, kind string) error {
	var err error
	if d.info, err = compose.ReadInfo(d.opts.Dir); err != nil {
		return err
	}
	system, err := d.engine.Info(ctx)
	if err != nil {
		return fmt.Errorf("cannot reach the Docker engine: %w", err)
	}
	active := system.Swarm.LocalNodeState == swarm.LocalNodeStateActive
	switch {
	case kind == Compose || kind == "" && !active:
		d.where = onProject(d)
	case !active:
		return errors.New("the engine is in no swarm: `docker swarm init` makes one, and --target compose needs none")
	case !system.Swarm.ControlAvailable:
		return errors.New("the engine is a worker of its swarm: deploy at a manager of it, which --docker-url names")
	default:
		d.where = onStack(d, system.Swarm.NodeID)
	}
	return nil
}

// published is the manager's port of a host.
func (d *deployer) published(host string) string {
	return net.JoinHostPort(host, strconv.Itoa(d.info.Manager.Port))
}

// engineBefore looks for an application on the engine.
func (d *deployer) engineBefore(ctx context.Context, label string) (found, error) {
	containers, err := d.containers(ctx, label)
	if err != nil {
		return found{}, err
	}
	volumes, err := d.volumes(ctx)
	return found{len(containers) > 0, len(volumes) > 0}, err
}
