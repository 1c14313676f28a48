package stack

import (
	"context"
	"fmt"
	"slices"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/swarm"
)

// removeOldSecrets removes the stack's secrets that no service uses. The previous version's secrets stay: the swarm needs them
// to roll back an update.
func (s *Stack) removeOldSecrets(ctx context.Context) error {
	services, err := s.Docker.ServiceList(ctx, swarm.ServiceListOptions{Filters: s.mine()})
	if err != nil {
		return fmt.Errorf("cannot list services: %w", err)
	}
	removed, err := s.removeSecrets(ctx, services, func(string) bool { return true })
	for _, name := range removed {
		s.Say("secret %s: removed, it is no longer part of the application", name)
	}
	return err
}

// removeSecrets removes the stack's unused secrets for whose names goes returns true, and returns the removed names.
func (s *Stack) removeSecrets(ctx context.Context, services []swarm.Service, goes func(name string) bool) (removed []string, err error) {
	secrets, err := s.Docker.SecretList(ctx, swarm.SecretListOptions{Filters: s.mine()})
	if err != nil {
		return nil, fmt.Errorf("cannot list secrets: %w", err)
	}
	for _, secret := range unusedSecrets(services, secrets) {
		if !goes(secret.Spec.Name) {
			continue
		}
		switch err := s.Docker.SecretRemove(ctx, secret.ID); {
		case errdefs.IsNotFound(err):
		case err != nil:
			return removed, fmt.Errorf("cannot remove secret %q: %w", secret.Spec.Name, err)
		default:
			removed = append(removed, secret.Spec.Name)
		}
	}
	return removed, nil
}

func unusedSecrets(services []swarm.Service, secrets []swarm.Secret) []swarm.Secret {
	used := map[string]bool{}
	for _, service := range services {
		specs := []*swarm.ServiceSpec{&service.Spec, service.PreviousSpec}
		for _, spec := range specs {
			if spec == nil || spec.TaskTemplate.ContainerSpec == nil {
				continue
			}
			for _, ref := range spec.TaskTemplate.ContainerSpec.Secrets {
				used[ref.SecretID] = true
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(secrets), func(s swarm.Secret) bool { return used[s.ID] })
}
