package deploy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"

	"github.com/docker/docker/api/types/swarm"

	"github.com/toskose/toskose/packager/compose"
)

// onEngine points a deployer at the Docker engine: as a stack or by Compose, as
// asked or as suits the engine.
func (d *deployer) onEngine(ctx context.Context, kind string) error {
	var err error
	if d.opts.Name != "" {
		d.info.App = d.opts.Name
	} else if d.info, err = compose.ReadInfo(d.opts.Dir); err != nil {
		return err
	}
	system, err := d.engine.Info(ctx)
	if err != nil {
		return fmt.Errorf("cannot reach the Docker engine: %w", err)
	}
	d.engineID = system.ID
	active := system.Swarm.LocalNodeState == swarm.LocalNodeStateActive
	switch {
	case kind == Compose || kind == "" && !active:
		d.opts.Environ = append(slices.Clone(d.opts.Environ), compose.HostVariable+"="+system.Name)
		d.kind, d.where = Compose, onProject(d)
		d.where.others = d.others(system, false)
	case !active:
		return errors.New("the engine is not in a swarm: `docker swarm init` makes one, and --target compose needs none")
	case !system.Swarm.ControlAvailable:
		return errors.New("the engine is a worker of its swarm: name a manager of the swarm with --docker-url")
	default:
		d.kind, d.where = Swarm, onStack(d, system.Swarm.NodeID)
		d.where.others = d.others(system, true)
	}
	return nil
}

// published is the manager's address on a host.
func (d *deployer) published(host string) string {
	return net.JoinHostPort(host, strconv.Itoa(d.info.Manager.Port))
}

// engineBefore looks for an application on the engine.
func (d *deployer) engineBefore(ctx context.Context, label string) (earlier, error) {
	containers, err := d.containers(ctx, label)
	if err != nil {
		return earlier{}, err
	}
	volumes, documents, err := d.volumes(ctx)
	return earlier{len(containers) > 0, len(volumes) > 0, len(documents) > 0}, err
}
