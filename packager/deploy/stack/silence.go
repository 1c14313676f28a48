package stack

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/docker/docker/api/types/swarm"

	"github.com/toskose/toskose/packager/compose"
	"github.com/toskose/toskose/packager/deploy/backend"
)

// ExplainSilence explains what to do if the swarm's virtual IPs do not work: a kernel without IPVS refuses connections to them or
// drops them, and the engine reports no error.
func (s *Stack) ExplainSilence(ctx context.Context) error {
	manager := s.Info.Manager
	if manager.Publish == compose.PublishHost {
		return nil
	}
	services, tasks, err := s.list(ctx)
	if err != nil || !s.runs(manager.Service, services, tasks) {
		return nil //nolint:nilerr // retried until the timeout
	}
	return fmt.Errorf("the manager runs, and its port %d does not answer: a swarm publishes ports at virtual IPs, for which all of its machines need "+
		"a kernel with IPVS (`modprobe ip_vs`) and an open port %d; without IPVS package with --endpoint-mode %s --publish-mode %s",
		manager.Port, manager.Port, compose.EndpointDNSRR, compose.PublishHost)
}

// runs reports whether a task of the service has been running for some time.
func (s *Stack) runs(service string, services []swarm.Service, tasks []swarm.Task) bool {
	names := s.names(services)
	return slices.ContainsFunc(tasks, func(t swarm.Task) bool {
		return names[t.ServiceID] == service && t.DesiredState == swarm.TaskStateRunning &&
			t.Status.State == swarm.TaskStateRunning && time.Since(t.Status.Timestamp) > backend.Settled
	})
}
