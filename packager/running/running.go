// Package running finds the applications on a Docker engine, in its swarm and on a Kubernetes cluster by their labels. It
// needs no folder, changes nothing and starts no goroutine.
package running

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/swarm"
	"github.com/docker/docker/client"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/compose"
)

// Application is a running application, or the remains of one.
type Application struct {
	Name      string `json:"name"`
	Target    string `json:"target"`              // swarm, compose or kubernetes
	Namespace string `json:"namespace,omitempty"` // on Kubernetes
	Manager   string `json:"manager,omitempty"`   // URL; empty: no manager container exists
	Forward   string `json:"forward,omitempty"`   // the command that forwards the manager's port to that address; empty: not needed
	Up        int    `json:"up"`                  // running containers
	Of        int    `json:"of"`                  // expected containers; a completed job has none
	Dir       string `json:"dir,omitempty"`       // the folder that it was deployed from, if known
}

// Where describes the location of an application for users.
func (a Application) Where() string {
	if a.Namespace != "" {
		return a.Target + ", namespace " + a.Namespace
	}
	return a.Target
}

// The targets, as in packager/deploy.
const (
	onSwarm      = "swarm"
	onCompose    = "compose"
	onKubernetes = "kubernetes"
)

// managerTLS is set in the environment of a manager that uses TLS.
const managerTLS = "TOSKOSE_MANAGER_TLS_CERT"

// OnEngine returns the applications on an engine and in its swarm.
func OnEngine(ctx context.Context, docker *client.Client) ([]Application, error) {
	info, err := docker.Info(ctx)
	if err != nil {
		return nil, fmt.Errorf("cannot reach the Docker engine: %w", err)
	}
	all, err := projects(ctx, docker)
	if err != nil || !info.Swarm.ControlAvailable {
		return all, err
	}
	stacks, err := stacks(ctx, docker, info.Swarm.NodeID)
	return sorted(append(all, stacks...)), err
}

// projects returns the applications that Compose runs.
func projects(ctx context.Context, docker *client.Client) ([]Application, error) {
	list, err := docker.ContainerList(ctx, container.ListOptions{All: true, Filters: filters.NewArgs(
		filters.Arg("label", packager.LabelApp), filters.Arg("label", compose.LabelProject))})
	if err != nil {
		return nil, fmt.Errorf("cannot list containers: %w", err)
	}
	found := map[string]*Application{}
	for _, c := range list {
		name := c.Labels[compose.LabelProject]
		a := found[name]
		if a == nil {
			a = &Application{Name: name, Target: onCompose, Dir: c.Labels[compose.LabelFolder]}
			found[name] = a
		}
		up := c.State == container.StateRunning
		if !up && packager.IsJob(c.Labels) {
			if done, err := completed(ctx, docker, c); err != nil {
				return nil, err
			} else if done {
				continue
			}
		}
		a.Of++
		if up {
			a.Up++
		}
		if c.Labels[packager.LabelNode] == "" && a.Manager == "" {
			if a.Manager, err = published(ctx, docker, c); err != nil {
				return nil, err
			}
		}
	}
	return values(found), nil
}

// completed reports whether a job's container has exited with 0.
func completed(ctx context.Context, docker *client.Client, c container.Summary) (bool, error) {
	about, err := docker.ContainerInspect(ctx, c.ID)
	if errdefs.IsNotFound(err) {
		return false, nil // it was removed
	}
	if err != nil {
		return false, cannotInspect(c, err)
	}
	return about.State != nil && about.State.Status == container.StateExited && about.State.ExitCode == 0, nil
}

func cannotInspect(c container.Summary, err error) error {
	return fmt.Errorf("cannot inspect container %q: %w", strings.Join(c.Names, ", "), err)
}

// published returns the address at which a container publishes the manager.
func published(ctx context.Context, docker *client.Client, c container.Summary) (string, error) {
	about, err := docker.ContainerInspect(ctx, c.ID)
	if errdefs.IsNotFound(err) {
		return "", nil // it was removed
	}
	if err != nil {
		return "", cannotInspect(c, err)
	}
	for _, bindings := range about.HostConfig.PortBindings { // also set for a stopped container
		for _, b := range bindings {
			if n, err := strconv.Atoi(b.HostPort); err == nil && n > 0 {
				return address(speaksTLS(about.Config.Env), hostOf(docker, b.HostIP), n), nil
			}
		}
	}
	return "", nil
}

func speaksTLS(env []string) bool {
	return slices.ContainsFunc(env, func(pair string) bool { return strings.HasPrefix(pair, managerTLS+"=") })
}

func address(tls bool, host string, port int) string {
	scheme := "http"
	if tls {
		scheme = "https"
	}
	return scheme + "://" + net.JoinHostPort(host, strconv.Itoa(port))
}

