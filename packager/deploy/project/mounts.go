package project

import (
	"context"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/api/types/mount"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/mounted"
)

// mounted returns what the application's containers mount; false: nobody said where that is
// to be, and it is the folder's own.
func (p *Project) mounted() (mounted.Secrets, bool) {
	return mounted.Of(p.root, p.System.ID, p.Info.App), p.root != ""
}

// mounts brings the folder's secrets to where all of the application's containers mount
// them, and returns what names that place to Compose. Where it is of no use it is left alone:
// an engine on another machine, or toskose in a container, of which it sees the folder only;
// and what an earlier version has packaged, whose second file names no secrets.
func (p *Project) mounts(ctx context.Context) ([]string, error) {
	secrets, ok := p.mounted()
	if !ok || p.Info.Manager.Bind == "" || !p.sees(ctx, secrets) {
		return nil, nil
	}
	file, err := secrets.Take(p.Dir)
	if err != nil {
		return nil, err
	}
	return []string{"-f", file}, nil
}

// probing is how long an engine may take to make a container and to remove it.
const probing = 30 * time.Second

// sees reports whether the engine has the same files at a place as this process. It refuses
// to make a container that mounts what it does not have.
func (p *Project) sees(ctx context.Context, secrets mounted.Secrets) bool {
	own := filters.NewArgs(filters.Arg("label", packager.LabelApp+"="+p.Info.App))
	images, err := p.Docker.ImageList(ctx, image.ListOptions{Filters: own})
	if err == nil && len(images) == 0 { // another's may be about to be removed, which a container of it prevents
		images, err = p.Docker.ImageList(ctx, image.ListOptions{})
	}
	if err != nil || len(images) == 0 {
		return false
	}
	probe, cancel := context.WithTimeout(context.WithoutCancel(ctx), probing) // who interrupts this leaves no container
	defer cancel()
	return secrets.Seen(func(path string) bool {
		made, err := p.Docker.ContainerCreate(probe, &container.Config{Image: images[0].ID, Cmd: []string{"true"}}, &container.HostConfig{
			Mounts: []mount.Mount{{Type: mount.TypeBind, Source: path, Target: "/seen", ReadOnly: true}},
		}, nil, nil, "")
		return err == nil && p.Docker.ContainerRemove(probe, made.ID, container.RemoveOptions{}) == nil
	})
}

// Settle removes what no container mounts any more.
func (p *Project) Settle(context.Context) error {
	if secrets, ok := p.mounted(); ok {
		return secrets.Tidy(p.Dir)
	}
	return nil
}

// Publish has containers see what the folder's secrets are by now.
func (p *Project) Publish(context.Context) error {
	if secrets, ok := p.mounted(); ok {
		return secrets.Follow(p.Dir)
	}
	return nil
}
