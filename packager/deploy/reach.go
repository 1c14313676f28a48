package deploy

import (
	"context"
	"fmt"
	"time"

	"github.com/docker/docker/client"

	"github.com/toskose/toskose/packager/deploy/backend"
	"github.com/toskose/toskose/packager/output"
)

// Reach returns the address of the manager of a folder's application. On a cluster, a port is forwarded until done is called.
func Reach(ctx context.Context, engine *client.Client, opts Options) (at backend.Access, done func(), err error) {
	d, err := open(ctx, engine, opts)
	if err != nil {
		return backend.Access{}, nil, err
	}
	done = d.where.Close
	host, err := d.where.Host(ctx)
	if err != nil {
		done()
		return backend.Access{}, nil, fmt.Errorf("cannot find the manager of %q: %w", d.Info.App, err)
	}
	password, err := output.ManagerPassword(d.Dir)
	return d.access(host, password), done, err
}

// access returns access to the deployed application's manager at HOST:PORT.
func (d *deployer) access(host, password string) backend.Access {
	at := backend.NewAccess(d.Dir, d.Info, host, password)
	at.Forward = d.where.Forward()
	return at
}

// finding is the time limit for locating and asking the manager of the running version.
const finding = 20 * time.Second

// askBefore calls Options.Before with the manager of the running version, if it can be located.
func (d *deployer) askBefore(ctx context.Context, password string) {
	ctx, cancel := context.WithTimeout(ctx, finding)
	defer cancel()
	host, err := d.where.Host(ctx)
	if err != nil {
		d.Say("%s: the manager that runs cannot be asked: %v", d.Info.App, err)
		return
	}
	d.opts.Before(ctx, d.access(host, password))
}
