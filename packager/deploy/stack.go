package deploy

import (
	"context"
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
	"github.com/toskose/toskose/packager/release"
)

// stack runs the application in the engine's swarm.
type stack struct {
	d     *deployer
	label string // selects what belongs to it
	self  string // id of the engine's node

	past map[string]bool // ids of the tasks that had ended before it was deployed
}

func onStack(d *deployer, self string) target {
	s := &stack{d: d, label: stackLabel + "=" + d.info.App, self: self}
	return target{
		runner: s, secrets: s.secrets, name: "as a stack of the engine's swarm", check: s.check, removeVolumes: d.removeVolumes, removeDocuments: d.removeDocuments, otherwise: s.otherwise, host: s.host,
		before: s.before, settled: s.removeOldSecrets, releases: s.releases, halted: s.halted, unheard: s.unheard, elsewhere: s.elsewhere,
	}
}

func (s *stack) mine() filters.Args { return filters.NewArgs(filters.Arg("label", s.label)) }

func (s *stack) up(ctx context.Context, log release.Log) error {
	if !s.d.info.Manager.TLS {
		s.d.say("warning: %s", compose.Clear(s.d.info.Manager.Port))
	}
	labels, err := s.labelled(log)
	if err != nil {
		return err
	}
	defer os.Remove(labels)
	services, tasks, err := s.look(ctx)
	if err != nil {
		return err
	}
	if err := s.d.command(ctx, "docker", "stack", "deploy", "--resolve-image", "never", "--prune", "--with-registry-auth",
		"-c", s.d.file(compose.SwarmFile), "-c", labels, s.d.info.App); err != nil {
		return err
	}
	if err := s.retryJobs(ctx, failedJobs(services, tasks)); err != nil {
		return err
	}
	return s.replaceStale(ctx)
}

// replaceStale restarts the containers whose images were built again under the
// same name, which a swarm does not notice.
func (s *stack) replaceStale(ctx context.Context) error {
	list, err := s.d.containers(ctx, s.label)
	if err != nil {
		return err
	}
	for _, service := range staleServices(list, func(ref string) string {
		image, err := s.d.engine.ImageInspect(ctx, ref)
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

// restart has the swarm replace the containers of a service.
func (s *stack) restart(ctx context.Context, service string) error {
	return s.d.command(ctx, "docker", "service", "update", "--force", "--detach", "--no-resolve-image", "--with-registry-auth", service)
}

func staleServices(list []container.Summary, idOf func(ref string) string) []string {
	var stale []string
	for _, c := range list {
		service := c.Labels[serviceLabel]
		if c.State != container.StateRunning || service == "" || slices.Contains(stale, service) {
			continue
		}
		// An image that lost its name is listed by its id.
		if id := idOf(c.Image); c.ImageID != id && id != "" || strings.HasPrefix(c.Image, "sha256:") {
			stale = append(stale, service)
		}
	}
	slices.Sort(stale)
	return stale
}

// otherwise removes what Compose has started, before the engine joined its
// swarm.
func (s *stack) otherwise(ctx context.Context) error {
	p := &project{d: s.d, label: projectLabel + "=" + s.d.info.App}
	started, err := s.d.containers(ctx, p.label)
	if err != nil || len(started) == 0 {
		return err
	}
	s.d.say("%s: removing what Compose has started", s.d.info.App)
	return p.down(ctx)
}

// down removes the stack and waits for it: `docker stack rm` does not, and
// leaves the network where a container was still ending.
func (s *stack) down(ctx context.Context) error {
	if err := s.d.command(ctx, "docker", "stack", "rm", s.d.info.App); err != nil {
		return err
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

// left names something of the stack that is still there, and removes networks
// and secrets that are no longer in use.
func (s *stack) left(ctx context.Context) (string, error) {
	containers, err := s.d.containers(ctx, s.label)
	if err != nil {
		return "", err
	}
	if len(containers) > 0 {
		return "container " + strings.Join(containers[0].Names, ", "), nil
	}
	networks, err := s.d.engine.NetworkList(ctx, network.ListOptions{Filters: s.mine()})
	if err != nil {
		return "", fmt.Errorf("cannot list networks: %w", err)
	}
	for _, n := range networks {
		if err := s.d.engine.NetworkRemove(ctx, n.ID); err != nil {
			return fmt.Sprintf("network %s (%v)", n.Name, err), nil // tried again until the time is up
		}
	}
	secrets, err := s.d.engine.SecretList(ctx, swarm.SecretListOptions{Filters: s.mine()})
	if err != nil {
		return "", fmt.Errorf("cannot list secrets: %w", err)
	}
	for _, secret := range secrets {
		if err := s.d.engine.SecretRemove(ctx, secret.ID); err != nil {
			return fmt.Sprintf("secret %s (%v)", secret.Spec.Name, err), nil // tried again until the time is up
		}
	}
	return "", nil
}

// host is where the manager's port is published: anywhere in the swarm, or at
// the node that its task runs on.
func (s *stack) host(ctx context.Context) (string, error) {
	if s.d.info.Manager.Publish != compose.PublishHost {
		return s.d.published(s.d.engineHost()), nil
	}
	services, tasks, err := s.look(ctx)
	if err != nil {
		return "", err
	}
	names := s.names(services)
	for _, t := range tasks {
		if names[t.ServiceID] != s.d.info.Manager.Service || t.Status.State != swarm.TaskStateRunning || t.NodeID == s.self {
			continue
		}
		node, _, err := s.d.engine.NodeInspectWithRaw(ctx, t.NodeID)
		if err != nil {
			return "", fmt.Errorf("cannot find the manager's node: %w", err)
		}
		return s.d.published(node.Status.Addr), nil
	}
	return s.d.published(s.d.engineHost()), nil
}

// logs are those of the task that has failed: its service has others, too, above all one that an update was taken back to.
func (s *stack) logs(ctx context.Context, f failure) (string, error) {
	read, of := s.d.engine.ServiceLogs, s.d.info.App+"_"+f.service
	if f.task != "" {
		read, of = s.d.engine.TaskLogs, f.task
	}
	r, err := read(ctx, of, container.LogsOptions{ShowStdout: true, ShowStderr: true, Tail: "60", Timestamps: true})
	if err != nil {
		return "", err
	}
	text, err := readLog(r)
	return inOrder(text), err
}

// inOrder returns lines as they were printed, without their times: of a task's two streams a swarm
// may give one after the other.
func inOrder(text string) string {
	lines := strings.SplitAfter(text, "\n")
	at := func(line string) string { time, _, _ := strings.Cut(line, " "); return time } // all of one length
	slices.SortStableFunc(lines, func(a, b string) int { return strings.Compare(at(a), at(b)) })
	for i, line := range lines {
		_, lines[i], _ = strings.Cut(line, " ")
	}
	return strings.Join(lines, "")
}
