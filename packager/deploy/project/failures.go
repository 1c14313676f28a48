package project

import (
	"context"
	"fmt"
	"time"

	"github.com/docker/docker/api/types/container"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/compose"
	"github.com/toskose/toskose/packager/deploy/backend"
	"github.com/toskose/toskose/packager/deploy/engine"
)

// Failures returns the services whose containers failed, are not ready, or were removed.
func (p *Project) Failures(ctx context.Context) ([]backend.Failure, error) {
	list, err := p.Containers(ctx, p.label)
	if err != nil {
		return nil, err
	}
	out := p.lost(byID(list))
	for _, c := range list {
		info, err := p.Docker.ContainerInspect(ctx, c.ID)
		if err != nil || info.State == nil {
			continue
		}
		f := failureOf(info.State, info.RestartCount)
		if packager.IsJob(c.Labels) {
			f = asJob(f, info.State)
		}
		if f.Why != "" {
			f.Service = c.Labels[compose.LabelService]
			out = append(out, f)
		}
	}
	return out, nil
}

// failureOf derives a failure from the state of a container. Why is empty if the container is fine.
func failureOf(state *container.State, restarts int) backend.Failure {
	f := backend.Failure{Times: restarts}
	started, _ := time.Parse(time.RFC3339Nano, state.StartedAt) // the format of the engine
	switch ended := state.Status; {
	case ended == container.StateRestarting && state.ExitCode == 0 && state.Error == "":
		f.Why = engine.EndlessRestarts
	case ended == container.StateRestarting || ended == container.StateExited || ended == container.StateDead:
		if state.ExitCode != 0 || state.Error != "" { // otherwise it has finished its work
			f.Why = fmt.Sprintf("%s with code %d", ended, state.ExitCode)
		}
	case restarts > 0 && time.Since(started) < backend.Settled:
		f.Why = fmt.Sprintf("restarted %d times", restarts)
	case state.Error != "":
		f.Why = state.Error
	case state.Health != nil && state.Health.Status == container.Unhealthy:
		f.Why = "unhealthy"
	case (state.Health == nil || state.Health.Status == container.NoHealthcheck) && backend.IsYoung(started):
		f.Why, f.Young = "has only just started", true
	}
	return f
}

// Logs returns the end of a service's log.
func (p *Project) Logs(ctx context.Context, f backend.Failure) (string, error) {
	list, err := p.Containers(ctx, p.label)
	if err != nil {
		return "", err
	}
	for _, c := range list {
		if of := c.Labels[compose.LabelService]; of != f.Service && (!f.Silent || c.Labels[packager.LabelNode] != f.Service) {
			continue
		}
		r, err := p.Docker.ContainerLogs(ctx, c.ID, container.LogsOptions{ShowStdout: true, ShowStderr: true, Tail: "60"})
		if err != nil {
			return "", err
		}
		return engine.ReadLog(r)
	}
	return "", nil
}

// asJob adjusts the failure of a job's container. Its engine restarts the container as often as the manifest says, so its
// failures are not counted: the job has failed when the container is not restarted. It counts as running while it runs and
// after it exited with 0. A health check of the unit proves nothing about the job's outcome.
func asJob(f backend.Failure, state *container.State) backend.Failure {
	f.Job, f.Times = true, 0
	if started, _ := time.Parse(time.RFC3339Nano, state.StartedAt); f.Why == "" && state.Status == container.StateRunning && backend.IsYoung(started) {
		f.Why, f.Young = "has only just started", true
	}
	f.Final = f.Why != "" && (state.Status == container.StateExited || state.Status == container.StateDead)
	return f
}
