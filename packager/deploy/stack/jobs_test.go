package stack

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/swarm"
	"github.com/google/go-cmp/cmp"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/deploy/backend"
)

// jobService is a swarm's service for a job, as it is after so many forced updates.
func jobService(forced uint64) swarm.Service {
	s := swarm.Service{ID: "1", Spec: swarm.ServiceSpec{Annotations: swarm.Annotations{Name: "shop_migrate"}}}
	s.Spec.TaskTemplate.ContainerSpec = &swarm.ContainerSpec{Healthcheck: &container.HealthConfig{}, Labels: map[string]string{packager.LabelJob: "migrate"}}
	s.Spec.TaskTemplate.ForceUpdate, s.Spec.TaskTemplate.Runtime = forced, swarm.RuntimeContainer
	return s
}

func TestWhatASwarmSaysOfAJob(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		at := 0
		task := func(id string, forced uint64, state, desired swarm.TaskState, err string) swarm.Task {
			at++
			spec := jobService(forced).Spec.TaskTemplate
			spec.Runtime = "" // as engines have it
			return swarm.Task{
				ID: id, ServiceID: "1", Spec: spec, DesiredState: desired, Meta: swarm.Meta{CreatedAt: time.Unix(int64(at), 0)},
				Status: swarm.TaskStatus{State: state, Err: err, Timestamp: time.Now().Add(-time.Millisecond)},
			}
		}
		const shutdown, run = swarm.TaskStateShutdown, swarm.TaskStateRunning
		failed := task("failed", 2, swarm.TaskStateFailed, shutdown, "exit (1)")
		for name, c := range map[string]struct {
			tasks []swarm.Task
			want  []backend.Failure
		}{
			"has no task yet":              {want: []backend.Failure{{Job: true, Why: "has not begun"}}},
			"was completed as it was":      {tasks: []swarm.Task{task("old", 1, swarm.TaskStateComplete, shutdown, "")}, want: []backend.Failure{{Job: true, Why: "has not begun"}}},
			"failed as it was":             {tasks: []swarm.Task{task("old", 1, swarm.TaskStateFailed, shutdown, "exit (1)")}, want: []backend.Failure{{Job: true, Why: "has not begun"}}},
			"is made":                      {tasks: []swarm.Task{task("new", 2, swarm.TaskStatePreparing, run, "")}, want: []backend.Failure{{Job: true, Why: "has not begun"}}},
			"finds no node":                {tasks: []swarm.Task{task("new", 2, swarm.TaskStatePending, run, "no node fits")}, want: []backend.Failure{{Job: true, Why: "pending: no node fits"}}},
			"has only just begun":          {tasks: []swarm.Task{task("new", 2, run, run, "")}, want: []backend.Failure{{Job: true, Why: "has only just started", Young: true}}},
			"is completed":                 {tasks: []swarm.Task{task("new", 2, swarm.TaskStateComplete, shutdown, "")}},
			"is completed after a failure": {tasks: []swarm.Task{failed, failed, failed, failed, task("new", 2, swarm.TaskStateComplete, shutdown, "")}},
			"is about to be tried again": {
				tasks: []swarm.Task{failed, failed, failed, failed, task("new", 2, swarm.TaskStateReady, swarm.TaskStateReady, "")},
				want:  []backend.Failure{{Job: true, Why: "failed: exit (1)", Task: "failed"}},
			},
			"has failed, and the swarm has not seen it": {
				tasks: []swarm.Task{task("last", 2, swarm.TaskStateFailed, run, "exit (1)")},
				want:  []backend.Failure{{Job: true, Why: "failed: exit (1)", Task: "last"}},
			},
			"runs after failures": {
				tasks: []swarm.Task{failed, task("new", 2, run, run, "")},
				want:  []backend.Failure{{Job: true, Why: "failed: exit (1)", Task: "failed"}},
			},
			"has failed for good": {
				tasks: []swarm.Task{failed, task("last", 2, swarm.TaskStateFailed, shutdown, "exit (7)")},
				want:  []backend.Failure{{Job: true, Why: "failed: exit (7)", Task: "last", Final: true}},
			},
		} {
			s := shop(nil)
			s.past = map[string]bool{"old": true}
			for i := range c.want {
				c.want[i].Service = "migrate"
			}
			service := jobService(2)
			got := s.failed([]swarm.Service{service}, c.tasks)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
			final := len(got) > 0 && got[0].Final
			if retried := failedJobs([]swarm.Service{service}, c.tasks); (len(retried) == 1) != final {
				t.Errorf("%s: what is run again by another deployment is %v", name, retried)
			}
		}
		other := jobService(2)
		other.Spec.TaskTemplate.ContainerSpec.Labels = nil
		if retried := failedJobs([]swarm.Service{other}, []swarm.Task{failed}); len(retried) > 0 {
			t.Errorf("what is no job is run again: %v", retried)
		}
	})
}

func TestTheLinesOfATaskAreInTheirOrder(t *testing.T) {
	t.Parallel()
	const swarms = "2026-11-23T17:26:11.418123456Z out 1\n2026-11-23T17:26:11.420000000Z out 2\n2026-11-23T17:26:11.418000000Z err 1\n" +
		"2026-11-23T17:26:11.419000000Z err 2\n2026-11-23T17:26:11.419000000Z \n2026-11-23T17:26:11.500000000Z err 3\n"
	if got, want := inOrder(swarms), "err 1\nout 1\nerr 2\n\nout 2\nerr 3\n"; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if got := inOrder(""); got != "" {
		t.Errorf("of nothing comes %q", got)
	}
}
