package stack

import (
	"context"
	"reflect"
	"slices"

	"github.com/docker/docker/api/types/swarm"

	"github.com/toskose/toskose/packager"
)

// isJobService reports whether a service runs a job. The swarm retries a job as often as its manifest says, so its failures
// are not counted: it has failed when the swarm makes no further attempt. It counts as running while it runs and after it
// exited with 0.
func isJobService(s swarm.Service) bool {
	spec := s.Spec.TaskTemplate.ContainerSpec
	return spec != nil && packager.IsJob(spec.Labels)
}

// addJob adds the tasks of a job's service, oldest first. Tasks of an older specification are ignored.
func (f *failure) addJob(service swarm.Service, tasks []swarm.Task) {
	f.Job, f.Why = true, "has not begun"
	for _, t := range tasks {
		if t.ServiceID == service.ID && isOfSpec(service, t) {
			f.add(t, false)
			// The swarm creates the next task as soon as it shuts this one down.
			f.Final = ended(t) && t.DesiredState == swarm.TaskStateShutdown
		}
	}
	f.Times = 0
}

// isOfSpec reports whether a task matches its service's current specification.
func isOfSpec(service swarm.Service, t swarm.Task) bool {
	t.Spec.Runtime = service.Spec.TaskTemplate.Runtime // the engine omits it from tasks
	return reflect.DeepEqual(t.Spec, service.Spec.TaskTemplate)
}

// failedJobs returns the task specifications of the jobs that have failed, by service ID.
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

// retryJobs restarts the given failed jobs if their specification has not changed: the swarm itself considers them complete.
func (s *Stack) retryJobs(ctx context.Context, failed map[string]swarm.TaskSpec) error {
	if len(failed) == 0 {
		return nil
	}
	services, _, err := s.list(ctx)
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
