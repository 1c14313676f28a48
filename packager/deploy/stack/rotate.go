package stack

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/docker/docker/api/types/swarm"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/compose"
	"github.com/toskose/toskose/packager/lock"
	"github.com/toskose/toskose/packager/output"
)

// Service is a swarm service with the secrets that it mounts.
type Service struct {
	Name    string
	Node    string            // the node that the service runs; empty: none, as for the manager
	Manager bool              // the service runs the manager
	Managed bool              // the manager operates its units
	Secrets map[string]string // suffixes of the secrets' names, by their file names in the container
}

// Services returns the stack's services that mount secrets.
func (s *Stack) Services(ctx context.Context) ([]Service, error) {
	services, _, err := s.list(ctx)
	if err != nil {
		return nil, err
	}
	names := s.names(services)
	var all []Service
	for _, service := range services {
		spec := service.Spec.TaskTemplate.ContainerSpec
		if spec == nil {
			continue
		}
		one := Service{Name: names[service.ID], Node: spec.Labels[packager.LabelNode], Secrets: map[string]string{}}
		one.Manager = one.Name == s.Info.Manager.Service
		one.Managed = slices.Contains(s.Info.Nodes, one.Node)
		for _, mounted := range spec.Secrets {
			if mounted.File != nil {
				one.Secrets[path.Base(mounted.File.Name)] = suffixOf(mounted.SecretName)
			}
		}
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b Service) int { return cmp.Compare(a.Name, b.Name) })
	return all, nil
}

// nodeOf returns the node that a service runs, or "".
func nodeOf(service swarm.Service) string {
	if spec := service.Spec.TaskTemplate.ContainerSpec; spec != nil {
		return spec.Labels[packager.LabelNode]
	}
	return ""
}

// suffixOf returns the suffix of a swarm secret's name.
func suffixOf(name string) string { return name[strings.LastIndex(name, "_")+1:] }

// Mount replaces secrets of a service, keeping their file names in the container. The swarm then replaces the service's
// containers. Mount does nothing if the service mounts the new secrets already.
func (s *Stack) Mount(ctx context.Context, name string, secrets map[string]output.Replacement) error {
	return updating(func() error { return s.mount(ctx, name, secrets) })
}

// updating retries a service update: the swarm also writes the progress of updates to the service, and rejects an update that
// is based on an outdated version.
func updating(update func() error) error {
	for tries := 0; ; tries++ {
		err := update()
		if err == nil || tries == maxUpdates || !lock.IsOutdated(err) {
			return err
		}
	}
}

const maxUpdates = 10

func (s *Stack) mount(ctx context.Context, name string, secrets map[string]output.Replacement) error {
	service, _, err := s.Docker.ServiceInspectWithRaw(ctx, s.Info.App+"_"+name, swarm.ServiceInspectOptions{})
	if err != nil {
		return fmt.Errorf("cannot find service %q: %w", name, err)
	}
	spec := service.Spec.TaskTemplate.ContainerSpec
	if spec == nil {
		return fmt.Errorf("service %q runs no container", name)
	}
	changed := false
	for _, mounted := range spec.Secrets {
		if mounted.File == nil {
			continue
		}
		file := path.Base(mounted.File.Name)
		now, ok := secrets[file]
		if !ok || now.Suffix == suffixOf(mounted.SecretName) {
			continue
		}
		to := compose.SecretName(s.Info.App, file, now.Suffix)
		if mounted.SecretID, err = s.secret(ctx, to, now.Value); err != nil {
			return err
		}
		mounted.SecretName, changed = to, true
	}
	if !changed {
		return nil
	}
	// `docker stack deploy` sorts them in this order, and would replace containers if the order differed.
	slices.SortStableFunc(spec.Secrets, func(a, b *swarm.SecretReference) int { return cmp.Compare(a.SecretName, b.SecretName) })
	if _, err := s.Docker.ServiceUpdate(ctx, service.ID, service.Version, service.Spec, swarm.ServiceUpdateOptions{}); err != nil {
		return fmt.Errorf("cannot update service %q: %w", name, err)
	}
	return nil
}

