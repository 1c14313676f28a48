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
	"github.com/toskose/toskose/packager/deploy/stack"
	"github.com/toskose/toskose/packager/lock"
	"github.com/toskose/toskose/packager/output"
	"github.com/toskose/toskose/packager/release"
)

// deployer is the state of one call of Up or Down.
type deployer struct {
	*backend.Application
	engine *client.Client
	opts   Options

	kind     string // Swarm, Compose or Kubernetes
	location location
	applier  applier
	observer observer
	secrets  secretStore
	remover  remover

	stack          *stack.Stack                                   // the back-end of a swarm; nil: another back-end
	halt           func(context.Context) error                    // pauses the swarm's updates before a rollback; nil: not a swarm
	explainSilence func(context.Context) error                    // returns why a running manager is unreachable, if known; nil: not a swarm
	removeComposed func(context.Context) error                    // removes the same application deployed with Compose; nil: not a swarm
	awaitOperator  func(context.Context) (stored bool, err error) // waits for Toskose's operator; nil: it does not make the workloads
	stored         bool                                           // the application is below a level that is not deployed
	held           *lock.Lock                                     // nil: the caller holds the lock, or none is needed
	existing       backend.Existing                               // before this deployment
	replaces       bool                                           // an earlier version is running, whose manager may answer until it is replaced
	restoring      bool                                           // the previous release is deployed again after a failure
	release        string                                         // ID of the folder's release
	next           release.Log                                    // the log with this deployment
	password       string                                         // the manager's; empty: an external secret
	previous       map[string]bool                                // instance IDs of the replicas that the manager of the earlier version listed
	renewed        map[string]bool                                // see applier.Apply
	unresponsive   []node                                         // units that did not answer before the timeout
	address        string                                         // the manager's URL
}

// step is a part of a deployment. If run fails, fail returns the error that ends the deployment; it may undo changes.
type step struct {
	name string
	run  func(*deployer, context.Context) error
	fail func(*deployer, context.Context, error) error
}

// deploySteps deploy a folder. The caller holds the application's lock.
var deploySteps = []step{
	{"find the running version", (*deployer).findExisting, (*deployer).unchanged},
	{"store the release", (*deployer).storeRelease, (*deployer).unchanged},
	{"compare the secrets", (*deployer).checkSecrets, (*deployer).refused},
	{"read the manager's password", (*deployer).readPassword, (*deployer).unchanged},
	{"read the goal", (*deployer).readGoal, (*deployer).unchanged},
	{"report the changes", (*deployer).reportChanges, (*deployer).unchanged},
	{"list the replicas", (*deployer).listReplicas, (*deployer).failed},
	{"apply the manifests", (*deployer).apply, (*deployer).failed},
	{"wait for the operator", (*deployer).waitForOperator, (*deployer).failed},
	{"wait for the units", (*deployer).waitForUnits, (*deployer).failed},
	{"remove outdated resources", (*deployer).cleanUp, (*deployer).incomplete},
	{"restore the goal", (*deployer).restoreGoal, (*deployer).incomplete},
	{"complete the log", (*deployer).completeLog, (*deployer).deployedBut},
}

// restoreSteps deploy the previous release again after a failure.
var restoreSteps = []step{
	{"find the running version", (*deployer).findExisting, (*deployer).unchanged},
	{"read the manager's password", (*deployer).readPassword, (*deployer).unchanged},
	{"list the replicas", (*deployer).listReplicas, (*deployer).explained},
	{"apply the manifests", (*deployer).apply, (*deployer).explained},
	{"wait for the operator", (*deployer).waitForOperator, (*deployer).explained},
	{"wait for the units", (*deployer).waitForUnits, (*deployer).explained},
	{"remove outdated resources", (*deployer).cleanUp, (*deployer).unchanged},
	{"restore the goal", (*deployer).restoreGoal, (*deployer).unchanged},
}

// run executes steps in order until one fails.
func (d *deployer) run(ctx context.Context, steps []step) error {
	for _, s := range steps {
		if d.Debug != nil {
			fmt.Fprintf(d.Debug, "%s: %s\n", d.Info.App, s.name)
		}
		if err := s.run(d, ctx); err != nil {
			return s.fail(d, ctx, err)
		}
	}
	return nil
}

