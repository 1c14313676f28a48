package stack

import (
	"context"
	"fmt"
	"time"

	"github.com/docker/docker/api/types/swarm"
)

// rollbackTimeout is how long to wait for the swarm's own rollbacks. A rollback that takes longer hangs, or is replaced by the
// release that is deployed next.
const rollbackTimeout = 20 * time.Second

// Halt pauses updates in progress, waits for the swarm's own rollbacks, and prints which services the swarm has rolled back.
// An update never completes if its containers neither become ready nor exit, or cannot be placed on a machine.
func (s *Stack) Halt(parent context.Context) error {
	ctx, cancel := context.WithTimeout(parent, rollbackTimeout)
	defer cancel()
	ticker := time.NewTicker(500 * time.Millisecond)
	defer ticker.Stop()
	for {
		services, err := s.pauseUpdates(ctx)
		switch {
		case parent.Err() != nil:
			return context.Cause(parent)
		case ctx.Err() != nil: // the next deployment replaces an unfinished rollback
			return nil
		case err != nil:
			return err
		case !anyRollsBack(services):
			s.reportRolledBack(services)
			return nil
		}
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
}

// pauseUpdates pauses updates in progress and returns all services.
func (s *Stack) pauseUpdates(ctx context.Context) ([]swarm.Service, error) {
	services, _, err := s.list(ctx)
	if err != nil {
		return nil, err
	}
	for _, service := range services {
		if u := service.UpdateStatus; u == nil || u.State != swarm.UpdateStateUpdating {
			continue
		}
		if err := updating(func() error { return s.pause(ctx, service.ID) }); err != nil {
			return nil, fmt.Errorf("cannot pause the update of service %q: %w", service.Spec.Name, err)
		}
	}
	return services, nil
}

// pause sets the failure action of a service's update to pause. That ends the update in progress: any containers that it has
// started already match the service's specification.
func (s *Stack) pause(ctx context.Context, id string) error {
	service, _, err := s.Docker.ServiceInspectWithRaw(ctx, id, swarm.ServiceInspectOptions{})
	if err != nil {
		return err
	}
	if u := service.UpdateStatus; u == nil || u.State != swarm.UpdateStateUpdating {
		return nil
	}
	if service.Spec.UpdateConfig == nil {
		service.Spec.UpdateConfig = &swarm.UpdateConfig{Parallelism: 1}
	}
	service.Spec.UpdateConfig.FailureAction = swarm.UpdateFailureActionPause
	_, err = s.Docker.ServiceUpdate(ctx, service.ID, service.Version, service.Spec, swarm.ServiceUpdateOptions{})
	return err
}

func anyRollsBack(services []swarm.Service) bool {
	for _, service := range services {
		if u := service.UpdateStatus; u != nil && u.State == swarm.UpdateStateRollbackStarted {
			return true
		}
	}
	return false
}

func (s *Stack) reportRolledBack(services []swarm.Service) {
	names := s.names(services)
	for _, service := range services {
		if u := service.UpdateStatus; u != nil && u.State == swarm.UpdateStateRollbackCompleted {
			s.Say("%s: the swarm has rolled its update back", names[service.ID])
		}
	}
}
