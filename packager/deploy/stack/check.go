package stack

import (
	"context"
	"fmt"

	"github.com/docker/docker/api/types/swarm"

	"github.com/toskose/toskose/packager/deploy/backend"
)

// Check returns an error if external secrets of the folder do not exist, or if a resource of the stack belongs to another
// application.
func (s *Stack) Check(ctx context.Context) error {
	if err := s.checkSecrets(ctx); err != nil {
		return err
	}
	return s.Conflicts(ctx, true)
}

// checkSecrets returns an error if external secrets do not exist.
func (s *Stack) checkSecrets(ctx context.Context) error {
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
