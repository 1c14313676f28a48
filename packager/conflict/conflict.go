// Package conflict finds conflicts between an application and other resources of a Docker engine: ports in use, and names that
// belong to others. It changes nothing and starts no goroutine.
package conflict

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/swarm"
	"github.com/docker/docker/api/types/system"
	"github.com/docker/docker/client"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/compose"
	"github.com/toskose/toskose/packager/output"
	"github.com/toskose/toskose/spec"
)

// Port is a port of the host that an application publishes.
type Port struct {
	Number   int
	Protocol string // tcp or udp
	Host     bool   // in a swarm: published only on the machine of its container
	Setting  string // the setting that changes it, as shown to users
	At       string // the address at which a single engine publishes it; empty: all
}

func (p Port) published() spec.Port {
	return spec.Port{Host: p.Number, Protocol: p.Protocol, Address: p.At}
}

// settingOf returns the setting that determines a container's port on the host.
func settingOf(manager bool, service string) string {
	if manager {
		return "manager.port in toskose.yml"
	}
	return fmt.Sprintf("property ports of container %q, or its ports in toskose.yml", service)
}

// PlannedPorts returns the published ports of a plan.
func PlannedPorts(plan *packager.Plan, publish string) []Port {
	var all []Port
	for _, s := range plan.Services {
		for _, p := range s.Ports {
			all = append(all, Port{p.Host, p.Protocol, publish == compose.PublishHost, settingOf(s.IsManager, s.Name), p.Bind})
		}
	}
	return all
}

// PortsOf returns the published ports of the application packaged in a folder, as a stack or with Compose.
func PortsOf(dir string, info output.Info, asStack bool) ([]Port, error) {
	file := compose.LocalFile
	if asStack || info.Manager.Bind == "" { // the second file of an earlier version contains only the differences
		file = compose.SwarmFile
	}
	published, err := compose.ReadPublished(dir, file)
	all := make([]Port, len(published))
	for i, p := range published {
		all[i] = Port{Number: p.Port, Protocol: p.Protocol, Host: p.Mode == compose.PublishHost, Setting: settingOf(p.Service == info.Manager.Service, p.Service), At: p.At}
	}
	return all, err
}

// Engine is a Docker engine to which an application will be deployed.
type Engine struct {
	docker *client.Client
	info   system.Info
	swarm  bool // the application will be a stack
	app    string
}

// On returns an engine to which the named application will be deployed, as a stack or with Compose.
func On(docker *client.Client, info system.Info, app string, asStack bool) *Engine {
	return &Engine{docker, info, asStack, app}
}

// label returns the label that identifies the application's own objects.
func (e *Engine) label() string {
	if e.swarm {
		return compose.LabelStack
	}
	return compose.LabelProject
}

// Ports returns an error that lists the ports in use, by which container or service, and the setting that changes the port.
// Ports of the same application are not conflicts.
func (e *Engine) Ports(ctx context.Context, ports []Port) error {
	holders, err := e.holders(ctx)
	if err != nil {
		return err
	}
	if e.swarm { // a stack publishes at all addresses
		ports = slices.Clone(ports)
		for i := range ports {
			ports[i].At = ""
		}
	}
	return taken(ports, holders, e.isLocal(), func(p Port) bool { return free(ctx, p) || e.publishes(ctx, p) })
}

// publishes reports whether a container of the application is configured to publish a port. Podman lists only the first one of
// several successive ports of a container.
func (e *Engine) publishes(ctx context.Context, p Port) bool {
	containers, err := e.containers(ctx)
	if err != nil {
		return false
	}
	for _, c := range containers {
		if !e.owns(c.Labels, c.Labels) || c.State != container.StateRunning {
			continue
		}
		about, err := e.docker.ContainerInspect(ctx, c.ID)
		if err != nil || about.ContainerJSONBase == nil || about.HostConfig == nil {
			continue // its ports count as not published
		}
		for port, bindings := range about.HostConfig.PortBindings {
			for _, b := range bindings {
				if b.HostPort == strconv.Itoa(p.Number) && port.Proto() == p.Protocol {
					return true
				}
			}
		}
	}
	return false
}

// Name returns an error if another application or project uses the name, because deploying would remove its containers, or if
// the application is already deployed with the other Docker target.
func (e *Engine) Name(ctx context.Context) error {
	containers, err := e.containers(ctx)
	if err != nil {
		return err
	}
	for _, c := range containers {
		if c.Labels[e.label()] == e.app && c.Labels[packager.LabelApp] == "" {
			return e.foreign("Compose project", "container", strings.TrimPrefix(cmp.Or(first(c.Names), c.ID), "/"))
		}
		if e.swarm && e.owns(c.Labels, c.Labels) && c.Labels[compose.LabelStack] == "" && c.State == container.StateRunning {
			return fmt.Errorf("%q runs on this engine by Compose, and the engine is in a swarm: name --target compose, or remove it first, with `toskose undeploy --target compose`", e.app)
		}
	}
	services, err := e.services(ctx)
	if err != nil {
		return err
	}
	for _, s := range services {
		switch own := e.owns(s.Spec.Labels, labelsOf(s)); {
		case !e.swarm && own:
			return fmt.Errorf("%q runs as a stack of the engine's swarm: name --target swarm, or remove it first, with `toskose undeploy --target swarm`", e.app)
		case e.swarm && !own && s.Spec.Labels[compose.LabelStack] == e.app:
			return e.foreign("stack", "service", s.Spec.Name)
		}
	}
	return nil
}

