package deploy

import (
	"context"
	"errors"

	"github.com/toskose/toskose/packager/deploy/stack"
	"github.com/toskose/toskose/packager/output"
)

// stack is the application in its Swarm.
func (r *Running) stack() (*stack.Stack, error) {
	s, ok := r.d.where.(*stack.Stack)
	if !ok {
		return nil, errors.New("it does not run in a swarm")
	}
	return s, nil
}

// Services are those of a Swarm's that mount secrets.
func (r *Running) Services(ctx context.Context) ([]stack.Service, error) {
	s, err := r.stack()
	if err != nil {
		return nil, err
	}
	return s.Services(ctx)
}

// Mount has a service of a Swarm mount other secrets in the place of those that its
// containers call the same.
func (r *Running) Mount(ctx context.Context, name string, secrets map[string]output.Replacement) error {
	s, err := r.stack()
	if err != nil {
		return err
	}
	return s.Mount(ctx, name, secrets)
}

// Settled says what a Swarm still does for a service that was changed; empty: nothing. The
// error says that it will not come to that.
func (r *Running) Settled(ctx context.Context, name string) (waits string, err error) {
	s, err := r.stack()
	if err != nil {
		return "", err
	}
	return s.Settled(ctx, name)
}

// Tidy removes secrets of a Swarm that no service mounts any more.
func (r *Running) Tidy(ctx context.Context, names map[string][]string) error {
	s, err := r.stack()
	if err != nil {
		return err
	}
	return s.Tidy(ctx, names)
}
