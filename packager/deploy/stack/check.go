package stack

import (
	"context"
	"fmt"

	"github.com/docker/docker/api/types/swarm"

	"github.com/toskose/toskose/packager/deploy/backend"
)

// Check returns an error if external secrets of the folder do not exist.
func (s *Stack) Check(ctx context.Context) error {
	if len(s.Info.External) == 0 {
		return nil
	}
	list, err := s.Docker.SecretList(ctx, swarm.SecretListOptions{})
	if err != nil {
		return fmt.Errorf("cannot list secrets: %w", err)
	}
	have := make([]string, len(list))
	for i, secret := range list {
		have[i] = secret.Spec.Name
	}
	return backend.MissingSecrets("swarm", s.Info.External, have, "docker secret create %s FILE")
}

// Others returns an error if a resource of the stack belongs to another application.
func (s *Stack) Others(ctx context.Context) error { return s.Conflicts(ctx, true) }
