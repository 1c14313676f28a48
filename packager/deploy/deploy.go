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
	"io"
	"net/http"
	"path/filepath"
	"time"

	"github.com/docker/docker/client"

	"github.com/toskose/toskose/packager/endpoint"
	"github.com/toskose/toskose/packager/output"
	"github.com/toskose/toskose/packager/release"
)

// Options says what is deployed and how.
type Options struct {
	Dir        string        // what toskose has packaged
	Name       string        // undeploy: of an application that runs; Target says where, and Dir where it is from, if that is known
	Images     bool          // undeploy: remove the images that were built for it from the engine
	Target     string        // where to; empty: what the folder is for
	Space      string        // the namespace of an application that is named
	Context    string        // the cluster, as a context of kubectl's; empty: its current one
	Timeout    time.Duration // for all of it to answer
	Keep       bool          // leave what did not come up, for inspection
	NewSecrets bool          // its secrets may take the place of others, of the application that runs
	By         string        // who deploys: USER@HOST
	Volumes    bool          // undeploy: remove the application's volumes, and what is in them
	Mounted    string        // where containers that Compose runs mount secrets of all applications; empty: in their folders
	Environ    []string      // of the commands; DOCKER_HOST and KUBECONFIG say where the engine and the cluster are
	Progress   io.Writer     // a line for each step
	Debug      io.Writer     // what the commands print; may be nil

	// Before is called with the manager of the version that runs before, if its password
	// is known, and After with that of the one that is deployed, when all of it answers.
	// Back is called with the manager of the version before where that is deployed again, as
	// the new one did not come up. Each may be nil.
	Before func(context.Context, endpoint.Access)
	After  func(context.Context, endpoint.Access) error
	Back   func(context.Context, endpoint.Access) error

	// Kept returns, after Before, what is to be kept with the release that ran; Return is given
	// that where a rollback leads to that release. Either may be nil.
	Kept   func() []byte
	Return func([]byte)

	kind string // of the record; see release.Record
}

// Result says where the deployed application is found.
type Result struct {
	Info    output.Info
	Dir     string // what was deployed
	Address string // of the manager: http://HOST:PORT, or https
	Forward string // the command that brings the manager to that address; empty: it is there
}

// deployer is one call of Up or Down.
type deployer struct {
	engine *client.Client
	opts   Options
	info   output.Info
	where  target
	http   *http.Client // asks the manager; made when it is needed

	kind     string // Swarm, Compose or Kubernetes
	engineID string // the engine's own; empty on Kubernetes

	release  string          // the folder's
	log      release.Log     // before this call
	unnamed  []unnamedVolume // volumes of containers that were taken down
	past     map[string]bool // instances of replicas that the manager knew before
	replaces bool            // an earlier version, whose manager may answer until the new one takes its place
}

// target is a way of running what was packaged.
type target struct {
	runner
	name          string                      // for people
	forward       string                      // see Result
	check         func(context.Context) error // refuses what cannot be deployed so
	others        func(context.Context) error // refuses what is another application's already; may be nil
	before        func(context.Context) (earlier, error)
	secrets       func(context.Context) (suffixes, error)               // that run
	releases      func(context.Context) (map[string]release.Log, error) // what was deployed, by service
	host          func(context.Context) (string, error)                 // where the manager is: HOST:PORT
	removeVolumes func(context.Context) error                           // of the application

	// These may be nil.
	removeDocuments func(context.Context) error             // the volumes that units keep documents on
	otherwise       func(context.Context) error             // removes what was deployed in another way
	settled         func(context.Context) error             // is called when all of it answers
	unheard         func(context.Context) error             // why the manager runs and cannot be asked
	elsewhere       func(context.Context) ([]string, error) // what stays on other machines
	halted          func(context.Context) error             // waits until the orchestrator has ended what it does by itself about an update
	note            func(release.Log) error                 // keeps the log where what is deployed cannot
	publish         func(context.Context) error             // hands the folder's secrets to what runs
	renewed         func() map[string]bool                  // nodes whose containers are all new, where the manager may not know yet
	close           func()
}

// runner is what differs between the targets.
type runner interface {
	// up leaves the log with what it deploys.
	up(ctx context.Context, log release.Log) error
	down(ctx context.Context) error
	// failures says what is wrong with what was started.
	failures(ctx context.Context) ([]failure, error)
	// logs returns the end of what the container has printed that has failed.
	logs(ctx context.Context, f failure) (string, error)
}

// earlier is what existed of the application before it was deployed.
type earlier struct{ running, data, documents bool }

// Up deploys a folder and waits until all units answer the manager. What does
// not come up is removed again, unless it was there before or is to be kept.
func Up(ctx context.Context, engine *client.Client, opts Options) (Result, error) {
	d, err := open(ctx, engine, opts)
	if err != nil {
		return Result{}, err
	}
	if d.where.close != nil {
		defer d.where.close()
	}
	if err := errors.Join(output.Replacing(d.opts.Dir), d.where.refuse(ctx)); err != nil {
		return Result{}, fmt.Errorf("cannot deploy %q: %w", d.info.App, err)
	}
	before, err := d.where.before(ctx)
	if err != nil {
		return Result{}, err
	}
	if err := d.remember(ctx); err != nil {
		return Result{}, err
	}
	d.replaces = before.running
	if before.running {
		if err := d.checkSecrets(ctx); err != nil {
			return Result{}, fmt.Errorf("cannot deploy %q: %w", d.info.App, err)
		}
	}
	password, err := d.password()
	if err != nil {
		return Result{}, err
	}
	if before.running && opts.Before != nil && len(d.info.External) == 0 {
		d.askBefore(ctx, password)
		if err := d.keepGoal(); err != nil {
			return Result{}, err
		}
	}
	d.sayChanges()
	d.say("%s: deploying %s", d.info.App, d.where.name)
	log := d.log.Deployed(d.record())
	address, err := d.bring(ctx, log, password)
	if err != nil {
		return Result{}, d.failed(ctx, err, before)
	}
	if err := d.finish(ctx, log, opts.After, password); err != nil {
		return Result{}, fmt.Errorf("%q is deployed, but %w%s", d.info.App, err, d.wayBack())
	}
	if d.where.forward != "" { // this call's own way to the manager ends with it
		address = endpoint.URL(d.info, endpoint.Local(d.info))
	}
	return Result{Info: d.info, Dir: d.opts.Dir, Address: address, Forward: d.where.forward}, nil
}

