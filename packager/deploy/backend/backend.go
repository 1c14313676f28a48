// Package backend is the contract between deploying and the platforms that run an application: what deploying requests from a
// platform, and the application that it passes. It starts no goroutine.
package backend

import (
	"context"
	"errors"

	"github.com/toskose/toskose/packager/lock"
	"github.com/toskose/toskose/packager/release"
)

// Backend is a platform that runs packaged applications.
type Backend interface {
	Place
	Runner
	History
	Steps
	Remains
}

// Place is the location where an application runs.
type Place interface {
	Name() string                         // shown to users
	Host(context.Context) (string, error) // the manager's address: HOST:PORT
	Forward() string                      // the command that forwards the manager's port to this machine; empty: not needed
	Close()                               // ends port forwarding
	// Lock returns the store of the application's lock. If first is set, the application may not exist yet and Lock may create
	// its namespace.
	Lock(first bool) lock.Store
}

// Runner starts and removes an application.
type Runner interface {
	// Up deploys the application. It writes the log before it changes a container.
	Up(ctx context.Context, log release.Log) error
	// Record replaces the log stored with the deployed application, without replacing a container.
	Record(ctx context.Context, log release.Log) error
	Down(ctx context.Context) error
	// Failures returns the services that have failed or may still fail.
	Failures(ctx context.Context) ([]Failure, error)
	// Logs returns the end of the log of the container that failed.
	Logs(ctx context.Context, f Failure) (string, error)
}

// History describes the deployed application before a change.
type History interface {
	Before(context.Context) (Earlier, error)
	Secrets(context.Context) (Suffixes, error)                // in use by the running application
	Releases(context.Context) (map[string]release.Log, error) // the deployed log, by service
}

// Steps are the hooks before and after an application is deployed.
type Steps interface {
	Check(context.Context) error   // returns an error if this platform cannot run the application
	Others(context.Context) error  // returns an error if a resource belongs to another application
	Settle(context.Context) error  // called once all units answer
	Publish(context.Context) error // copies the folder's secrets to the running application
}

// Remains removes or lists the resources that outlive an undeployed application.
type Remains interface {
	RemoveVolumes(context.Context) error                  // the application's own volumes
	RemoveDocuments(context.Context) error                // the volumes on which units store documents for the manager
	Elsewhere(context.Context, Removal) ([]string, error) // lists resources that stay on other machines
}

// Noter is a back-end that also stores the log outside the deployed resources.
type Noter interface{ Note(release.Log) error }

// Renewer returns the nodes whose containers were all replaced; the manager may not have noticed yet.
type Renewer interface{ Renewed() map[string]bool }

// Halter pauses the orchestrator's updates in progress and waits for its own rollbacks to finish.
type Halter interface{ Halt(context.Context) error }

// Listener explains why a running manager is unreachable. It returns nil if the reason is unknown.
type Listener interface{ Unheard(context.Context) error }

// Earlier says which parts of an application existed before it was deployed.
type Earlier struct{ Running, Data, Documents bool }

// Removal selects the resources that undeploying also removes.
type Removal struct{ Volumes, Images bool }

// ErrUntouched ends the message of errors that occur before any container was changed.
var ErrUntouched = errors.New("no container was changed")
