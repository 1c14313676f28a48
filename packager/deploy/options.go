package deploy

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/toskose/toskose/packager/deploy/backend"
	"github.com/toskose/toskose/packager/lock"
	"github.com/toskose/toskose/packager/output"
)

// Options selects the application to deploy or undeploy, and how.
type Options struct {
	Dir        string        // the folder that toskose packaged
	Name       string        // undeploy: a running application by name; Target says where it runs, Dir its folder if known
	Images     bool          // undeploy: also remove the images that were built for it from the engine
	Target     string        // empty: the target that the folder was packaged for
	Space      string        // the namespace of the application that Name selects
	Context    string        // the kubectl context of the cluster; empty: the current one
	Timeout    time.Duration // for all units to answer
	Keep       bool          // keep a failed deployment for inspection
	NewSecrets bool          // allow the folder's secrets to replace different ones of the running application
	By         string        // the user who deploys: USER@HOST
	Command    string        // this command, shown to users whose command finds the application locked
	StealLock  bool          // take over the application's lock from a command that may still be running
	Volumes    bool          // undeploy: also remove the application's volumes and their data
	Mounted    string        // folder from which Compose containers mount the secrets of all applications; empty: their own folders
	Environ    []string      // environment of the commands; DOCKER_HOST and KUBECONFIG select the engine and the cluster
	Progress   io.Writer     // a line for each step
	Debug      io.Writer     // receives the output of the commands; may be nil

	Goal Goal // preserves the application's goal; may be nil

	kind string     // kind of the record; see release.Record
	held *lock.Lock // lock held by the calling command; nil: none yet
}

// Goal preserves the goal of an application during a deployment.
type Goal interface {
	// Read reads the goal from the manager of the running version. It is called if the manager's password is known.
	Read(ctx context.Context, at backend.Access)
	// Saved returns data with the goal that Read found, to store with the release that is replaced; nil: no goal.
	Saved() []byte
	// Load takes data that Saved returned when the release to roll back to was replaced.
	Load(saved []byte)
	// Restore restores the goal at the deployed version's manager once all units answer. If undone is set, the deployment
	// failed and the previous version runs again.
	Restore(ctx context.Context, at backend.Access, undone bool) error
}

// Result describes the deployed application.
type Result struct {
	Info    output.Info
	Dir     string // the deployed folder
	Address string // the manager's URL: http://HOST:PORT, or https
	Forward string // the command that forwards the manager's port to that address; empty: not needed
	Stored  bool   // nothing runs: the application is below a level that is not deployed
}

// The values of Options.Target.
const (
	Swarm      = "swarm"
	Compose    = "compose"
	Kubernetes = "kubernetes"
)

// Validate returns an error for an unknown target, and for cluster options with a target that is not a cluster.
func (o Options) Validate() error {
	if all := []string{Swarm, Compose, Kubernetes}; o.Target != "" && !slices.Contains(all, o.Target) {
		return fmt.Errorf("--target %q is not one of %s", o.Target, strings.Join(all, ", "))
	}
	if o.Context != "" && o.Target != "" && o.Target != Kubernetes {
		return fmt.Errorf("--context names a cluster, and --target is %s", o.Target)
	}
	if o.Space != "" && o.Target != "" && o.Target != Kubernetes {
		return fmt.Errorf("--namespace is of a cluster, and --target is %s", o.Target)
	}
	return nil
}
