package deploy

import (
	"cmp"
	"context"
	"fmt"

	"github.com/docker/docker/client"

	"github.com/toskose/toskose/packager/deploy/backend"
	"github.com/toskose/toskose/packager/deploy/engine"
)

// Down removes an application that Up deployed.
func Down(ctx context.Context, docker *client.Client, opts Options) error {
	d, err := open(ctx, docker, opts)
	if err != nil {
		return err
	}
	ctx, unlock, err := d.lock(ctx, false, d.sayLine)
	if err != nil {
		return fmt.Errorf("cannot undeploy %q: %w", d.Info.App, err)
	}
	defer unlock()
	if opts.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, opts.Timeout)
		defer cancel()
	}
	if err := d.down(ctx); err != nil {
		err = cmp.Or(d.lost(), err)
		return fmt.Errorf("cannot undeploy %q: %w", d.Info.App, err)
	}
	return nil
}

// down removes the running application and the documents that units store for the manager. It also removes the application's
// volumes if Options.Volumes is set.
func (d *deployer) down(ctx context.Context) error {
	if d.removeComposed != nil {
		if err := d.removeComposed(ctx); err != nil {
			return err
		}
	}
	left, err := d.remover.RemoteResources(ctx, backend.Removal{Volumes: d.opts.Volumes, Images: d.opts.Images})
	if err != nil {
		return err
	}
	d.Say("%s: removing the application that runs %s", d.Info.App, d.location.Name())
	if err := d.remover.Down(ctx, nil); err != nil {
		return err
	}
	if err := d.remover.RemoveDocuments(ctx); err != nil {
		return err
	}
	for _, line := range left {
		d.Say("%s: %s", d.Info.App, line)
	}
	if d.opts.Volumes {
		if err := d.remover.RemoveVolumes(ctx); err != nil {
			return err
		}
	}
	if d.opts.Images {
		return engine.RemoveImages(ctx, d.engine, d.Application)
	}
	return nil
}