// secret returns the ID of one of the stack's secrets. It creates the secret if it does not exist.
func (s *Stack) secret(ctx context.Context, name, value string) (id string, err error) {
	secrets, err := s.Docker.SecretList(ctx, swarm.SecretListOptions{Filters: s.mine()})
	if err != nil {
		return "", fmt.Errorf("cannot list secrets: %w", err)
	}
	if i := slices.IndexFunc(secrets, func(one swarm.Secret) bool { return one.Spec.Name == name }); i >= 0 {
		return secrets[i].ID, nil
	}
	made, err := s.Docker.SecretCreate(ctx, swarm.SecretSpec{
		Annotations: swarm.Annotations{Name: name, Labels: map[string]string{compose.LabelStack: s.Info.App}}, Data: []byte(value),
	})
	if err != nil {
		return "", fmt.Errorf("cannot create secret %q: %w", name, err)
	}
	return made.ID, nil
}

// Settled returns what the swarm still has to do for an updated service, or "" when all of its containers run and match its
// specification. The error means that the update cannot complete.
func (s *Stack) Settled(ctx context.Context, name string) (waits string, err error) {
	services, tasks, err := s.list(ctx)
	if err != nil {
		return err.Error(), nil //nolint:nilerr // retried until the timeout
	}
	names := s.names(services)
	i := slices.IndexFunc(services, func(one swarm.Service) bool { return names[one.ID] == name })
	if i < 0 {
		return "", fmt.Errorf("service %q was removed", name)
	}
	return settledService(services[i], tasks)
}

func settledService(service swarm.Service, tasks []swarm.Task) (waits string, err error) {
	if u := service.UpdateStatus; u != nil {
		switch u.State {
		case swarm.UpdateStatePaused, swarm.UpdateStateRollbackStarted, swarm.UpdateStateRollbackPaused, swarm.UpdateStateRollbackCompleted:
			return "", fmt.Errorf("the swarm has stopped updating service %q: %s%s", service.Spec.Name, u.Message, lastProblem(service, tasks))
		case swarm.UpdateStateUpdating:
			waits = "it is being updated"
		case swarm.UpdateStateCompleted:
		}
	}
	want, up := 1, 0
	if mode := service.Spec.Mode.Replicated; mode != nil && mode.Replicas != nil {
		want = int(*mode.Replicas)
	}
	if service.Spec.Mode.Global != nil {
		want = 0 // one per eligible node
	}
	for _, t := range tasks {
		switch {
		case t.ServiceID != service.ID || t.DesiredState != swarm.TaskStateRunning:
		case !sameSecrets(t.Spec.ContainerSpec, service.Spec.TaskTemplate.ContainerSpec):
			waits = "an old container still runs"
		case t.Status.State == swarm.TaskStateRunning:
			up++
		default:
			waits = strings.TrimSuffix(fmt.Sprintf("a container is %s: %s", t.Status.State, cmp.Or(t.Status.Err, t.Status.Message)), ": ")
		}
	}
	if waits == "" && up < want {
		waits = fmt.Sprintf("%d of %d containers run", up, want)
	}
	return waits, nil
}

// lastProblem returns why the last task of a service failed.
func lastProblem(service swarm.Service, tasks []swarm.Task) string {
	last := swarm.Task{}
	for _, t := range tasks {
		if t.ServiceID == service.ID && ended(t) && t.CreatedAt.After(last.CreatedAt) {
			last = t
		}
	}
	if last.ID == "" {
		return ""
	}
	return fmt.Sprintf(" (%s: %s)", last.Status.State, last.Status.Err)
}

func sameSecrets(a, b *swarm.ContainerSpec) bool {
	ids := func(spec *swarm.ContainerSpec) map[string]bool {
		all := map[string]bool{}
		if spec != nil {
			for _, mounted := range spec.Secrets {
				all[mounted.SecretID] = true
			}
		}
		return all
	}
	return maps.Equal(ids(a), ids(b))
}

// Tidy removes the given secrets of the stack if no service mounts them. names maps each secret to suffixes. Afterwards the
// swarm rejects a manual rollback of a service to one of these secrets.
func (s *Stack) Tidy(ctx context.Context, names map[string][]string) error {
	var old []string
	for name, suffixes := range names {
		for _, suffix := range suffixes {
			old = append(old, compose.SecretName(s.Info.App, name, suffix))
		}
	}
	services, _, err := s.list(ctx)
	if err != nil {
		return err
	}
	for i := range services {
		services[i].PreviousSpec = nil
	}
	_, err = s.removeSecrets(ctx, services, func(name string) bool { return slices.Contains(old, name) })
	return err
}
