package stack

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/docker/docker/api/types/swarm"

	"github.com/toskose/toskose/packager/compose"
	"github.com/toskose/toskose/packager/deploy/backend"
)

// Check returns an error if external secrets of the folder do not exist, or if a resource of the stack belongs to another
// application.
func (s *Stack) Check(ctx context.Context) error {
	if err := s.checkSecrets(ctx); err != nil {
		return err
	}
	var bound error
	if len(s.Info.Bound) > 0 {
		bound = compose.NotOnSwarm(s.Info.Bound)
	}
	return errors.Join(bound, s.checkVolumes(ctx), s.Conflicts(ctx, true))
}

// checkVolumes returns an error if external volumes do not exist. The volumes of other machines cannot be seen from here.
func (s *Stack) checkVolumes(ctx context.Context) error {
	if len(s.Info.ExternalVolumes) == 0 || s.System.Swarm.Nodes <= 1 {
		return s.CheckExternalVolumes(ctx)
	}
	s.Say("%s: external volumes (%s) are not checked on the other machines of the swarm; a machine without such a volume creates an empty one: deploy.placement.constraints in toskose.yml selects the machine that has it",
		s.Info.App, strings.Join(slices.Sorted(maps.Keys(s.Info.ExternalVolumes)), ", "))
	return nil
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
