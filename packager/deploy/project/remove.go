package project

import (
	"context"
	"fmt"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/network"
	"golang.org/x/sync/errgroup"
)

// RemoveStarted removes the containers that Compose started, on an engine that now runs the application as a stack.
func (p *Project) RemoveStarted(ctx context.Context) error {
	started, err := p.Containers(ctx, p.label)
	if err != nil || len(started) == 0 {
		return err
	}
	p.Say("%s: removing the containers that Compose started", p.Info.App)
	return p.removeAll(ctx)
}

// removeWithoutFiles does the work of Compose's `down`, which needs the project's files, without them.
func (p *Project) removeWithoutFiles(ctx context.Context, list []container.Summary) error {
	group, stopping := errgroup.WithContext(ctx)
	for _, c := range list {
		group.Go(func() error {
			if err := p.Docker.ContainerStop(stopping, c.ID, container.StopOptions{}); err != nil && !errdefs.IsNotFound(err) {
				return fmt.Errorf("cannot stop container %s: %w", strings.Join(c.Names, ", "), err)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for _, c := range list {
		if err := p.Docker.ContainerRemove(ctx, c.ID, container.RemoveOptions{}); err != nil && !errdefs.IsNotFound(err) {
			return fmt.Errorf("cannot remove container %s: %w", strings.Join(c.Names, ", "), err)
		}
	}
	networks, err := p.Docker.NetworkList(ctx, network.ListOptions{Filters: filters.NewArgs(filters.Arg("label", p.label))})
	if err != nil {
		return fmt.Errorf("cannot list networks: %w", err)
	}
	for _, n := range networks {
		if err := p.Docker.NetworkRemove(ctx, n.ID); err != nil && !errdefs.IsNotFound(err) {
			return fmt.Errorf("cannot remove network %s: %w", n.Name, err)
		}
	}
	return nil
}
