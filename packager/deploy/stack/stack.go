// Package stack runs an application as a stack of the engine's swarm. It starts no goroutine that outlives a call.
package stack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/network"
	"github.com/docker/docker/api/types/swarm"

	"github.com/toskose/toskose/packager/compose"
	"github.com/toskose/toskose/packager/deploy/backend"
	"github.com/toskose/toskose/packager/deploy/engine"
	"github.com/toskose/toskose/packager/lock"
	"github.com/toskose/toskose/packager/release"
	"github.com/toskose/toskose/packager/volumes"
)

// Stack is an application in a swarm.
type Stack struct {
	*engine.Engine
	label string // selects the application's resources
	self  string // node ID of the engine

	past map[string]bool // IDs of the tasks that had exited before the deployment
}

// Of returns the application in an engine's swarm.
func Of(e *engine.Engine) *Stack {
	return &Stack{Engine: e, label: compose.LabelStack + "=" + e.Info.App, self: e.System.Swarm.NodeID}
}

// Name describes where the application runs.
func (s *Stack) Name() string { return "as a stack of the engine's swarm" }

// Lock returns the lock store of the swarm.
func (s *Stack) Lock(bool) lock.Store { return lock.InSwarm(s.Docker, s.Info.App) }

func (s *Stack) mine() filters.Args { return filters.NewArgs(filters.Arg("label", s.label)) }

// Apply deploys the stack. The manager notices new containers itself, so Apply reports no node as renewed.
func (s *Stack) Apply(ctx context.Context, log release.Log) (renewed map[string]bool, err error) {
	return nil, s.apply(ctx, log)
}

func (s *Stack) apply(ctx context.Context, log release.Log) error {
	if !s.Info.Manager.TLS {
		s.Say("warning: %s", compose.Clear(s.Info.Manager.Port))
	}
	labels, err := s.writeLabels(log)
	if err != nil {
		return err
	}
	defer os.Remove(labels)
	services, tasks, err := s.list(ctx)
	if err != nil {
		return err
	}
	if err := s.deploy(ctx, labels); err != nil {
		return err
	}
	if err := s.retryJobs(ctx, failedJobs(services, tasks)); err != nil {
		return err
	}
	return s.replaceStale(ctx)
}

// deploy deploys the stack's file with the labels of the release. The Docker command fails if the swarm changes a service at
// the same time, for example after an interrupted deployment; deploy then retries.
func (s *Stack) deploy(ctx context.Context, labels string) error {
	return updating(func() error {
		return s.Command(ctx, "docker", "stack", "deploy", "--resolve-image", "never", "--prune", "--with-registry-auth",
			"-c", s.File(compose.SwarmFile), "-c", labels, s.Info.App)
	})
}

// replaceStale restarts containers whose image was rebuilt under the same name. The swarm does not notice the rebuild.
func (s *Stack) replaceStale(ctx context.Context) error {
	list, err := s.Containers(ctx, s.label)
	if err != nil {
		return err
	}
	for _, service := range staleServices(list, func(ref string) string {
		image, err := s.Docker.ImageInspect(ctx, ref)
		if err != nil {
			return ""
		}
		return image.ID
	}) {
		if err := s.restart(ctx, service); err != nil {
			return err
		}
	}
	return nil
}

// restart makes the swarm replace the containers of a service.
func (s *Stack) restart(ctx context.Context, service string) error {
	return s.Command(ctx, "docker", "service", "update", "--force", "--detach", "--no-resolve-image", "--with-registry-auth", service)
}

func staleServices(list []container.Summary, idOf func(ref string) string) []string {
	var stale []string
	for _, c := range list {
		service := c.Labels[compose.LabelSwarmService]
		if c.State != container.StateRunning || service == "" || slices.Contains(stale, service) {
			continue
		}
		// An image that lost its name is listed by ID.
		if id := idOf(c.Image); c.ImageID != id && id != "" || strings.HasPrefix(c.Image, "sha256:") {
			stale = append(stale, service)
		}
	}
	slices.Sort(stale)
	return stale
}

