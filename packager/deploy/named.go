package deploy

import (
	"context"
	"fmt"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/api/types/network"
	"github.com/docker/docker/client"
	"golang.org/x/sync/errgroup"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/compose"
	"github.com/toskose/toskose/packager/kubernetes"
)

// openNamed opens an application that runs, without its folder.
func openNamed(ctx context.Context, engine *client.Client, opts Options) (*deployer, error) {
	if !isFolderOf(opts.Dir, opts.Name) {
		opts.Dir = ""
	}
	d := &deployer{engine: engine, opts: opts}
	if opts.Target == Kubernetes {
		return d, d.inCluster(ctx, kubernetes.Named(opts.Name, opts.Space))
	}
	return d, d.onEngine(ctx, opts.Target)
}

// isFolderOf reports whether an application is still what was packaged in a folder.
func isFolderOf(dir, name string) bool {
	if dir == "" {
		return false
	}
	info, err := compose.ReadInfo(dir)
	return err == nil && info.App == name
}

// removeProject removes what Compose has made of a project, as its `down` does: that
// wants the project's files.
func (d *deployer) removeProject(ctx context.Context, list []container.Summary, label string) error {
	group, stopping := errgroup.WithContext(ctx)
	for _, c := range list {
		group.Go(func() error {
			if err := d.engine.ContainerStop(stopping, c.ID, container.StopOptions{}); err != nil && !errdefs.IsNotFound(err) {
				return fmt.Errorf("cannot stop container %s: %w", strings.Join(c.Names, ", "), err)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for _, c := range list {
		if err := d.engine.ContainerRemove(ctx, c.ID, container.RemoveOptions{}); err != nil && !errdefs.IsNotFound(err) {
			return fmt.Errorf("cannot remove container %s: %w", strings.Join(c.Names, ", "), err)
		}
	}
	networks, err := d.engine.NetworkList(ctx, network.ListOptions{Filters: filters.NewArgs(filters.Arg("label", label))})
	if err != nil {
		return fmt.Errorf("cannot list networks: %w", err)
	}
	for _, n := range networks {
		if err := d.engine.NetworkRemove(ctx, n.ID); err != nil && !errdefs.IsNotFound(err) {
			return fmt.Errorf("cannot remove network %s: %w", n.Name, err)
		}
	}
	return nil
}

// removeImages removes the images that were built for the application from the engine,
// except those that a container has. Their bases have no label of it.
func (d *deployer) removeImages(ctx context.Context) error {
	list, err := d.engine.ImageList(ctx, image.ListOptions{Filters: filters.NewArgs(filters.Arg("label", packager.LabelApp+"="+d.info.App))})
	if err != nil {
		return fmt.Errorf("cannot list images: %w", err)
	}
	for _, i := range list {
		names := i.RepoTags
		if len(names) == 0 {
			names = []string{i.ID}
		}
		for _, name := range names {
			_, err := d.engine.ImageRemove(ctx, name, image.RemoveOptions{PruneChildren: true})
			switch {
			case errdefs.IsNotFound(err):
			case errdefs.IsConflict(err):
				d.say("%s: image %s stays: %v", d.info.App, name, err)
			case err != nil:
				return fmt.Errorf("cannot remove image %q: %w", name, err)
			default:
				d.say("%s: removed image %s", d.info.App, name)
			}
		}
	}
	return nil
}
