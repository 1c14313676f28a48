// Package applications has the command that lists which applications run, and finds
// one by its name: on the Docker engine, in its swarm and on the cluster that kubectl is
// set to.
package applications

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/docker/docker/client"

	"github.com/toskose/toskose/cmd/toskose/contexts"
	"github.com/toskose/toskose/packager/command"
	"github.com/toskose/toskose/packager/deploy"
	"github.com/toskose/toskose/packager/running"
)

// Places are the engine and the cluster on which applications are looked for.
type Places struct {
	Connect   func() (*client.Client, error)
	Target    string // swarm, compose or kubernetes; empty: wherever one can look
	Context   string // of kubectl's
	Namespace string // on the cluster, where alone one looks then; empty: all
	Environ   []string
}

// answering is how long a cluster that was not asked for may take.
const answering = 10 * time.Second

// All returns the running applications, and the problems of places that could not be searched. It
// fails if no place, or not the one in Target, could be searched.
func (p Places) All(ctx context.Context) (all []running.Application, problems []error, err error) {
	all = []running.Application{}
	if p.Namespace != "" {
		p.Target = deploy.Kubernetes
	}
	var asked int
	if p.Target != deploy.Kubernetes {
		asked++
		found, err := p.engine(ctx)
		if err != nil {
			problems = append(problems, err)
		}
		all = append(all, found...)
	}
	cluster := command.Cluster{Context: p.Context, Namespace: p.Namespace, Environ: p.Environ}
	if p.Target == deploy.Kubernetes || p.Target == "" && cluster.Configured(ctx) {
		asked++
		looking, cancel := context.WithTimeoutCause(ctx, answering, fmt.Errorf("no answer in %s", answering))
		defer cancel()
		found, err := running.OnCluster(looking, cluster)
		if err != nil {
			problems = append(problems, fmt.Errorf("cannot list the applications on the Kubernetes cluster: %w", err))
		}
		all = append(all, found...)
	}
	if len(problems) == asked {
		return nil, nil, errors.Join(problems...)
	}
	for i := range all {
		if all[i].Dir == "" {
			all[i].Dir = p.folder(all[i])
		}
	}
	return all, problems, nil
}

// folder returns the folder that an application was deployed from, or "" if it is unknown. A
// folder recorded for the name may belong to another namespace.
func (p Places) folder(a running.Application) string {
	dir := contexts.DeployedFrom(p.Environ, a.Name)
	if a.Target == deploy.Kubernetes && dir != "" {
		if namespace, err := deploy.NamespaceOf(dir, a.Target); err == nil && namespace != a.Namespace {
			return ""
		}
	}
	return dir
}

// engine returns the applications that run on the engine and in its swarm.
func (p Places) engine(ctx context.Context) ([]running.Application, error) {
	docker, err := p.Connect()
	if err != nil {
		return nil, err
	}
	defer docker.Close()
	all, err := running.OnEngine(ctx, docker)
	var wanted []running.Application
	for _, a := range all {
		if p.Target == "" || a.Target == p.Target {
			wanted = append(wanted, a)
		}
	}
	return wanted, err
}

// Named returns the application with a name. The error lists the running ones.
func (p Places) Named(ctx context.Context, name string) (running.Application, error) {
	all, problems, err := p.All(ctx)
	if err != nil {
		return running.Application{}, fmt.Errorf("%q was not packaged by toskose, and the running applications are not known: %w", name, err)
	}
	var found []running.Application
	var names, places []string
	for _, a := range all {
		if a.Name == name {
			found = append(found, a)
			places = append(places, a.Where())
		}
		names = append(names, a.Name)
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return running.Application{}, fmt.Errorf("%q runs in several places (%s): name one with --target or --namespace, or its folder", name, strings.Join(places, "; "))
	case len(names) == 0:
		err = fmt.Errorf("%q was not packaged by toskose, and no application of that name runs, nor any other", name)
	default:
		err = fmt.Errorf("%q was not packaged by toskose, and no application of that name runs: there are %s", name, strings.Join(names, ", "))
	}
	return running.Application{}, errors.Join(append([]error{err}, problems...)...)
}
