package deploy

import (
	"context"
	"fmt"
	"time"

	"github.com/docker/docker/client"

	"github.com/toskose/toskose/packager/deploy/backend"
	"github.com/toskose/toskose/packager/output"
	"github.com/toskose/toskose/packager/release"
)

// Reach returns the address of the manager of a folder's application. On a cluster, a port is forwarded until done is called.
func Reach(ctx context.Context, engine *client.Client, opts Options) (at backend.Access, done func(), err error) {
	d, err := open(ctx, engine, opts)
	if err != nil {
		return backend.Access{}, nil, err
	}
	done = d.location.Close
	host, err := d.location.Host(ctx)
	if err != nil {
		done()
		return backend.Access{}, nil, fmt.Errorf("cannot find the manager of %q: %w", d.Info.App, err)
	}
	d.password, err = output.ManagerPassword(d.Dir)
	return d.access(host), done, err
}

// access returns access to the deployed application's manager at HOST:PORT.
func (d *deployer) access(host string) backend.Access {
	at := backend.NewAccess(d.Dir, d.Info, host, d.password)
	at.Forward = d.location.Forward()
	return at
}

// goalTimeout is the time limit for locating and querying the manager of the running version.
const goalTimeout = 20 * time.Second

// readGoal reads the goal from the manager of the running version, if it can be located, and stores it with the release that is
// replaced.
func (d *deployer) readGoal(ctx context.Context) error {
	if !d.existing.Running || d.opts.Goal == nil || len(d.Info.External) > 0 {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, goalTimeout)
	defer cancel()
	if host, err := d.location.Host(limited); err != nil {
		d.Say("%s: the running manager is unreachable: %v", d.Info.App, err)
	} else {
		d.opts.Goal.Read(limited, d.access(host))
	}
	now, ok := d.Log.Current()
	if !ok || now.Pending || now.Release == d.release {
		return nil // an interrupted deployment has stored the goal already
	}
	return release.KeepGoal(now, d.opts.Goal.Saved())
}

// restoreGoal restores the goal at the deployed version's manager.
func (d *deployer) restoreGoal(ctx context.Context) error {
	if d.opts.Goal == nil || d.stored {
		return nil
	}
	host, err := d.location.Host(ctx) // a port is forwarded to one pod, which may have been replaced
	if err != nil {
		return err
	}
	return d.opts.Goal.Restore(ctx, d.access(host), d.restoring)
}
