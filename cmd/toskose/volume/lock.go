package volume

import (
	"context"
	"errors"
	"fmt"

	"github.com/docker/docker/client"
	"github.com/spf13/cobra"

	"github.com/toskose/toskose/cmd/toskose/cli"
	"github.com/toskose/toskose/packager/lock"
)

// locking is how a command acquires the application's lock.
type locking struct {
	steal   bool
	command string
}

func (l *locking) register(cmd *cobra.Command) { cli.StealLock(cmd, &l.steal) }

// locksOnEngine returns the locks of an application that runs on an engine, or in its swarm: volumes do not say
// which of the two.
func locksOnEngine(docker *client.Client, app string) func(context.Context) ([]lock.Store, error) {
	return func(ctx context.Context) ([]lock.Store, error) {
		info, err := docker.Info(ctx)
		if err != nil {
			return nil, fmt.Errorf("cannot reach the Docker engine: %w", err)
		}
		all := []lock.Store{lock.OnEngine(docker, app)}
		if info.Swarm.ControlAvailable {
			all = append(all, lock.InSwarm(docker, app))
		}
		return all, nil
	}
}

// exclusively calls a function while the application is locked. The context of the function ends
// if a lock is lost.
func (s *session) exclusively(ctx context.Context, p place, l locking, do func(context.Context) error) error {
	stores, err := p.locks(ctx)
	if err != nil {
		return err
	}
	for _, store := range stores {
		held, err := lock.Acquire(ctx, store, lock.Options{
			App: p.app, Owner: cli.Identity(), Command: l.command, Steal: l.steal, Say: func(line string) { s.say("%s", line) },
		})
		if err != nil {
			return err
		}
		defer held.Release(ctx)
		locked, cancel := held.While(ctx)
		defer cancel()
		ctx = locked
	}
	err = do(ctx)
	if lost := context.Cause(ctx); err != nil && errors.Is(lost, lock.ErrLost) {
		return lost
	}
	return err
}
