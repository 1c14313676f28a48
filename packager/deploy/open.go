package deploy

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/docker/docker/api/types/swarm"
	"github.com/docker/docker/client"

	"github.com/toskose/toskose/packager/compose"
	"github.com/toskose/toskose/packager/deploy/backend"
	"github.com/toskose/toskose/packager/deploy/cluster"
	"github.com/toskose/toskose/packager/deploy/engine"
	"github.com/toskose/toskose/packager/deploy/project"
	"github.com/toskose/toskose/packager/deploy/stack"
	"github.com/toskose/toskose/packager/kubernetes"
)

// open finds the target of a folder, or the running application that Options names.
func open(ctx context.Context, docker *client.Client, opts Options) (*deployer, error) {
	d := &deployer{engine: docker, opts: opts, Application: &backend.Application{
		Dir: opts.Dir, Named: opts.Name != "", Environ: opts.Environ, Progress: opts.Progress, Debug: opts.Debug,
	}}
	if d.Named {
		return d, d.openNamed(ctx)
	}
	var err error
	if d.Dir, err = filepath.Abs(opts.Dir); err != nil {
		return nil, fmt.Errorf("cannot find %q: %w", opts.Dir, err)
	}
	kind, err := choose(d.Dir, opts.Target)
	if err != nil {
		return nil, err
	}
	if kind == Kubernetes {
		info, err := kubernetes.ReadInfo(d.Dir)
		if err != nil {
			return nil, err
		}
		return d, d.onCluster(ctx, info)
	}
	if d.Info, err = compose.ReadInfo(d.Dir); err != nil {
		return nil, err
	}
	return d, d.onEngine(ctx, kind)
}

// openNamed opens a running application without its folder.
func (d *deployer) openNamed(ctx context.Context) error {
	if !isFolderOf(d.Dir, d.opts.Name) {
		d.Dir = ""
	}
	if d.opts.Target == Kubernetes {
		return d.onCluster(ctx, kubernetes.Named(d.opts.Name, d.opts.Space))
	}
	d.Info.App = d.opts.Name
	if d.Dir != "" {
		if info, err := compose.ReadInfo(d.Dir); err == nil {
			d.Info.ExternalVolumes = info.ExternalVolumes
		}
	}
	return d.onEngine(ctx, d.opts.Target)
}

// isFolderOf reports whether a folder still contains the named application.
func isFolderOf(dir, name string) bool {
	if dir == "" {
		return false
	}
	info, err := compose.ReadInfo(dir)
	return err == nil && info.App == name
}

// onCluster selects the cluster that kubectl uses.
func (d *deployer) onCluster(ctx context.Context, info kubernetes.Info) error {
	d.Info, d.kind = info.Info, Kubernetes
	c, err := cluster.Open(ctx, d.Application, info, d.opts.Context)
	if err != nil {
		return err
	}
	d.use(c)
	if info.Under != "" {
		d.awaitOperator = c.AwaitOperator
	}
	return nil
}

// onEngine selects the Docker engine: a stack or Compose, as kind requests or as fits the engine.
func (d *deployer) onEngine(ctx context.Context, kind string) error {
	on, err := engine.Open(ctx, d.engine, d.Application)
	if err != nil {
		return err
	}
	composed := project.Of(on, d.opts.Mounted)
	active := on.System.Swarm.LocalNodeState == swarm.LocalNodeStateActive
	switch {
	case kind == Compose || kind == "" && !active:
		d.Environ = append(slices.Clone(d.Environ), compose.HostVariable+"="+on.System.Name)
		d.kind = Compose
		d.use(composed)
	case !active:
		return errors.New("the engine is not in a swarm: `docker swarm init` makes one, and --target compose needs none")
	case !on.System.Swarm.ControlAvailable:
		return errors.New("the engine is a worker of its swarm: name a manager of the swarm with --docker-url")
	default:
		d.kind, d.stack = Swarm, stack.Of(on)
		d.use(d.stack)
		d.halt, d.explainSilence, d.removeComposed = d.stack.Halt, d.stack.ExplainSilence, composed.RemoveStarted
	}
	return nil
}