// Up deploys a folder and waits until all units answer the manager. A failed deployment is removed again, unless the
// application existed before or Keep is set.
func Up(ctx context.Context, engine *client.Client, opts Options) (Result, error) {
	d, err := open(ctx, engine, opts)
	if err != nil {
		return Result{}, err
	}
	defer d.location.Close()
	if err := errors.Join(output.UnfinishedRotation(d.Dir), d.applier.Check(ctx)); err != nil {
		return Result{}, d.refused(ctx, err)
	}
	locked, unlock, err := d.lock(ctx, true, d.sayLine)
	if err != nil {
		return Result{}, d.refused(ctx, err)
	}
	defer unlock()
	if err := d.run(locked, deploySteps); err != nil {
		return Result{}, err
	}
	if d.stored {
		return Result{Info: d.Info, Dir: d.Dir, Stored: true}, nil
	}
	if d.location.Forward() != "" { // this call's port forwarding ends when it returns
		d.address = backend.ManagerURL(d.Info, backend.LocalHost(d.Info))
	}
	return Result{Info: d.Info, Dir: d.Dir, Address: d.address, Forward: d.location.Forward()}, nil
}

func (d *deployer) findExisting(ctx context.Context) (err error) {
	d.existing, err = d.observer.Existing(ctx)
	d.replaces = d.existing.Running || d.restoring
	return err
}

func (d *deployer) readPassword(context.Context) (err error) {
	if len(d.Info.External) == 0 {
		d.password, err = output.ManagerPassword(d.Dir)
	}
	return err
}

func (d *deployer) apply(ctx context.Context) (err error) {
	d.renewed, err = d.applier.Apply(ctx, d.next)
	return err
}

func (d *deployer) cleanUp(ctx context.Context) error {
	if err := d.applier.CleanUp(ctx); err != nil {
		return err
	}
	if err := release.Forget(d.Dir, d.next); err != nil {
		return fmt.Errorf("copies of older releases are left: %w", err)
	}
	return nil
}

func (d *deployer) completeLog(ctx context.Context) error {
	return d.applier.Record(ctx, d.next.Complete())
}

// unchanged returns the error of a step that changes nothing, or that needs no explanation.
func (d *deployer) unchanged(_ context.Context, err error) error { return err }

// refused returns the error of a folder that cannot be deployed.
func (d *deployer) refused(_ context.Context, err error) error {
	return fmt.Errorf("cannot deploy %q: %w", d.Info.App, err)
}

// explained adds the reasons to a deployment error.
func (d *deployer) explained(ctx context.Context, err error) error {
	return fmt.Errorf("%w%s", err, d.reasons(ctx))
}

// deployedBut returns the error of a step after which all units answer.
func (d *deployer) deployedBut(_ context.Context, err error) error {
	return fmt.Errorf("%q is deployed, but %w%s", d.Info.App, err, d.rollbackHint())
}

// incomplete is like deployedBut, and completes the log unless the deployment was interrupted: then it can be resumed.
func (d *deployer) incomplete(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		err = errors.Join(err, d.completeLog(ctx))
	}
	return d.deployedBut(ctx, err)
}

// failed adds the reasons to a deployment error and restores the previous state: it deploys the previous release again, or
// removes a new application. An interrupted update stays as it is, so that it can be resumed.
func (d *deployer) failed(ctx context.Context, err error) error {
	if lost := d.lost(); lost != nil {
		return d.refused(ctx, lost)
	}
	interrupted := ctx.Err() != nil
	locked, cancel := d.whileLocked(ctx)
	defer cancel()
	ctx, cancel = context.WithTimeout(locked, 2*time.Minute)
	defer cancel()
	err = d.refused(ctx, d.explained(ctx, err))
	switch {
	case d.existing.Running && errors.Is(err, backend.ErrUntouched):
		return err
	case interrupted && d.existing.Running:
		hint := ""
		if d.kind == Compose { // the deployment is already recorded; on other targets it may not be
			hint = d.rollbackHint()
		}
		return fmt.Errorf("%w\nit stays as it is: deploying the folder again resumes it%s", err, hint)
	case d.opts.Keep:
		return err
	case d.existing.Running:
		return d.goBack(locked, err)
	}
	d.Say("%s: removing what was started (--keep leaves it)", d.Info.App)
	err = errors.Join(err, d.remover.Down(ctx, d.Log))
	if !d.existing.Documents {
		err = errors.Join(err, d.remover.RemoveDocuments(ctx))
	}
	if d.existing.Data {
		return err
	}
	return errors.Join(err, d.remover.RemoveVolumes(ctx))
}
