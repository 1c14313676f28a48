package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/api/types/mount"

	"github.com/toskose/toskose/packager"
)

// probeTimeout is how long the engine may take to create and remove a container.
const probeTimeout = 30 * time.Second

// Sees reports whether a path exists on the engine's machine: the engine refuses to create a container with a bind mount of a
// missing path. The error means that the check failed.
func (e *Engine) Sees(ctx context.Context, path string) (bool, error) {
	of, err := e.anyImage(ctx)
	if err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), probeTimeout) // an interrupted check leaves no container behind
	defer cancel()
	if err := e.RemoveProbe(ctx); err != nil {
		return false, err
	}
	made, err := e.Docker.ContainerCreate(ctx, &container.Config{Image: of, Cmd: []string{"true"}}, &container.HostConfig{
		Mounts: []mount.Mount{{Type: mount.TypeBind, Source: path, Target: "/seen", ReadOnly: true}},
	}, nil, nil, e.probe())
	if errdefs.IsInvalidArgument(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("cannot make a container: %w", err)
	}
	// The image may declare volumes, which the engine created with the container.
	return true, e.removeContainer(ctx, made.ID)
}

// probe returns the name of the container that Sees creates.
func (e *Engine) probe() string { return e.Info.App + "_toskose-probe" }

// RemoveProbe removes the container of a call of Sees that was killed.
func (e *Engine) RemoveProbe(ctx context.Context) error { return e.removeContainer(ctx, e.probe()) }

func (e *Engine) removeContainer(ctx context.Context, name string) error {
	err := e.Docker.ContainerRemove(ctx, name, container.RemoveOptions{RemoveVolumes: true})
	if err != nil && !errdefs.IsNotFound(err) {
		return fmt.Errorf("cannot remove container %q: %w", name, err)
	}
	return nil
}

// anyImage returns the ID of any image of the engine.
func (e *Engine) anyImage(ctx context.Context) (string, error) {
	own := filters.NewArgs(filters.Arg("label", packager.LabelApp+"="+e.Info.App))
	images, err := e.Docker.ImageList(ctx, image.ListOptions{Filters: own})
	if err == nil && len(images) == 0 { // a probe with another application's image could prevent the removal of that image
		images, err = e.Docker.ImageList(ctx, image.ListOptions{})
	}
	if err != nil {
		return "", fmt.Errorf("cannot list images: %w", err)
	}
	if len(images) == 0 {
		return "", errors.New("the engine has no image")
	}
	return images[0].ID, nil
}
