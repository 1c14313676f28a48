package engine

import (
	"context"
	"fmt"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/client"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/deploy/backend"
)

// RemoveImages removes the images that were built for the application from the engine, except images that a container uses.
// Base images do not have the application's label, so they stay.
func RemoveImages(ctx context.Context, docker *client.Client, app *backend.Application) error {
	list, err := docker.ImageList(ctx, image.ListOptions{Filters: filters.NewArgs(filters.Arg("label", packager.LabelApp+"="+app.Info.App))})
	if err != nil {
		return fmt.Errorf("cannot list images: %w", err)
	}
	for _, i := range list {
		names := i.RepoTags
		if len(names) == 0 {
			names = []string{i.ID}
		}
		for _, name := range names {
			_, err := docker.ImageRemove(ctx, name, image.RemoveOptions{PruneChildren: true})
			switch {
			case errdefs.IsNotFound(err):
			case errdefs.IsConflict(err):
				app.Say("%s: image %s stays: %v", app.Info.App, name, err)
			case err != nil:
				return fmt.Errorf("cannot remove image %q: %w", name, err)
			default:
				app.Say("%s: removed image %s", app.Info.App, name)
			}
		}
	}
	return nil
}
