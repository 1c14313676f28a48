package deploy

import (
	"context"
	"errors"

	"github.com/toskose/toskose/packager/deploy/stack"
	"github.com/toskose/toskose/packager/output"
)

// stack returns the application's stack, or an error if it does not run on a swarm.
func (r *Running) stack() (*stack.Stack, error) {
	s, ok := r.d.where.(*stack.Stack)
	if !ok {
		return nil, errors.New("it does not run in a swarm")
	}
	return s, nil
}

// Services returns the swarm services that mount secrets.
func (r *Running) Services(ctx context.Context) ([]stack.Service, error) {
	s, err := r.stack()
	if err != nil {
		return nil, err
	}
	return s.Services(ctx)
}

// Mount replaces secrets in a swarm service. Its containers see the new secrets under the same file names.
func (r *Running) Mount(ctx context.Context, name string, secrets map[string]output.Replacement) error {
	s, err := r.stack()
	if err != nil {
		return err
	}
	return s.Mount(ctx, name, secrets)
}

// Settled returns what a swarm still has to do for an updated service, or "" when the update is complete. The error means that
// the update cannot complete.
func (r *Running) Settled(ctx context.Context, name string) (waits string, err error) {
	s, err := r.stack()
	if err != nil {
		return "", err
	}
	return s.Settled(ctx, name)
}

// Tidy removes swarm secrets that no service mounts.
func (r *Running) Tidy(ctx context.Context, names map[string][]string) error {
	s, err := r.stack()
	if err != nil {
		return err
	}
	return s.Tidy(ctx, names)
}
