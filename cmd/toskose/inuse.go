package main

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/client"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/compose"
	"github.com/toskose/toskose/packager/conflict"
	"github.com/toskose/toskose/packager/image"
)

// looking is the timeout of a query of the engine.
const looking = 10 * time.Second

// inUse returns warnings about resources of the application that are in use on the engine of the
// build. The application may be deployed to another engine, so they are not errors before
// deployment.
func (f *packageFlags) inUse(ctx context.Context, docker *client.Client, plan *packager.Plan) (warnings []string) {
	if !f.targets.has(targetSwarm) && !f.targets.has(targetCompose) || f.images.opts.Output != image.Engine || f.images.opts.Contexts != "" || f.images.dryRun {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, looking)
	defer cancel()
	info, err := docker.Info(ctx)
	if err != nil {
		return nil // building reports it, if it needs an engine
	}
	on := conflict.On(docker, info, plan.App, info.Swarm.ControlAvailable && f.targets.has(targetSwarm))
	services := slices.Sorted(maps.Values(compose.ServiceNames(plan)))
	for _, err := range []error{on.Name(ctx), on.Parts(ctx, services), on.Ports(ctx, conflict.PlannedPorts(plan, f.targets.compose.PublishMode))} {
		if err != nil {
			for line := range strings.Lines(err.Error()) {
				warnings = append(warnings, "it cannot be deployed on this engine as it is: "+strings.TrimSuffix(line, "\n"))
			}
		}
	}
	return warnings
}

// mounted returns a function that reports whether a container of the application mounts a file of
// this machine: containers run by Compose mount the files of their secrets.
func mounted(ctx context.Context, docker *client.Client, app string) func(path string) bool {
	return func(path string) bool {
		ctx, cancel := context.WithTimeout(ctx, looking)
		defer cancel()
		list, err := docker.ContainerList(ctx, container.ListOptions{All: true, Filters: filters.NewArgs(filters.Arg("label", packager.LabelApp+"="+app))})
		if err != nil {
			return false // no running container can be found
		}
		return slices.ContainsFunc(list, func(c container.Summary) bool {
			return slices.ContainsFunc(c.Mounts, func(m container.MountPoint) bool { return m.Source == path })
		})
	}
}
