package deploy

import (
	"context"
	"errors"

	"github.com/toskose/toskose/packager/deploy/stack"
	"github.com/toskose/toskose/packager/output"
)

// swarmStack returns the application's stack, or an error if it does not run on a swarm.
func (r *Running) swarmStack() (*stack.Stack, error) {
	if r.d.stack == nil {
		return nil, errors.New("it does not run in a swarm")
	}
	return r.d.stack, nil
}

// Services returns the swarm services that mount secrets.
func (r *Running) Services(ctx context.Context) ([]stack.Service, error) {
	s, err := r.swarmStack()
	if err != nil {
		return nil, err
	}
	return s.Services(ctx)
}

// Mount replaces secrets in a swarm service. Its containers see the new secrets under the same file names.
func (r *Running) Mount(ctx context.Context, name string, secrets map[string]output.Replacement) error {
	s, err := r.swarmStack()
	if err != nil {
		return err
	}
	return s.Mount(ctx, name, secrets)
}

// Settled returns what a swarm still has to do for an updated service, or "" when the update is complete. The error means that
// the update cannot complete.
func (r *Running) Settled(ctx context.Context, name string) (waits string, err error) {
	s, err := r.swarmStack()
	if err != nil {
		return "", err
	}
	return s.Settled(ctx, name)
}

// Tidy removes swarm secrets that no service mounts.
func (r *Running) Tidy(ctx context.Context, names map[string][]string) error {
	s, err := r.swarmStack()
	if err != nil {
		return err
	}
	return s.Tidy(ctx, names)
}
