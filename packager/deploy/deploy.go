// Package deploy runs what was packaged: as a stack where the Docker engine is
// in a swarm, otherwise as a Compose project, or on the Kubernetes cluster that
// kubectl is set to. It runs Docker's and Kubernetes' own commands for that,
// waits until the manager and the units answer, and says why if they do not. It
// starts no goroutine that outlives a call.
package deploy

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/docker/docker/client"

	"github.com/toskose/toskose/packager/deploy/backend"
	"github.com/toskose/toskose/packager/endpoint"
	"github.com/toskose/toskose/packager/lock"
	"github.com/toskose/toskose/packager/output"
	"github.com/toskose/toskose/packager/release"
)

// deployer is one call of Up or Down.
type deployer struct {
	*backend.Application
	engine *client.Client
	opts   Options
	where  backend.Backend

	kind      string                      // Swarm, Compose or Kubernetes
	otherwise func(context.Context) error // removes what was deployed in another way; nil: there is none

	held     *lock.Lock      // nil: the caller holds it, or there is none
	silent   []node          // when the time was up
	release  string          // the folder's
	past     map[string]bool // instances of replicas that the manager knew before
	replaces bool            // an earlier version, whose manager may answer until the new one takes its place
}

// Up deploys a folder and waits until all units answer the manager. What does
// not come up is removed again, unless it was there before or is to be kept.
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

// up deploys the folder of an application that is locked.
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
	if ctx.Err() == nil { // an interrupted deployment is resumed
		err = errors.Join(err, d.where.Record(ctx, log.Complete()))
	}
	if err != nil {
		return Result{}, fmt.Errorf("%q is deployed, but %w%s", d.Info.App, err, d.wayBack(log))
	}
	if d.where.Forward() != "" { // this call's own way to the manager ends with it
		address = endpoint.URL(d.Info, endpoint.Local(d.Info))
	}
	return Result{Info: d.Info, Dir: d.Dir, Address: address, Forward: d.where.Forward()}, nil
}

// refuse refuses what cannot be deployed, before anything is changed.
func (d *deployer) refuse(ctx context.Context) error {
	if err := d.where.Check(ctx); err != nil {
		return err
	}
	return d.where.Others(ctx)
}

// password is the manager's; empty where it is an external secret.
func (d *deployer) password() (string, error) {
	if len(d.Info.External) > 0 {
		return "", nil
	}
	return output.ManagerPassword(d.Dir)
}

// bring deploys the folder and waits until all of it answers. It returns the manager's
// address.
func (d *deployer) bring(ctx context.Context, log release.Log, password string) (string, error) {
	d.recall(ctx, password)
	if err := d.where.Up(ctx, log); err != nil {
		return "", err
	}
	return d.wait(ctx, d.Info.Manager.User, password)
}

// finish does what is left when all of it answers, and calls then with the manager.
func (d *deployer) finish(ctx context.Context, log release.Log, then func(context.Context, endpoint.Access) error, password string) error {
	if err := d.where.Settle(ctx); err != nil {
		return err
	}
	if err := release.Forget(d.Dir, log); err != nil {
		return fmt.Errorf("copies of older releases are left: %w", err)
	}
	if then == nil {
		return nil
	}
	host, err := d.where.Host(ctx) // a port is forwarded to one pod, which may be another by now
	if err != nil {
		return err
	}
	return then(ctx, d.access(host, password))
}

// failed adds the reason to an error, and leaves nothing behind: what ran before is
// deployed again.
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
	case interrupted && before.Running && d.kind == Compose: // which has noted it; elsewhere that may be to come
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
