package stack

import (
	"github.com/docker/docker/api/types/swarm"
)

// isUpdated reports whether all tasks of a service are of its specification, and as many as it wants have started. The status
// of an update does not say so: there is none before the swarm has begun the update, and that of an update that was
// interrupted by another one, which changes only labels, is lost while old containers still stop.
func isUpdated(service swarm.Service, tasks []swarm.Task) bool {
	if isJobService(service) {
		return true
	}
	want, started := uint64(1), uint64(0)
	switch mode := service.Spec.Mode; {
	case mode.Replicated != nil && mode.Replicated.Replicas != nil:
		want = *mode.Replicated.Replicas
	case mode.Global != nil:
		want = 0 // as many as there are machines for it
	}
	for _, t := range tasks {
		switch {
		case t.ServiceID != service.ID:
		case !isUnplacedSpec(service, t):
			if t.DesiredState == swarm.TaskStateRunning {
				return false
			}
		case t.Status.State == swarm.TaskStateRunning && t.DesiredState == swarm.TaskStateRunning, t.Status.State == swarm.TaskStateComplete:
			started++
		}
	}
	return started >= want
}

// isUnplacedSpec compares a task with its service as isOfSpec does, but for the placement: a change of that leaves tasks
// where they suit it.
func isUnplacedSpec(service swarm.Service, t swarm.Task) bool {
	service.Spec.TaskTemplate.Placement, t.Spec.Placement = nil, nil
	return isOfSpec(service, t)
}
