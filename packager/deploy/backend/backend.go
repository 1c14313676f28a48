// Package backend is the contract between deploying and the ways of running what was packaged: what a
// back-end is asked, and what it is told of the application. It starts no goroutine.
package backend

import (
	"context"
	"errors"

	"github.com/toskose/toskose/packager/lock"
	"github.com/toskose/toskose/packager/release"
)

// Backend is a way of running what was packaged.
type Backend interface {
	Place
	Runner
	History
	Steps
	Remains
}

// Place is where an application runs.
type Place interface {
	Name() string                         // for people
	Host(context.Context) (string, error) // where the manager is: HOST:PORT
	Forward() string                      // the command that brings the manager to this machine; empty: it is there
	Close()                               // lets go of a port that was forwarded
	// Lock keeps the lock of the application. first: it may make room for an application that does not exist yet.
	Lock(first bool) lock.Store
}

// Runner brings an application up and takes it down.
type Runner interface {
	// Up records the log before it changes a container.
	Up(ctx context.Context, log release.Log) error
	// Record records another log with what is deployed, and replaces no container.
	Record(ctx context.Context, log release.Log) error
	Down(ctx context.Context) error
	// Failures says what is wrong with what was started.
	Failures(ctx context.Context) ([]Failure, error)
	// Logs returns the end of what the container has printed that has failed.
	Logs(ctx context.Context, f Failure) (string, error)
}

// History is what is known of an application that was there before.
type History interface {
	Before(context.Context) (Earlier, error)
	Secrets(context.Context) (Suffixes, error)                // that run
	Releases(context.Context) (map[string]release.Log, error) // what was deployed, by service
}

// Steps are what happens around bringing an application up.
type Steps interface {
	Check(context.Context) error   // refuses what cannot be deployed so
	Others(context.Context) error  // refuses what is another application's already
	Settle(context.Context) error  // is called when all of it answers
	Publish(context.Context) error // hands the folder's secrets to what runs
}

// Remains are what is left when an application is taken down.
type Remains interface {
	RemoveVolumes(context.Context) error                  // of the application
	RemoveDocuments(context.Context) error                // the volumes that units keep documents on
	Elsewhere(context.Context, Removal) ([]string, error) // what stays on other machines
}

// Noter keeps the log where what is deployed cannot.
type Noter interface{ Note(release.Log) error }

// Renewer knows nodes whose containers are all new, where the manager may not know yet.
type Renewer interface{ Renewed() map[string]bool }

// Halter pauses the orchestrator's updates that are under way, and waits for its own rollbacks.
type Halter interface{ Halt(context.Context) error }

// Listener knows why the manager runs and cannot be asked; nil: nobody knows.
type Listener interface{ Unheard(context.Context) error }

// Earlier is what existed of an application before it was deployed.
type Earlier struct{ Running, Data, Documents bool }

// Removal is what goes with an application that is undeployed.
type Removal struct{ Volumes, Images bool }

// ErrUntouched ends what is wrong before any container was touched.
var ErrUntouched = errors.New("no container was changed")
