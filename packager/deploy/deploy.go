// Package deploy runs packaged applications: as a stack if the Docker engine is in a swarm, otherwise as a Compose project, or
// on the Kubernetes cluster that kubectl uses. It runs the commands of Docker and Kubernetes, waits until the manager and the
// units answer, and explains failures. It starts no goroutine that outlives a call.
package deploy

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/docker/docker/client"

	"github.com/toskose/toskose/packager/deploy/backend"
	"github.com/toskose/toskose/packager/lock"
	"github.com/toskose/toskose/packager/output"
	"github.com/toskose/toskose/packager/release"
)

// deployer is the state of one call of Up or Down.
type deployer struct {
	*backend.Application
	engine *client.Client
	opts   Options
	where  backend.Backend

	kind      string                      // Swarm, Compose or Kubernetes
	otherwise func(context.Context) error // removes a deployment of the same application with the other Docker target; nil: none exists

	held     *lock.Lock      // nil: the caller holds the lock, or none is needed
	silent   []node          // units that did not answer before the timeout
	release  string          // ID of the folder's release
	past     map[string]bool // instance IDs of the replicas that the previous manager listed
	replaces bool            // an earlier version is running, whose manager may answer until it is replaced
}

// Up deploys a folder and waits until all units answer the manager. A failed deployment is removed again, unless the
// application existed before or Keep is set.
func Up(ctx context.Context, engine *client.Client, opts Options) (Result, error) {
	d, err := open(ctx, engine, opts)
	if err != nil {
		return Result{}, err
	}
	defer d.where.Close()
	if err := errors.Join(output.UnfinishedRotation(d.Dir), d.refuse(ctx)); err != nil {
		return Result{}, fmt.Errorf("cannot deploy %q: %w", d.Info.App, err)
	}
	ctx, unlock, err := d.exclude(ctx, true)
	if err != nil {
		return Result{}, fmt.Errorf("cannot deploy %q: %w", d.Info.App, err)
	}
	defer unlock()
	return d.up(ctx)
}

// up deploys the folder. The caller holds the application's lock.
func (d *deployer) up(ctx context.Context) (Result, error) {
	before, err := d.where.Before(ctx)
	if err != nil {
		return Result{}, err
	}
	if err := d.remember(ctx); err != nil {
		return Result{}, err
	}
	d.replaces = before.Running
	if before.Running {
		if err := d.checkSecrets(ctx); err != nil {
			return Result{}, fmt.Errorf("cannot deploy %q: %w", d.Info.App, err)
		}
	}
	password, err := d.password()
	if err != nil {
		return Result{}, err
	}
	if before.Running && d.opts.Before != nil && len(d.Info.External) == 0 {
		d.askBefore(ctx, password)
		if err := d.keepGoal(); err != nil {
			return Result{}, err
		}
	}
	d.sayChanges()
	d.Say("%s: deploying %s", d.Info.App, d.where.Name())
	log := d.Log.Begin(d.record())
	address, err := d.bring(ctx, log, password)
	if err != nil {
		return Result{}, d.failed(ctx, err, before)
	}
	err = d.finish(ctx, log, d.opts.After, password)
	if ctx.Err() == nil { // an interrupted deployment can be resumed
		err = errors.Join(err, d.where.Record(ctx, log.Complete()))
	}
	if err != nil {
		return Result{}, fmt.Errorf("%q is deployed, but %w%s", d.Info.App, err, d.wayBack(log))
	}
	if d.where.Forward() != "" { // this call's port forwarding ends when it returns
		address = backend.ManagerURL(d.Info, backend.LocalHost(d.Info))
	}
	return Result{Info: d.Info, Dir: d.Dir, Address: address, Forward: d.where.Forward()}, nil
}

// refuse returns an error if the folder cannot be deployed. It changes nothing.
func (d *deployer) refuse(ctx context.Context) error {
	if err := d.where.Check(ctx); err != nil {
		return err
	}
	return d.where.Others(ctx)
}

// password returns the manager's password, or "" if it is an external secret.
func (d *deployer) password() (string, error) {
	if len(d.Info.External) > 0 {
		return "", nil
	}
	return output.ManagerPassword(d.Dir)
}

// bring deploys the folder, waits until all units answer, and returns the manager's address.
func (d *deployer) bring(ctx context.Context, log release.Log, password string) (string, error) {
	d.recall(ctx, password)
	if err := d.where.Up(ctx, log); err != nil {
		return "", err
	}
	return d.wait(ctx, d.Info.Manager.User, password)
}

// finish completes a deployment once all units answer, and calls then with the manager.
func (d *deployer) finish(ctx context.Context, log release.Log, then func(context.Context, backend.Access) error, password string) error {
	if err := d.where.Settle(ctx); err != nil {
		return err
	}
	if err := release.Forget(d.Dir, log); err != nil {
		return fmt.Errorf("copies of older releases are left: %w", err)
	}
	if then == nil {
		return nil
	}
	host, err := d.where.Host(ctx) // the forwarded port leads to one pod, which may have been replaced
	if err != nil {
		return err
	}
	return then(ctx, d.access(host, password))
}

// failed adds the reasons to a deployment error and restores the previous state: it deploys the previous release again, or
// removes a new application. An interrupted update stays as it is, so that it can be resumed.
func (d *deployer) failed(ctx context.Context, err error, before backend.Earlier) error {
	if lost := d.lost(); lost != nil {
		return fmt.Errorf("cannot deploy %q: %w", d.Info.App, lost)
	}
	interrupted := ctx.Err() != nil
	locked, cancel := d.whileLocked(ctx)
	defer cancel()
	ctx, cancel = context.WithTimeout(locked, 2*time.Minute)
	defer cancel()
	err = fmt.Errorf("cannot deploy %q: %w%s", d.Info.App, err, d.reasons(ctx))
	switch {
	case before.Running && errors.Is(err, backend.ErrUntouched):
		return err
	case interrupted && before.Running && d.kind == Compose: // the deployment is already recorded; on other targets it may not be
		return fmt.Errorf("%w\nit stays as it is: deploying the folder again resumes it%s", err, d.wayBack(d.Log.Begin(d.record())))
	case interrupted && before.Running:
		return fmt.Errorf("%w\nit stays as it is: deploying the folder again resumes it", err)
	case d.opts.Keep:
		return err
	case before.Running:
		return d.goBack(locked, err)
	}
	d.Say("%s: removing what was started (--keep leaves it)", d.Info.App)
	err = errors.Join(err, d.note(d.Log), d.where.Down(ctx))
	if !before.Documents {
		err = errors.Join(err, d.where.RemoveDocuments(ctx))
	}
	if before.Data {
		return err
	}
	return errors.Join(err, d.where.RemoveVolumes(ctx))
}
