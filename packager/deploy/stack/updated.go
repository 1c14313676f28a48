package stack

import (
	"github.com/docker/docker/api/types/swarm"
)

// isUpdated reports whether all tasks of a service match its specification and enough of them have started. The update status
// cannot answer this: it is missing until the swarm begins the update, and it is lost, while old containers still stop, if
// another update that changes only labels interrupts it.
func isUpdated(service swarm.Service, tasks []swarm.Task) bool {
	if isJobService(service) {
		return true
	}
	want, started := uint64(1), uint64(0)
	switch mode := service.Spec.Mode; {
	case mode.Replicated != nil && mode.Replicated.Replicas != nil:
		want = *mode.Replicated.Replicas
	case mode.Global != nil:
		want = 0 // one per eligible machine
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

// isUnplacedSpec is like isOfSpec but ignores the placement: a new placement does not move tasks that satisfy it already.
func isUnplacedSpec(service swarm.Service, t swarm.Task) bool {
	service.Spec.TaskTemplate.Placement, t.Spec.Placement = nil, nil
	return isOfSpec(service, t)
}
