package stack

import (
	"context"
	"fmt"
	"time"

	"github.com/docker/docker/api/types/swarm"
)

// rollingBack is how long the swarm's own rollbacks are waited for. One that takes longer hangs, or is replaced by the
// release that is deployed next all the same.
const rollingBack = 20 * time.Second

// Halt pauses updates that are under way, waits for the swarm's own rollbacks, and prints which services the swarm has
// rolled back. An update whose containers neither come up nor end, or are on no machine, does not end.
func (s *Stack) Halt(parent context.Context) error {
	ctx, cancel := context.WithTimeout(parent, rollingBack)
	defer cancel()
	ticker := time.NewTicker(500 * time.Millisecond)
	defer ticker.Stop()
	for {
		services, err := s.pauseUpdates(ctx)
		switch {
		case parent.Err() != nil:
			return context.Cause(parent)
		case ctx.Err() != nil: // what is deployed next replaces a rollback that has not ended
			return nil
		case err != nil:
			return err
		case !anyRollsBack(services):
			s.sayRolledBack(services)
			return nil
		}
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
}

// pauseUpdates pauses updates that are under way, and returns all services.
func (s *Stack) pauseUpdates(ctx context.Context) ([]swarm.Service, error) {
	services, _, err := s.look(ctx)
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

// pause has the swarm do nothing where containers of an update fail. That ends the update that is under way: its containers
// are of the service's specification already, as far as there are any.
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

func (s *Stack) sayRolledBack(services []swarm.Service) {
	names := s.names(services)
	for _, service := range services {
		if u := service.UpdateStatus; u != nil && u.State == swarm.UpdateStateRollbackCompleted {
			s.Say("%s: the swarm has taken its update back", names[service.ID])
		}
	}
}
