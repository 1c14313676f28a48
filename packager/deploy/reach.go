package deploy

import (
	"context"
	"fmt"
	"time"

	"github.com/docker/docker/client"

	"github.com/toskose/toskose/packager/endpoint"
	"github.com/toskose/toskose/packager/output"
)

// Reach finds where the manager of a folder's application is now. On a cluster, a port is
// forwarded to it until done is called.
func Reach(ctx context.Context, engine *client.Client, opts Options) (at endpoint.Access, done func(), err error) {
	d, err := open(ctx, engine, opts)
	if err != nil {
		return endpoint.Access{}, nil, err
	}
	done = d.where.Close
	host, err := d.where.Host(ctx)
	if err != nil {
		done()
		return endpoint.Access{}, nil, fmt.Errorf("cannot find the manager of %q: %w", d.Info.App, err)
	}
	password, err := output.ManagerPassword(d.Dir)
	return d.access(host, password), done, err
}

// access is to the manager of what is deployed, at HOST:PORT.
func (d *deployer) access(host, password string) endpoint.Access {
	at := endpoint.New(d.Dir, d.Info, host, password)
	at.Forward = d.where.Forward()
	return at
}

// finding is how long it may take to find the manager of the version that runs.
const finding = 20 * time.Second

// askBefore has the caller ask the manager that runs before, if there is a way to it.
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
