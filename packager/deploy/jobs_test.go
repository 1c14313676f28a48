package deploy

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/swarm"
	"github.com/google/go-cmp/cmp"

	"github.com/toskose/toskose/packager"
)

func TestWhatAnEngineSaysOfAJob(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		long := time.Now().Add(-time.Hour).Format(time.RFC3339Nano)
		now := time.Now().Add(-time.Millisecond).Format(time.RFC3339Nano)
		for name, c := range map[string]struct {
			state    container.State
			restarts int
			want     failure
		}{
			"runs":                         {state: container.State{Status: "running", StartedAt: long}, want: failure{job: true}},
			"has completed":                {state: container.State{Status: "exited", StartedAt: now}, want: failure{job: true}},
			"has completed after failures": {state: container.State{Status: "exited", StartedAt: now}, restarts: 5, want: failure{job: true}},
			"is tried again, as it may be": {state: container.State{Status: "restarting", StartedAt: now, ExitCode: 7}, restarts: 5, want: failure{job: true, why: "restarting with code 7"}},
			"runs after failures":          {state: container.State{Status: "running", StartedAt: now}, restarts: 5, want: failure{job: true, why: "restarted 5 times"}},
			"has failed for good":          {state: container.State{Status: "exited", StartedAt: now, ExitCode: 7}, restarts: 5, want: failure{job: true, why: "exited with code 7", final: true}},
			"has failed, and has one try":  {state: container.State{Status: "exited", StartedAt: now, ExitCode: 7}, want: failure{job: true, why: "exited with code 7", final: true}},
			"cannot even start, so far":    {state: container.State{Status: "created", StartedAt: "0001-01-01T00:00:00Z", Error: "no such file"}, want: failure{job: true, why: "no such file"}},
			"is healthy, and has just begun": {
				state: container.State{Status: "running", StartedAt: now, Health: &container.Health{Status: "healthy"}}, want: failure{job: true, why: "has only just started", young: true},
			},
			"has only just begun":           {state: container.State{Status: "running", StartedAt: now}, want: failure{job: true, why: "has only just started", young: true}},
			"was ended with the machine":    {state: container.State{Status: "dead", StartedAt: long, ExitCode: 137}, want: failure{job: true, why: "dead with code 137", final: true}},
			"runs long after it had failed": {state: container.State{Status: "running", StartedAt: long}, restarts: 2, want: failure{job: true}},
		} {
			got := failureOf(&c.state, c.restarts).asJob(&c.state)
			if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(failure{})); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		}
	})
}

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
			want  []failure
		}{
			"has no task yet":              {want: []failure{{job: true, why: "has not begun"}}},
			"was completed as it was":      {tasks: []swarm.Task{task("old", 1, swarm.TaskStateComplete, shutdown, "")}, want: []failure{{job: true, why: "has not begun"}}},
			"failed as it was":             {tasks: []swarm.Task{task("old", 1, swarm.TaskStateFailed, shutdown, "exit (1)")}, want: []failure{{job: true, why: "has not begun"}}},
			"is made":                      {tasks: []swarm.Task{task("new", 2, swarm.TaskStatePreparing, run, "")}, want: []failure{{job: true, why: "has not begun"}}},
			"finds no node":                {tasks: []swarm.Task{task("new", 2, swarm.TaskStatePending, run, "no node fits")}, want: []failure{{job: true, why: "pending: no node fits"}}},
			"has only just begun":          {tasks: []swarm.Task{task("new", 2, run, run, "")}, want: []failure{{job: true, why: "has only just started", young: true}}},
			"is completed":                 {tasks: []swarm.Task{task("new", 2, swarm.TaskStateComplete, shutdown, "")}},
			"is completed after a failure": {tasks: []swarm.Task{failed, failed, failed, failed, task("new", 2, swarm.TaskStateComplete, shutdown, "")}},
			"is about to be tried again": {
				tasks: []swarm.Task{failed, failed, failed, failed, task("new", 2, swarm.TaskStateReady, swarm.TaskStateReady, "")},
				want:  []failure{{job: true, why: "failed: exit (1)", task: "failed"}},
			},
			"has failed, and the swarm has not seen it": {
				tasks: []swarm.Task{task("last", 2, swarm.TaskStateFailed, run, "exit (1)")},
				want:  []failure{{job: true, why: "failed: exit (1)", task: "last"}},
			},
			"runs after failures": {
				tasks: []swarm.Task{failed, task("new", 2, run, run, "")},
				want:  []failure{{job: true, why: "failed: exit (1)", task: "failed"}},
			},
			"has failed for good": {
				tasks: []swarm.Task{failed, task("last", 2, swarm.TaskStateFailed, shutdown, "exit (7)")},
				want:  []failure{{job: true, why: "failed: exit (7)", task: "last", final: true}},
			},
		} {
			s := &stack{d: &deployer{}, past: map[string]bool{"old": true}}
			s.d.info.App = "shop"
			for i := range c.want {
				c.want[i].service = "migrate"
			}
			service := jobService(2)
			got := s.failed([]swarm.Service{service}, c.tasks)
			if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(failure{})); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
			final := len(got) > 0 && got[0].final
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

func TestOfAFailedJobIsShownWhatItsScriptsSaid(t *testing.T) {
	t.Parallel()
	const log = `time=2026-11-23T18:15:58.825Z level=INFO msg=process component=import operation=run state=STARTING
the import is of no use
time=2026-11-23T18:15:58.830Z level=WARN msg="exited: run (exit status 3; not expected)" component=import operation=run state=EXITED
time=2026-11-23T18:15:58.833Z level=INFO msg="shutting down" state=SHUTDOWN
time=2026-11-23T18:15:58.834Z level=INFO msg=ended because="index 1 of import:Task.run is failed, so the unit ends with 3"
time=2026-11-23T18:16:00.561Z level=DEBUG msg=`
	const want = `the import is of no use
time=2026-11-23T18:15:58.830Z level=WARN msg="exited: run (exit status 3; not expected)" component=import operation=run state=EXITED
time=2026-11-23T18:15:58.834Z level=INFO msg=ended because="index 1 of import:Task.run is failed, so the unit ends with 3"
`
	if diff := cmp.Diff(want, saidByJob(log)); diff != "" {
		t.Error(diff)
	}
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
