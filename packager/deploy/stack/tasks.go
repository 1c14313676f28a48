package stack

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/docker/docker/api/types/swarm"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/deploy/backend"
	"github.com/toskose/toskose/packager/deploy/engine"
)

// list returns the stack's services and their tasks, including tasks that have exited.
func (s *Stack) list(ctx context.Context) ([]swarm.Service, []swarm.Task, error) {
	services, err := s.Docker.ServiceList(ctx, swarm.ServiceListOptions{Filters: s.mine()})
	if err != nil {
		return nil, nil, fmt.Errorf("cannot list services: %w", err)
	}
	tasks, err := s.Docker.TaskList(ctx, swarm.TaskListOptions{Filters: s.mine()})
	if err != nil {
		return nil, nil, fmt.Errorf("cannot list tasks: %w", err)
	}
	return services, tasks, nil
}

// names maps service IDs to the services' names in the application.
func (s *Stack) names(services []swarm.Service) map[string]string {
	names := map[string]string{}
	for _, service := range services {
		names[service.ID] = strings.TrimPrefix(service.Spec.Name, s.Info.App+"_")
	}
	return names
}

// Existing looks for the application, and records its tasks that have already exited: the swarm keeps the last tasks of each
// service.
func (s *Stack) Existing(ctx context.Context) (backend.Existing, error) {
	_, tasks, err := s.list(ctx)
	if err != nil {
		return backend.Existing{}, err
	}
	s.past = map[string]bool{}
	elsewhere := false
	for _, t := range tasks {
		if ended(t) || t.Status.State == swarm.TaskStateComplete {
			s.past[t.ID] = true
		}
		elsewhere = elsewhere || t.Status.State == swarm.TaskStateRunning && t.DesiredState == swarm.TaskStateRunning
	}
	existing, err := s.Engine.Existing(ctx, s.label)
	existing.Running = existing.Running || elsewhere // the engine lists only its own containers
	return existing, err
}

func ended(t swarm.Task) bool {
	return t.Status.State == swarm.TaskStateFailed || t.Status.State == swarm.TaskStateRejected
}

// Failures returns the services that have failed or are not ready.
func (s *Stack) Failures(ctx context.Context) ([]backend.Failure, error) {
	services, tasks, err := s.list(ctx)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(tasks, func(a, b swarm.Task) int { return a.CreatedAt.Compare(b.CreatedAt) })
	return s.failed(services, tasks), nil
}

// failure derives the failure of a service from its tasks.
type failure struct{ backend.Failure }

// failed returns the failure of each service that has one. The tasks are sorted by creation time.
func (s *Stack) failed(services []swarm.Service, tasks []swarm.Task) []backend.Failure {
	names := s.names(services)
	var out []backend.Failure
	for _, service := range services {
		f := failure{backend.Failure{Service: names[service.ID]}}
		if isJobService(service) {
			f.addJob(service, tasks)
		} else {
			f.addAll(service, tasks, s.past)
		}
		f.update(service.UpdateStatus)
		if f.Why == "" && !isUpdated(service, tasks) {
			f.Why = "is being updated"
		}
		if f.Why == "" && slices.ContainsFunc(tasks, func(t swarm.Task) bool { return t.ServiceID == service.ID && justStarted(service, t) }) {
			f.Why, f.Young = "has only just started", true
		}
		if f.Why != "" {
			out = append(out, f.Failure)
		}
	}
	return out
}

// addAll adds the tasks of a service that were created by this deployment.
func (f *failure) addAll(service swarm.Service, tasks []swarm.Task, past map[string]bool) {
	for _, t := range tasks {
		if t.ServiceID == service.ID && !past[t.ID] {
			f.add(t, isRestarted(service) && isOfSpec(service, t)) // a task stopped by an update may exit with 0
		}
	}
}

// isRestarted reports whether the swarm restarts a container of the service that exited with 0.
func isRestarted(service swarm.Service) bool {
	policy := service.Spec.TaskTemplate.RestartPolicy
	return policy == nil || policy.Condition == "" || policy.Condition == swarm.RestartPolicyConditionAny
}

// justStarted reports whether a task was started so recently that it may still exit. A swarm reports a task with a health check
// as running only after the check has passed. A job's health check proves nothing about its outcome.
func justStarted(service swarm.Service, t swarm.Task) bool {
	spec := service.Spec.TaskTemplate.ContainerSpec
	return (spec == nil || spec.Healthcheck == nil || packager.IsJob(spec.Labels)) && t.Status.State == swarm.TaskStateRunning && backend.IsYoung(t.Status.Timestamp)
}

// add adds a task of the service.
func (f *failure) add(t swarm.Task, restarted bool) {
	switch {
	case t.Status.State == swarm.TaskStateComplete && restarted:
		f.Times++
		f.Task = t.ID
		f.Why = engine.EndlessRestarts
	case ended(t):
		f.Times++
		f.Task = t.ID
		f.Why = fmt.Sprintf("%s: %s", t.Status.State, t.Status.Err)
	case t.Status.State == swarm.TaskStateComplete: // it has finished its work
		f.Why = ""
	case t.Status.State == swarm.TaskStateRunning && (f.Times == 0 || time.Since(t.Status.Timestamp) > backend.Settled):
		f.Why = ""
	case t.DesiredState == swarm.TaskStateRunning && t.Status.Err != "":
		f.Why = fmt.Sprintf("%s: %s", t.Status.State, t.Status.Err)
	}
}

// update adds the state of the service's update: in progress or failed.
func (f *failure) update(status *swarm.UpdateStatus) {
	if status == nil {
		return
	}
	switch status.State {
	case swarm.UpdateStateCompleted:
	case swarm.UpdateStateUpdating, swarm.UpdateStateRollbackStarted:
		if f.Why == "" {
			f.Why = "is being updated"
		}
	case swarm.UpdateStatePaused, swarm.UpdateStateRollbackPaused, swarm.UpdateStateRollbackCompleted:
		f.Why = strings.TrimPrefix(f.Why+"; "+status.Message, "; ")
		f.Final = true
	}
}
