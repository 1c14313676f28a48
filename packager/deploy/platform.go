package deploy

import (
	"context"

	"github.com/docker/docker/api/types/system"
	"github.com/docker/docker/client"

	"github.com/toskose/toskose/packager/deploy/backend"
	"github.com/toskose/toskose/packager/deploy/engine"
	"github.com/toskose/toskose/packager/lock"
	"github.com/toskose/toskose/packager/release"
)

// location is where an application runs.
type location interface {
	Name() string                         // shown to users
	Host(context.Context) (string, error) // the manager's address: HOST:PORT
	Forward() string                      // the command that forwards the manager's port to this machine; empty: not needed
	Close()                               // ends port forwarding
	// Lock returns the store of the application's lock. If first is set, the application may not exist yet and Lock may create
	// its namespace.
	Lock(first bool) lock.Store
}

// applier deploys a folder.
type applier interface {
	Check(context.Context) error // returns an error if the folder cannot be deployed; changes nothing
	// Apply starts and replaces containers. It writes the log before it changes a container. It returns the nodes whose
	// containers were all replaced, if the manager may not notice that at once.
	Apply(ctx context.Context, log release.Log) (renewed map[string]bool, err error)
	CleanUp(context.Context) error                     // removes outdated resources once all units answer
	Record(ctx context.Context, log release.Log) error // replaces the log of the deployed application, without replacing a container
}

// observer describes the deployed application.
type observer interface {
	Existing(context.Context) (backend.Existing, error)
	Releases(context.Context) (map[string]release.Log, error)             // the deployed log, by service
	Failures(context.Context) ([]backend.Failure, error)                  // the services that have failed or may still fail
	Logs(ctx context.Context, f backend.Failure) (text string, err error) // the end of the log of the container that failed
}

// secretStore is the place from which containers mount secrets.
type secretStore interface {
	Secrets(context.Context) (backend.Suffixes, error) // of the running application
	PublishSecrets(context.Context) error              // copies the folder's secrets to the running application
}

// remover removes an application.
type remover interface {
	Down(ctx context.Context, log release.Log) error // log replaces the log, if that outlives the application
	RemoveVolumes(context.Context) error             // the application's own volumes
	RemoveDocuments(context.Context) error           // the volumes on which units store documents for the manager
	// RemoteResources lists the resources that stay on other machines.
	RemoteResources(context.Context, backend.Removal) ([]string, error)
}

// platform is a back-end: what runs packaged applications.
type platform interface {
	location
	applier
	observer
	secretStore
	remover
}

// use makes p the application's back-end.
func (d *deployer) use(p platform) {
	d.location, d.applier, d.observer, d.secrets, d.remover = p, p, p, p, p
}

// EngineIdentity returns a key of an engine that stays the same, by which folders store its logs of releases.
func EngineIdentity(ctx context.Context, docker *client.Client, about system.Info) (string, error) {
	return engine.Identity(ctx, docker, about)
}
