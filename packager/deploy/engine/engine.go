// Package engine implements the operations on a Docker engine that Compose and swarm deployments share: containers, volumes
// and images. It starts no goroutine that outlives a call.
package engine

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"strconv"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/system"
	"github.com/docker/docker/client"

	"github.com/toskose/toskose/packager/deploy/backend"
)

// Engine is a Docker engine that runs an application.
type Engine struct {
	*backend.Application
	Docker *client.Client
	System system.Info // the engine's description of itself
	ID     string      // see Identity

	unnamed  []unnamedVolume // unnamed volumes of removed containers
	external []string        // external volumes of removed containers
}

// Open queries the engine's description.
func Open(ctx context.Context, docker *client.Client, app *backend.Application) (*Engine, error) {
	about, err := docker.Info(ctx)
	if err != nil {
		return nil, fmt.Errorf("cannot reach the Docker engine: %w", err)
	}
	id, err := Identity(ctx, docker, about)
	if err != nil {
		return nil, err
	}
	return &Engine{Application: app, Docker: docker, System: about, ID: id}, nil
}

// Forward returns "": the manager's port is published.
func (e *Engine) Forward() string { return "" }

// Close does nothing: no port was forwarded.
func (e *Engine) Close() {}

// Machine returns the host name of the engine's machine as seen from here.
func (e *Engine) Machine() string {
	u, err := url.Parse(e.Docker.DaemonHost())
	if err != nil || u.Scheme == "unix" || u.Scheme == "npipe" || u.Hostname() == "" {
		return "127.0.0.1"
	}
	return u.Hostname()
}

// Published returns the manager's address on a host.
func (e *Engine) Published(host string) string {
	return net.JoinHostPort(host, strconv.Itoa(e.Info.Manager.Port))
}

// Containers returns the containers with a label, including exited ones.
func (e *Engine) Containers(ctx context.Context, label string) ([]container.Summary, error) {
	list, err := e.Docker.ContainerList(ctx, container.ListOptions{All: true, Filters: filters.NewArgs(filters.Arg("label", label))})
	if err != nil {
		return nil, fmt.Errorf("cannot list containers: %w", err)
	}
	return list, nil
}

// Existing looks for the application on the engine.
func (e *Engine) Existing(ctx context.Context, label string) (backend.Existing, error) {
	containers, err := e.Containers(ctx, label)
	if err != nil {
		return backend.Existing{}, err
	}
	volumes, documents, err := e.Volumes(ctx)
	return backend.Existing{Running: len(containers) > 0, Data: len(volumes) > 0, Documents: len(documents) > 0}, err
}
