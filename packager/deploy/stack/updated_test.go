package stack

import (
	"testing"

	"github.com/docker/docker/api/types/swarm"
)

// TestAServiceIsUpdatedWhenItsTasksAre whatever the swarm says of an update.
func TestAServiceIsUpdatedWhenItsTasksAre(t *testing.T) {
	t.Parallel()
	service := mounts("web")
	task := func(image string, state, desired swarm.TaskState) swarm.Task {
		spec := service.Spec.TaskTemplate
		spec.ContainerSpec = &swarm.ContainerSpec{Image: image, Labels: spec.ContainerSpec.Labels}
		return swarm.Task{ServiceID: service.ID, Spec: spec, Status: swarm.TaskStatus{State: state}, DesiredState: desired}
	}
	const running, shutdown = swarm.TaskStateRunning, swarm.TaskStateShutdown
	moved := task("shop:1", running, running)
	moved.Spec.Placement = &swarm.Placement{Constraints: []string{"node.labels.a == b"}}
	two := uint64(2)
	for name, tt := range map[string]struct {
		tasks    []swarm.Task
		replicas *uint64
		want     bool
	}{
		"it runs":                                   {[]swarm.Task{task("shop:1", running, running)}, nil, true},
		"its placement was changed":                 {[]swarm.Task{moved}, nil, true},
		"the one before was stopped":                {[]swarm.Task{task("shop:0", shutdown, shutdown), task("shop:1", running, running)}, nil, true},
		"the swarm has not begun":                   {[]swarm.Task{task("shop:0", running, running)}, nil, false},
		"the one before stops":                      {[]swarm.Task{task("shop:0", running, shutdown), task("shop:1", swarm.TaskStateReady, running)}, nil, false},
		"the one before is stopped after the start": {[]swarm.Task{task("shop:0", running, running), task("shop:1", running, running)}, nil, false},
		"one of two runs":                           {[]swarm.Task{task("shop:1", running, running), task("shop:1", swarm.TaskStateStarting, running)}, &two, false},
		"it has done its work":                      {[]swarm.Task{task("shop:1", swarm.TaskStateComplete, shutdown)}, nil, true},
		"there is no task yet":                      {nil, nil, false},
	} {
		of := service
		of.Spec.Mode.Replicated = &swarm.ReplicatedService{Replicas: tt.replicas}
		if got := isUpdated(of, tt.tasks); got != tt.want {
			t.Errorf("%s: it is updated: %t", name, got)
		}
	}
}
