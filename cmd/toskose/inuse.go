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

// looking is how long an engine may take to say what it has.
const looking = 10 * time.Second

// inUse says what of an application is in use on the engine that it is built on. It may
// be for another, so that this is no error before it is deployed.
func (f *packageFlags) inUse(ctx context.Context, docker *client.Client, plan *packager.Plan) (warnings []string) {
	if !f.targets.has(targetSwarm) && !f.targets.has(targetCompose) || f.images.opts.Output != image.Engine || f.images.opts.Contexts != "" || f.images.dryRun {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, looking)
	defer cancel()
	info, err := docker.Info(ctx)
	if err != nil {
		return nil // building says so, if it needs an engine
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

// mounted reports whether a container of an application has a file of this machine: one
// that Compose runs has those of its secrets.
func mounted(ctx context.Context, docker *client.Client, app string) func(path string) bool {
	return func(path string) bool {
		ctx, cancel := context.WithTimeout(ctx, looking)
		defer cancel()
		list, err := docker.ContainerList(ctx, container.ListOptions{All: true, Filters: filters.NewArgs(filters.Arg("label", packager.LabelApp+"="+app))})
		if err != nil {
			return false // it runs nowhere that one could look
		}
		return slices.ContainsFunc(list, func(c container.Summary) bool {
			return slices.ContainsFunc(c.Mounts, func(m container.MountPoint) bool { return m.Source == path })
		})
	}
}