// owns reports whether a container or service belongs to the application, given its own labels and its container's labels.
func (e *Engine) owns(labels, inside map[string]string) bool {
	return inside[packager.LabelApp] != "" && cmp.Or(labels[compose.LabelStack], labels[compose.LabelProject]) == e.app
}

func (e *Engine) foreign(kind, part, name string) error {
	if e.swarm {
		kind = "stack"
	}
	return fmt.Errorf("a %s %q that toskose did not create exists already, with %s %q: package it under another name, with --name", kind, e.app, part, name)
}

func labelsOf(s swarm.Service) map[string]string {
	if s.Spec.TaskTemplate.ContainerSpec == nil {
		return nil
	}
	return s.Spec.TaskTemplate.ContainerSpec.Labels
}

func (e *Engine) containers(ctx context.Context) ([]container.Summary, error) {
	list, err := e.docker.ContainerList(ctx, container.ListOptions{All: true})
	if err != nil {
		return nil, fmt.Errorf("cannot list containers: %w", err)
	}
	return list, nil
}

func (e *Engine) services(ctx context.Context) ([]swarm.Service, error) {
	if !e.info.Swarm.ControlAvailable {
		return nil, nil
	}
	list, err := e.docker.ServiceList(ctx, swarm.ServiceListOptions{})
	if err != nil {
		return nil, fmt.Errorf("cannot list services: %w", err)
	}
	return list, nil
}

// holder is a container or service that publishes a port.
type holder struct {
	port     int
	protocol string
	who      string
	own      bool   // belongs to the same application
	host     bool   // publishes only on one machine of several
	at       string // the address at which it publishes; empty: all
}

// holders returns the published ports of the engine and its swarm.
func (e *Engine) holders(ctx context.Context) ([]holder, error) {
	containers, err := e.containers(ctx)
	if err != nil {
		return nil, err
	}
	services, err := e.services(ctx)
	if err != nil {
		return nil, err
	}
	several := e.swarm && e.info.Swarm.Nodes > 1
	var all []holder
	for _, c := range containers {
		for _, p := range c.Ports {
			if p.PublicPort != 0 {
				all = append(all, holder{int(p.PublicPort), p.Type, whose("container", first(c.Names), c.Labels), e.owns(c.Labels, c.Labels), several, p.IP})
			}
		}
	}
	for _, s := range services {
		for _, p := range s.Endpoint.Ports {
			host := p.PublishMode == swarm.PortConfigPublishModeHost
			all = append(all, holder{int(p.PublishedPort), string(p.Protocol), whose("service", s.Spec.Name, s.Spec.Labels), e.owns(s.Spec.Labels, labelsOf(s)), host && several, ""})
		}
	}
	return all, nil
}

func first(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return strings.TrimPrefix(names[0], "/")
}

// whose describes a container or service and the application or project that it belongs to.
func whose(kind, name string, labels map[string]string) string {
	who := fmt.Sprintf("%s %q", kind, name)
	switch app, project := labels[packager.LabelApp], cmp.Or(labels[compose.LabelStack], labels[compose.LabelProject]); {
	case app != "":
		who += fmt.Sprintf(" of application %q", app)
	case project != "":
		who += fmt.Sprintf(" of %q", project)
	}
	return who
}

// isLocal reports whether the engine's host is this machine.
func (e *Engine) isLocal() bool {
	u, err := url.Parse(e.docker.DaemonHost())
	if err != nil || u.Scheme != "unix" && u.Scheme != "npipe" {
		return false
	}
	name, err := os.Hostname()
	return err == nil && name == e.info.Name || strings.HasPrefix(e.info.OperatingSystem, "Docker Desktop")
}

// taken returns an error that lists the ports in use. If here is set, it also tests whether free finds the other ports free on
// this machine.
func taken(ports []Port, holders []holder, here bool, free func(Port) bool) error {
	var problems []error
	for _, p := range ports {
		var by []string
		own := false
		for _, h := range holders {
			switch {
			case !p.published().Conflicts(spec.Port{Host: h.port, Protocol: h.protocol, Address: h.at}):
			case h.own:
				own = true
			case (!h.host || !p.Host) && !slices.Contains(by, h.who): // otherwise the port is free on another machine
				by = append(by, h.who)
			}
		}
		if len(by) == 0 && !own && here && !free(p) {
			by = []string{"a program on this machine"}
		}
		if len(by) > 0 {
			problems = append(problems, fmt.Errorf("port %d/%s is in use by %s: change it (%s), or stop that", p.Number, p.Protocol, strings.Join(by, " and "), p.Setting))
		}
	}
	return errors.Join(problems...)
}
