package stack

import (
	"context"
	"fmt"

	"github.com/docker/docker/api/types/swarm"

	"github.com/toskose/toskose/packager/deploy/backend"
)

// Check refuses a folder whose external secrets do not exist yet.
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

// Others refuses what is another application's already.
func (s *Stack) Others(ctx context.Context) error { return s.Conflicts(ctx, true) }