// hostOf returns the host name of the engine's machine as seen from here. bound is the address of that machine at which the
// port is published.
func hostOf(docker *client.Client, bound string) string {
	u, err := url.Parse(docker.DaemonHost())
	if err != nil || u.Scheme == "unix" || u.Scheme == "npipe" || u.Hostname() == "" {
		if ip := net.ParseIP(bound); ip != nil && !ip.IsUnspecified() && !ip.IsLoopback() {
			return bound
		}
		return "localhost"
	}
	return u.Hostname()
}

// stacks returns the applications that the swarm runs.
func stacks(ctx context.Context, docker *client.Client, self string) ([]Application, error) {
	list, err := docker.ServiceList(ctx, swarm.ServiceListOptions{Status: true, Filters: filters.NewArgs(filters.Arg("label", compose.LabelStack))})
	if err != nil {
		return nil, fmt.Errorf("cannot list services: %w", err)
	}
	found := map[string]*Application{}
	for _, s := range list {
		name, spec := s.Spec.Labels[compose.LabelStack], s.Spec.TaskTemplate.ContainerSpec
		if spec == nil || spec.Labels[packager.LabelApp] == "" {
			continue
		}
		a := found[name]
		if a == nil {
			a = &Application{Name: name, Target: onSwarm}
			found[name] = a
		}
		done, err := jobCompleted(ctx, docker, s)
		if err != nil {
			return nil, err
		}
		if s.ServiceStatus != nil && !done {
			a.Of += int(s.ServiceStatus.DesiredTasks)
			a.Up += int(s.ServiceStatus.RunningTasks)
		}
		if spec.Labels[packager.LabelNode] == "" && a.Manager == "" {
			if a.Manager, err = routed(ctx, docker, s, self); err != nil {
				return nil, err
			}
		}
	}
	return values(found), nil
}

// jobCompleted reports whether a service runs a job whose newest task has exited with 0.
func jobCompleted(ctx context.Context, docker *client.Client, s swarm.Service) (bool, error) {
	if !packager.IsJob(s.Spec.TaskTemplate.ContainerSpec.Labels) {
		return false, nil
	}
	tasks, err := tasksOf(ctx, docker, filters.Arg("service", s.ID))
	if err != nil {
		return false, err
	}
	if len(tasks) == 0 {
		return false, nil
	}
	newest := slices.MaxFunc(tasks, func(a, b swarm.Task) int { return a.CreatedAt.Compare(b.CreatedAt) })
	return newest.Status.State == swarm.TaskStateComplete, nil
}

// tasksOf returns the tasks of a service, or none if the service was removed.
func tasksOf(ctx context.Context, docker *client.Client, which ...filters.KeyValuePair) ([]swarm.Task, error) {
	tasks, err := docker.TaskList(ctx, swarm.TaskListOptions{Filters: filters.NewArgs(which...)})
	if errdefs.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot list tasks: %w", err)
	}
	return tasks, nil
}

// routed returns the address at which a service publishes the manager.
func routed(ctx context.Context, docker *client.Client, s swarm.Service, self string) (string, error) {
	if len(s.Endpoint.Ports) == 0 {
		return "", nil
	}
	p, host := s.Endpoint.Ports[0], hostOf(docker, "")
	if p.PublishMode == swarm.PortConfigPublishModeHost {
		elsewhere, err := machine(ctx, docker, s.ID, self)
		if err != nil {
			return "", err
		}
		host = cmp.Or(elsewhere, host)
	}
	return address(speaksTLS(s.Spec.TaskTemplate.ContainerSpec.Env), host, int(p.PublishedPort)), nil
}

// machine returns the address of the machine that runs a service's task, or "" for the engine's own machine.
func machine(ctx context.Context, docker *client.Client, service, self string) (string, error) {
	tasks, err := tasksOf(ctx, docker, filters.Arg("service", service), filters.Arg("desired-state", "running"))
	if err != nil {
		return "", err
	}
	for _, t := range tasks {
		if t.Status.State != swarm.TaskStateRunning || t.NodeID == self {
			continue
		}
		node, _, err := docker.NodeInspectWithRaw(ctx, t.NodeID)
		if err != nil {
			return "", fmt.Errorf("cannot find the manager's machine: %w", err)
		}
		return node.Status.Addr, nil
	}
	return "", nil
}

func values(found map[string]*Application) []Application {
	all := make([]Application, 0, len(found))
	for _, a := range found {
		all = append(all, *a)
	}
	return sorted(all)
}

func sorted(all []Application) []Application {
	slices.SortFunc(all, func(a, b Application) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Target, b.Target), cmp.Compare(a.Namespace, b.Namespace))
	})
	return all
}
