package stack

import (
	"context"
	"fmt"
	"path"

	"github.com/docker/docker/api/types/swarm"

	"github.com/toskose/toskose/packager/deploy/backend"
)

// Secrets returns the secrets that the stack's services mount.
func (s *Stack) Secrets(ctx context.Context) (backend.Suffixes, error) {
	services, err := s.Docker.ServiceList(ctx, swarm.ServiceListOptions{Filters: s.mine()})
	if err != nil {
		return nil, fmt.Errorf("cannot list services: %w", err)
	}
	all := backend.Suffixes{}
	for _, service := range services {
		if service.Spec.TaskTemplate.ContainerSpec == nil {
			continue
		}
		for _, mounted := range service.Spec.TaskTemplate.ContainerSpec.Secrets {
			if mounted.File == nil {
				continue
			}
			all.Add(path.Base(mounted.File.Name), suffixOf(mounted.SecretName))
		}
	}
	return all, nil
}