// password is the manager's; empty where it is an external secret.
func (d *deployer) password() (string, error) {
	if len(d.info.External) > 0 {
		return "", nil
	}
	return output.ManagerPassword(d.opts.Dir)
}

// bring deploys the folder and waits until all of it answers. It returns the manager's
// address.
func (d *deployer) bring(ctx context.Context, log release.Log, password string) (string, error) {
	d.recall(ctx, password)
	if err := d.where.up(ctx, log); err != nil {
		return "", err
	}
	return d.wait(ctx, d.info.Manager.User, password)
}

// finish does what is left when all of it answers, and calls then with the manager.
func (d *deployer) finish(ctx context.Context, log release.Log, then func(context.Context, endpoint.Access) error, password string) error {
	if d.where.settled != nil {
		if err := d.where.settled(ctx); err != nil {
			return err
		}
	}
	if err := release.Forget(d.opts.Dir, log); err != nil {
		return fmt.Errorf("copies of older releases are left: %w", err)
	}
	if then == nil {
		return nil
	}
	host, err := d.where.host(ctx) // a port is forwarded to one pod, which may be another by now
	if err != nil {
		return err
	}
	return then(ctx, d.access(host, password))
}

// errUntouched ends what is wrong before any container was touched.
var errUntouched = errors.New("no container was changed")

// failed adds the reason to an error, and leaves nothing behind: what ran before is
// deployed again.
func (d *deployer) failed(ctx context.Context, err error, before earlier) error {
	interrupted := ctx.Err() != nil
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Minute)
	defer cancel()
	err = fmt.Errorf("cannot deploy %q: %w%s", d.info.App, err, d.reasons(ctx))
	switch {
	case before.running && errors.Is(err, errUntouched):
		return err
	case interrupted && before.running && d.kind == Compose: // which has noted it; elsewhere that may be to come
		return fmt.Errorf("%w\nit stays as it is: deploying the folder again goes on%s", err, d.wayBack())
	case interrupted && before.running:
		return fmt.Errorf("%w\nit stays as it is: deploying the folder again goes on", err)
	case d.opts.Keep:
		return err
	case before.running:
		return d.goBack(context.WithoutCancel(ctx), err)
	}
	d.say("%s: removing what was started (--keep leaves it)", d.info.App)
	if d.where.note != nil {
		err = errors.Join(err, d.where.note(d.log))
	}
	err = errors.Join(err, d.where.down(ctx))
	if !before.documents && d.where.removeDocuments != nil {
		err = errors.Join(err, d.where.removeDocuments(ctx))
	}
	if before.data {
		return err
	}
	return errors.Join(err, d.where.removeVolumes(ctx))
}

// Down removes what Up started.
func Down(ctx context.Context, engine *client.Client, opts Options) error {
	d, err := open(ctx, engine, opts)
	if err != nil {
		return err
	}
	if opts.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, opts.Timeout)
		defer cancel()
	}
	if err := d.down(ctx); err != nil {
		return fmt.Errorf("cannot undeploy %q: %w", d.info.App, err)
	}
	return nil
}

// down removes what runs and what units keep for the manager; the application's
// volumes, if it is to.
func (d *deployer) down(ctx context.Context) error {
	if d.where.otherwise != nil {
		if err := d.where.otherwise(ctx); err != nil {
			return err
		}
	}
	var left []string
	if d.where.elsewhere != nil {
		var err error
		if left, err = d.where.elsewhere(ctx); err != nil {
			return err
		}
	}
	d.say("%s: removing what runs %s", d.info.App, d.where.name)
	if err := d.where.down(ctx); err != nil {
		return err
	}
	if d.where.removeDocuments != nil {
		if err := d.where.removeDocuments(ctx); err != nil {
			return err
		}
	}
	if d.where.note != nil {
		if err := d.where.note(nil); err != nil {
			return err
		}
	}
	for _, line := range left {
		d.say("%s: %s", d.info.App, line)
	}
	if d.opts.Volumes {
		if err := d.where.removeVolumes(ctx); err != nil {
			return err
		}
	}
	if d.opts.Images {
		return d.removeImages(ctx)
	}
	return nil
}

// open finds where a folder is deployed to, or where an application runs.
func open(ctx context.Context, engine *client.Client, opts Options) (*deployer, error) {
	if opts.Name != "" {
		return openNamed(ctx, engine, opts)
	}
	dir, err := filepath.Abs(opts.Dir)
	if err != nil {
		return nil, fmt.Errorf("cannot find %q: %w", opts.Dir, err)
	}
	opts.Dir = dir
	d := &deployer{engine: engine, opts: opts}
	kind, err := choose(dir, opts.Target)
	if err != nil {
		return nil, err
	}
	if kind == Kubernetes {
		return d, d.onCluster(ctx)
	}
	return d, d.onEngine(ctx, kind)
}

func (d *deployer) file(name string) string { return filepath.Join(d.opts.Dir, name) }

func (d *deployer) say(format string, args ...any) {
	fmt.Fprintf(d.opts.Progress, format+"\n", args...)
}
