package stack

import (
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/swarm"
	"github.com/docker/docker/client"
	"github.com/google/go-cmp/cmp"

	"github.com/toskose/toskose/packager/deploy/backend"
	"github.com/toskose/toskose/packager/deploy/engine"
	"github.com/toskose/toskose/packager/output"
)

// shop is the application "shop" in the swarm of an engine.
func shop(docker *client.Client) *Stack {
	return Of(&engine.Engine{Application: &backend.Application{Info: output.Info{App: "shop"}, Progress: io.Discard}, Docker: docker})
}

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
		want   []backend.Failure
	}{
		"runs":                         {tasks: []swarm.Task{young}},
		"runs since a moment ago":      {tasks: []swarm.Task{now}, want: []backend.Failure{{Service: "web", Why: "has only just started", Young: true}}},
		"passed its health check":      {tasks: []swarm.Task{now}, check: &container.HealthConfig{}},
		"ran badly before":             {tasks: []swarm.Task{past, past, past, young}},
		"another service failed":       {tasks: []swarm.Task{young, other}},
		"failed":                       {tasks: []swarm.Task{failed}, want: []backend.Failure{{Service: "web", Why: "failed: exit (2)", Times: 1, Task: "failed"}}},
		"failed, and again":            {tasks: []swarm.Task{failed, rejected}, want: []backend.Failure{{Service: "web", Why: "rejected: no such image", Times: 2, Task: "rejected"}}},
		"failed, and runs just now":    {tasks: []swarm.Task{failed, young}, want: []backend.Failure{{Service: "web", Why: "failed: exit (2)", Times: 1, Task: "failed"}}},
		"failed, and runs by now":      {tasks: []swarm.Task{failed, old}},
		"has done its work":            {tasks: []swarm.Task{complete}, policy: swarm.RestartPolicyConditionOnFailure},
		"ends, and is not to end":      {tasks: []swarm.Task{complete, complete}, want: []backend.Failure{{Service: "web", Why: engine.EndlessRestarts, Times: 2, Task: "complete"}}},
		"finds no node":                {tasks: []swarm.Task{pending}, want: []backend.Failure{{Service: "web", Why: "pending: no node fits"}}},
		"was updated":                  {tasks: []swarm.Task{young}, update: update(swarm.UpdateStateCompleted)},
		"is being updated":             {tasks: []swarm.Task{young}, update: update(swarm.UpdateStateUpdating), want: []backend.Failure{{Service: "web", Why: "is being updated"}}},
		"failed, and has gone back":    {tasks: []swarm.Task{failed, old}, update: update(swarm.UpdateStateRollbackCompleted), want: []backend.Failure{{Service: "web", Why: "as the swarm puts it", Times: 1, Task: "failed", Final: true}}},
		"is updated to what fails":     {tasks: []swarm.Task{failed}, update: update(swarm.UpdateStateUpdating), want: []backend.Failure{{Service: "web", Why: "failed: exit (2)", Times: 1, Task: "failed"}}},
		"goes back":                    {tasks: []swarm.Task{young}, update: update(swarm.UpdateStateRollbackStarted), want: []backend.Failure{{Service: "web", Why: "is being updated"}}},
		"has gone back":                {tasks: []swarm.Task{old}, update: update(swarm.UpdateStateRollbackCompleted), want: []backend.Failure{{Service: "web", Why: "as the swarm puts it", Final: true}}},
		"the update failed and paused": {tasks: []swarm.Task{failed}, update: update(swarm.UpdateStatePaused), want: []backend.Failure{{Service: "web", Why: "failed: exit (2); as the swarm puts it", Times: 1, Task: "failed", Final: true}}},
	} {
		service := swarm.Service{ID: "1", UpdateStatus: c.update, Spec: swarm.ServiceSpec{Annotations: swarm.Annotations{Name: "shop_web"}}}
		service.Spec.TaskTemplate.ContainerSpec = &swarm.ContainerSpec{Healthcheck: c.check}
		service.Spec.TaskTemplate.RestartPolicy = &swarm.RestartPolicy{Condition: c.policy}
		for i := range c.tasks {
			c.tasks[i].Spec = service.Spec.TaskTemplate
			if c.tasks[i].Status.State == swarm.TaskStateRunning {
				c.tasks[i].DesiredState = swarm.TaskStateRunning
			}
		}
		c.tasks = append([]swarm.Task{stopped}, c.tasks...)
		s := shop(nil)
		s.past = map[string]bool{"past": true}
		if diff := cmp.Diff(c.want, s.failed([]swarm.Service{service}, c.tasks)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
