package deploy

import (
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/docker/docker/client"

	"github.com/toskose/toskose/packager/deploy/backend"
	"github.com/toskose/toskose/packager/output"
)

// Running is a running application whose secrets can be replaced.
type Running struct{ d *deployer }

// Open opens the running application of a folder. The caller must close it.
func Open(ctx context.Context, engine *client.Client, opts Options) (*Running, error) {
	d, err := open(ctx, engine, opts)
	if err != nil {
		return nil, err
	}
	return &Running{d}, nil
}

// Exclude acquires the application's lock and reports through say while it waits. The returned context is canceled when the
// lock is lost; release releases the lock.
func (r *Running) Exclude(ctx context.Context, say func(line string)) (locked context.Context, release func(), err error) {
	return r.d.lock(ctx, false, say)
}

// Find returns an error unless the application is running with the folder's secrets.
func (r *Running) Find(ctx context.Context) error {
	d := r.d
	if len(d.Info.External) > 0 {
		return fmt.Errorf("the secrets of %q are external: replace them where they were created", d.Info.App)
	}
	if err := d.findExisting(ctx); err != nil {
		return err
	}
	if !d.existing.Running {
		return fmt.Errorf("%q does not run %s", d.Info.App, d.location.Name())
	}
	all, err := d.deployed(ctx)
	if err != nil {
		return err
	}
	d.Log = all.Log
	if now, ok := d.Log.Current(); ok && now.Folder != d.Dir && d.kind == Compose {
		return fmt.Errorf("%q runs with the secrets of the folder %q: name that", d.Info.App, now.Folder)
	}
	if output.UnfinishedRotation(d.Dir) == nil { // otherwise the secrets differ
		return d.checkSecrets(ctx)
	}
	return nil
}

// Close ends port forwarding.
func (r *Running) Close() {
	r.d.location.Close()
}

// Info returns the description of the packaged application.
func (r *Running) Info() output.Info { return r.d.Info }

// Nodes returns the toskosed nodes of the application packaged in a folder.
func Nodes(dir string) ([]string, error) {
	info, _, err := backend.ReadInfo(dir)
	return info.Nodes, err
}

// Where names the platform for users.
func (r *Running) Where() string { return r.d.location.Name() }

// OnSwarm reports whether the application runs on a swarm, where secrets are immutable.
func (r *Running) OnSwarm() bool { return r.d.kind == Swarm }

// Folders returns the other folders on this machine from which the application was deployed.
func (r *Running) Folders() []string {
	var all []string
	for _, record := range r.d.Log {
		if info, err := os.Stat(record.Folder); err == nil && info.IsDir() && record.Folder != r.d.Dir && !slices.Contains(all, record.Folder) {
			all = append(all, record.Folder)
		}
	}
	return all
}

// Access returns the manager's address and the credentials currently in the folder.
func (r *Running) Access(ctx context.Context) (backend.Access, error) {
	host, err := r.d.location.Host(ctx)
	if err != nil {
		return backend.Access{}, err
	}
	err = r.d.readPassword(ctx)
	return r.d.access(host), err
}

// Publish copies the folder's secrets to the running application.
func (r *Running) Publish(ctx context.Context) error {
	return r.d.secrets.PublishSecrets(ctx)
}