// Down removes the stack and waits until it is removed. `docker stack rm` does not wait, and leaves the network behind if a
// container is still stopping.
func (s *Stack) Down(ctx context.Context, _ release.Log) error {
	if err := volumes.RemoveLeft(ctx, s.Docker, s.Info.App); err != nil {
		return err
	}
	services, _, err := s.list(ctx)
	if err != nil {
		return err
	}
	for _, service := range services {
		if spec := service.Spec.TaskTemplate.ContainerSpec; spec != nil {
			s.RecordExternalVolumes(spec.Labels)
		}
	}
	removed := s.Command(ctx, "docker", "stack", "rm", s.Info.App)
	if err := s.RemoveProbe(ctx); err != nil {
		return errors.Join(removed, err)
	}
	if removed != nil {
		// After an interrupted removal, the engine lists a network that the swarm has removed until its last container exits.
		if services, _, err := s.list(ctx); err != nil || len(services) > 0 {
			return errors.Join(removed, err)
		}
	}
	ticker := time.NewTicker(200 * time.Millisecond)
	defer ticker.Stop()
	for {
		left, err := s.left(ctx)
		if err != nil || left == "" {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s is still there: %w", left, ctx.Err())
		case <-ticker.C:
		}
	}
}

// left returns a resource of the stack that still exists, or "". It removes unused networks and secrets.
func (s *Stack) left(ctx context.Context) (string, error) {
	containers, err := s.Containers(ctx, s.label)
	if err != nil {
		return "", err
	}
	if len(containers) > 0 {
		return "container " + strings.Join(containers[0].Names, ", "), nil
	}
	networks, err := s.Docker.NetworkList(ctx, network.ListOptions{Filters: s.mine()})
	if err != nil {
		return "", fmt.Errorf("cannot list networks: %w", err)
	}
	for _, n := range networks {
		if err := s.Docker.NetworkRemove(ctx, n.ID); err != nil {
			return fmt.Sprintf("network %s (%v)", n.Name, err), nil // retried until the timeout
		}
	}
	secrets, err := s.Docker.SecretList(ctx, swarm.SecretListOptions{Filters: s.mine()})
	if err != nil {
		return "", fmt.Errorf("cannot list secrets: %w", err)
	}
	for _, secret := range secrets {
		if err := s.Docker.SecretRemove(ctx, secret.ID); err != nil {
			return fmt.Sprintf("secret %s (%v)", secret.Spec.Name, err), nil // retried until the timeout
		}
	}
	return "", nil
}

// Host returns the manager's address: any machine of the swarm, or the machine of the manager's task if only that publishes
// the port.
func (s *Stack) Host(ctx context.Context) (string, error) {
	if s.Info.Manager.Publish != compose.PublishHost {
		return s.Published(s.Machine()), nil
	}
	services, tasks, err := s.list(ctx)
	if err != nil {
		return "", err
	}
	names := s.names(services)
	for _, t := range tasks {
		if names[t.ServiceID] != s.Info.Manager.Service || t.Status.State != swarm.TaskStateRunning || t.NodeID == s.self {
			continue
		}
		node, _, err := s.Docker.NodeInspectWithRaw(ctx, t.NodeID)
		if err != nil {
			return "", fmt.Errorf("cannot find the manager's node: %w", err)
		}
		return s.Published(node.Status.Addr), nil
	}
	return s.Published(s.Machine()), nil
}

// Logs returns the log of the failed task only: after a rollback, the service's log also contains other tasks.
func (s *Stack) Logs(ctx context.Context, f backend.Failure) (string, error) {
	read, of := s.Docker.ServiceLogs, s.Info.App+"_"+f.Service
	if f.Silent {
		services, _, err := s.list(ctx)
		if err != nil {
			return "", err
		}
		if i := slices.IndexFunc(services, func(one swarm.Service) bool { return nodeOf(one) == f.Service }); i >= 0 {
			of = services[i].ID
		}
	}
	if f.Task != "" {
		read, of = s.Docker.TaskLogs, f.Task
	}
	r, err := read(ctx, of, container.LogsOptions{ShowStdout: true, ShowStderr: true, Tail: "60", Timestamps: true})
	if err != nil {
		return "", err
	}
	text, err := engine.ReadLog(r)
	return inOrder(text), err
}

// inOrder sorts log lines by time and removes their timestamps. The swarm may return a task's two streams one after the other.
func inOrder(text string) string {
	lines := strings.SplitAfter(text, "\n")
	at := func(line string) string { time, _, _ := strings.Cut(line, " "); return time } // all have the same length
	slices.SortStableFunc(lines, func(a, b string) int { return strings.Compare(at(a), at(b)) })
	for i, line := range lines {
		_, lines[i], _ = strings.Cut(line, " ")
	}
	return strings.Join(lines, "")
}

// PublishSecrets does nothing: secrets of a swarm are immutable. See Mount.
func (s *Stack) PublishSecrets(context.Context) error { return nil }
