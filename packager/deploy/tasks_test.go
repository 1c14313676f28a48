package deploy

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/swarm"
	"github.com/google/go-cmp/cmp"
)

func TestWhatASwarmSaysOfAService(t *testing.T) {
	t.Parallel()
	synctest.Test(t, testWhatASwarmSaysOfAService) // in no time
}

func testWhatASwarmSaysOfAService(t *testing.T) {
	t.Helper()
	past := swarm.Task{ID: "past", ServiceID: "1", Status: swarm.TaskStatus{State: swarm.TaskStateFailed, Err: "exit (1)"}}
	failed := swarm.Task{ID: "failed", ServiceID: "1", Status: swarm.TaskStatus{State: swarm.TaskStateFailed, Err: "exit (2)"}}
	rejected := swarm.Task{ID: "rejected", ServiceID: "1", Status: swarm.TaskStatus{State: swarm.TaskStateRejected, Err: "no such image"}}
	pending := swarm.Task{
		ID: "pending", ServiceID: "1", DesiredState: swarm.TaskStateRunning, Status: swarm.TaskStatus{State: swarm.TaskStatePending, Err: "no node fits"},
	}
	now := swarm.Task{ID: "now", ServiceID: "1", Status: swarm.TaskStatus{State: swarm.TaskStateRunning, Timestamp: time.Now().Add(-time.Millisecond)}}
	young := swarm.Task{ID: "young", ServiceID: "1", Status: swarm.TaskStatus{State: swarm.TaskStateRunning, Timestamp: time.Now().Add(time.Hour)}}
	old := swarm.Task{ID: "old", ServiceID: "1", Status: swarm.TaskStatus{State: swarm.TaskStateRunning, Timestamp: time.Unix(0, 0)}}
	other := swarm.Task{ID: "other", ServiceID: "2", Status: failed.Status}
	update := func(state swarm.UpdateState) *swarm.UpdateStatus {
		return &swarm.UpdateStatus{State: state, Message: "as the swarm puts it"}
	}
	stopped := swarm.Task{ID: "stopped", ServiceID: "1", Status: swarm.TaskStatus{State: swarm.TaskStateComplete}} // by an update
	complete := swarm.Task{ID: "complete", ServiceID: "1", Status: swarm.TaskStatus{State: swarm.TaskStateComplete}}
	for name, c := range map[string]struct {
		tasks  []swarm.Task
		policy swarm.RestartPolicyCondition
		check  *container.HealthConfig
		update *swarm.UpdateStatus
		want   []failure
	}{
		"runs":                         {tasks: []swarm.Task{young}},
		"runs since a moment ago":      {tasks: []swarm.Task{now}, want: []failure{{service: "web", why: "has only just started", young: true}}},
		"passed its health check":      {tasks: []swarm.Task{now}, check: &container.HealthConfig{}},
		"ran badly before":             {tasks: []swarm.Task{past, past, past, young}},
		"another service failed":       {tasks: []swarm.Task{young, other}},
		"failed":                       {tasks: []swarm.Task{failed}, want: []failure{{service: "web", why: "failed: exit (2)", times: 1, task: "failed"}}},
		"failed, and again":            {tasks: []swarm.Task{failed, rejected}, want: []failure{{service: "web", why: "rejected: no such image", times: 2, task: "rejected"}}},
		"failed, and runs just now":    {tasks: []swarm.Task{failed, young}, want: []failure{{service: "web", why: "failed: exit (2)", times: 1, task: "failed"}}},
		"failed, and runs by now":      {tasks: []swarm.Task{failed, old}},
		"has done its work":            {tasks: []swarm.Task{complete}, policy: swarm.RestartPolicyConditionOnFailure},
		"ends, and is not to end":      {tasks: []swarm.Task{complete, complete}, want: []failure{{service: "web", why: endless, times: 2, task: "complete"}}},
		"finds no node":                {tasks: []swarm.Task{pending}, want: []failure{{service: "web", why: "pending: no node fits"}}},
		"was updated":                  {tasks: []swarm.Task{young}, update: update(swarm.UpdateStateCompleted)},
		"is being updated":             {tasks: []swarm.Task{young}, update: update(swarm.UpdateStateUpdating), want: []failure{{service: "web", why: "is being updated"}}},
		"failed, and has gone back":    {tasks: []swarm.Task{failed, old}, update: update(swarm.UpdateStateRollbackCompleted), want: []failure{{service: "web", why: "as the swarm puts it", times: 1, task: "failed", final: true}}},
		"is updated to what fails":     {tasks: []swarm.Task{failed}, update: update(swarm.UpdateStateUpdating), want: []failure{{service: "web", why: "failed: exit (2)", times: 1, task: "failed"}}},
		"goes back":                    {tasks: []swarm.Task{young}, update: update(swarm.UpdateStateRollbackStarted), want: []failure{{service: "web", why: "is being updated"}}},
		"has gone back":                {tasks: []swarm.Task{old}, update: update(swarm.UpdateStateRollbackCompleted), want: []failure{{service: "web", why: "as the swarm puts it", final: true}}},
		"the update failed and paused": {tasks: []swarm.Task{failed}, update: update(swarm.UpdateStatePaused), want: []failure{{service: "web", why: "failed: exit (2); as the swarm puts it", times: 1, task: "failed", final: true}}},
	} {
		service := swarm.Service{ID: "1", UpdateStatus: c.update, Spec: swarm.ServiceSpec{Annotations: swarm.Annotations{Name: "shop_web"}}}
		service.Spec.TaskTemplate.ContainerSpec = &swarm.ContainerSpec{Healthcheck: c.check}
		service.Spec.TaskTemplate.RestartPolicy = &swarm.RestartPolicy{Condition: c.policy}
		for i := range c.tasks {
			c.tasks[i].Spec = service.Spec.TaskTemplate
		}
		c.tasks = append([]swarm.Task{stopped}, c.tasks...)
		s := &stack{d: &deployer{}, past: map[string]bool{"past": true}}
		s.d.info.App = "shop"
		if diff := cmp.Diff(c.want, s.failed([]swarm.Service{service}, c.tasks), cmp.AllowUnexported(failure{})); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
