package deploy

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
func (p *project) mounted() (mounted.Secrets, bool) {
	return mounted.Of(p.d.opts.Mounted, p.d.engineID, p.d.info.App), p.d.opts.Mounted != ""
}

// mounts brings the folder's secrets to where all of the application's containers mount
// them, and returns what names that place to Compose. Where it is of no use it is left alone:
// an engine on another machine, or toskose in a container, of which it sees the folder only;
// and what an earlier version has packaged, whose second file names no secrets.
func (p *project) mounts(ctx context.Context) ([]string, error) {
	secrets, ok := p.mounted()
	if !ok || p.d.info.Manager.Bind == "" || !p.sees(ctx, secrets) {
		return nil, nil
	}
	file, err := secrets.Take(p.d.opts.Dir)
	if err != nil {
		return nil, err
	}
	return []string{"-f", file}, nil
}

// probing is how long an engine may take to make a container and to remove it.
const probing = 30 * time.Second

// sees reports whether the engine has the same files at a place as this process. It refuses
// to make a container that mounts what it does not have.
func (p *project) sees(ctx context.Context, secrets mounted.Secrets) bool {
	own := filters.NewArgs(filters.Arg("label", packager.LabelApp+"="+p.d.info.App))
	images, err := p.d.engine.ImageList(ctx, image.ListOptions{Filters: own})
	if err == nil && len(images) == 0 { // another's may be about to be removed, which a container of it prevents
		images, err = p.d.engine.ImageList(ctx, image.ListOptions{})
	}
	if err != nil || len(images) == 0 {
		return false
	}
	probe, cancel := context.WithTimeout(context.WithoutCancel(ctx), probing) // who interrupts this leaves no container
	defer cancel()
	return secrets.Seen(func(path string) bool {
		made, err := p.d.engine.ContainerCreate(probe, &container.Config{Image: images[0].ID, Cmd: []string{"true"}}, &container.HostConfig{
			Mounts: []mount.Mount{{Type: mount.TypeBind, Source: path, Target: "/seen", ReadOnly: true}},
		}, nil, nil, "")
		return err == nil && p.d.engine.ContainerRemove(probe, made.ID, container.RemoveOptions{}) == nil
	})
}

// tidy removes what no container mounts any more.
func (p *project) tidy(context.Context) error {
	if secrets, ok := p.mounted(); ok {
		return secrets.Tidy(p.d.opts.Dir)
	}
	return nil
}

// publish has containers see what the folder's secrets are by now.
func (p *project) publish(context.Context) error {
	if secrets, ok := p.mounted(); ok {
		return secrets.Follow(p.d.opts.Dir)
	}
	return nil
}
