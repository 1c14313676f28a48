package deploy

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/toskose/toskose/packager/endpoint"
	"github.com/toskose/toskose/packager/lock"
	"github.com/toskose/toskose/packager/output"
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
	Command    string        // that deploys, for people whose command finds the application locked
	StealLock  bool          // take the application's lock over from a command that may still run
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

	kind string     // of the record; see release.Record
	held *lock.Lock // of the command that calls; nil: none yet
}

// Result says where the deployed application is found.
type Result struct {
	Info    output.Info
	Dir     string // what was deployed
	Address string // of the manager: http://HOST:PORT, or https
	Forward string // the command that brings the manager to that address; empty: it is there
}

// The targets that Options may name.
const (
	Swarm      = "swarm"
	Compose    = "compose"
	Kubernetes = "kubernetes"
)

// Validate refuses an unknown target, and what names a cluster where the target is none.
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
