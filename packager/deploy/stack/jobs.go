package stack

import (
	"context"
	"reflect"
	"slices"

	"github.com/docker/docker/api/types/swarm"

	"github.com/toskose/toskose/packager"
)

// A container that is there for one Task is tried again by whoever runs it, as often as
// its manifest says: its failures are not counted here, and it has failed when nobody
// begins another attempt. It is up when it runs, and when it has ended with 0.

func isJobService(s swarm.Service) bool {
	spec := s.Spec.TaskTemplate.ContainerSpec
	return spec != nil && packager.IsJob(spec.Labels)
}

// addJob takes the tasks of a job's service into account, the oldest first. Those of
// another specification say nothing of what is deployed.
func (f *failure) addJob(service swarm.Service, tasks []swarm.Task) {
	f.Job, f.Why = true, "has not begun"
	for _, t := range tasks {
		if t.ServiceID == service.ID && isOfSpec(service, t) {
			f.add(t, false)
			// The swarm makes another task as soon as it wants this one no longer.
			f.Final = ended(t) && t.DesiredState == swarm.TaskStateShutdown
		}
	}
	f.Times = 0
}

// isOfSpec reports whether a task is of what its service is now.
func isOfSpec(service swarm.Service, t swarm.Task) bool {
	t.Spec.Runtime = service.Spec.TaskTemplate.Runtime // the engine does not say it of tasks
	return reflect.DeepEqual(t.Spec, service.Spec.TaskTemplate)
}

// failedJobs returns what the services of jobs are that have failed, by their ids.
func failedJobs(services []swarm.Service, tasks []swarm.Task) map[string]swarm.TaskSpec {
	failed := map[string]swarm.TaskSpec{}
	slices.SortFunc(tasks, func(a, b swarm.Task) int { return a.CreatedAt.Compare(b.CreatedAt) })
	for _, service := range services {
		var f failure
		if isJobService(service) {
			f.addJob(service, tasks)
		}
		if f.Final {
			failed[service.ID] = service.Spec.TaskTemplate
		}
	}
	return failed
}

// retryJobs has jobs run again that had failed before, where nothing of them was changed:
// to a swarm, what it has given up is as it should be.
func (s *Stack) retryJobs(ctx context.Context, failed map[string]swarm.TaskSpec) error {
	if len(failed) == 0 {
		return nil
	}
	services, _, err := s.look(ctx)
	if err != nil {
		return err
	}
	for _, service := range services {
		if before, ok := failed[service.ID]; ok && reflect.DeepEqual(before, service.Spec.TaskTemplate) {
			if err := s.restart(ctx, service.ID); err != nil {
				return err
			}
		}
	}
	return nil
}
