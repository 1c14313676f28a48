package deploy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/pkg/stdcopy"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/compose"
	"github.com/toskose/toskose/packager/release"
)

// The labels of Compose and Swarm.
const (
	projectLabel        = "com.docker.compose.project"
	projectServiceLabel = "com.docker.compose.service"
	stackLabel          = "com.docker.stack.namespace"
	serviceLabel        = "com.docker.swarm.service.name"
)

// project runs the application on one engine, by Compose.
type project struct {
	d     *deployer
	label string // selects its containers

	past, now containers // before it was brought up, and then
}

func onProject(d *deployer) target {
	p := &project{d: d, label: projectLabel + "=" + d.info.App}
	return target{
		runner: p, releases: p.releases, secrets: p.secrets, note: p.note, settled: p.tidy, publish: p.publish, renewed: p.renewed, name: "on one engine, by Compose", check: p.check, removeVolumes: d.removeVolumes, removeDocuments: d.removeDocuments,
		host:   func(context.Context) (string, error) { return p.host(), nil },
		before: func(ctx context.Context) (earlier, error) { return d.engineBefore(ctx, p.label) },
	}
}

// host is where the manager's port is published.
func (p *project) host() string {
	if at := p.d.info.Manager.Host(); at != packager.LocalName {
		return p.d.published(at)
	}
	return p.d.published(p.d.engineHost())
}

// compose returns a command line of whichever Compose is installed, with files beside the
// folder's.
func (p *project) compose(ctx context.Context, files []string, args ...string) ([]string, error) {
	words := []string{"docker", "compose"}
	if !p.d.succeeds(ctx, "docker", "compose", "version") {
		words = []string{"docker-compose"}
		if _, err := exec.LookPath(words[0]); err != nil { // it takes a second to say its version
			return nil, errors.New("neither `docker compose` nor `docker-compose` is installed; install one of them")
		}
	}
	words = append(words, "-p", p.d.info.App)
	if p.d.info.Manager.Bind == "" { // an earlier version wrote only what differs into the second file
		words = append(words, "-f", p.d.file(compose.SwarmFile))
	}
	words = append(words, "-f", p.d.file(compose.LocalFile))
	return slices.Concat(words, files, args), nil
}

func (p *project) up(ctx context.Context, log release.Log) (err error) {
	if p.past, err = p.list(ctx); err != nil {
		return fmt.Errorf("%w; %w", err, errUntouched)
	}
	if err := p.note(log); err != nil {
		_ = p.note(p.d.log) // where it could be written
		return fmt.Errorf("%w; %w", err, errUntouched)
	}
	words, err := p.bringing(ctx)
	if err != nil {
		return fmt.Errorf("%w; %w", errors.Join(err, p.note(p.d.log)), errUntouched)
	}
	if err := p.d.command(ctx, words...); err != nil {
		return err
	}
	p.now, err = p.list(ctx)
	return err
}

// bringing is the command that brings it up.
func (p *project) bringing(ctx context.Context) ([]string, error) {
	files, err := p.mounts(ctx)
	if err != nil {
		return nil, err
	}
	return p.compose(ctx, files, "up", "-d", "--no-build", "--remove-orphans")
}

func (p *project) list(ctx context.Context) (containers, error) {
	list, err := p.d.containers(ctx, p.label)
	return byID(list), err
}

func (p *project) down(ctx context.Context) error {
	list, err := p.d.containers(ctx, p.label)
	if err != nil {
		return err
	}
	p.d.unnamed = append(p.d.unnamed, unnamedOf(list)...)
	if err := p.remove(ctx, list); err != nil {
		return err
	}
	if secrets, ok := p.mounted(); ok {
		return secrets.Remove()
	}
	return nil
}

func (p *project) remove(ctx context.Context, list []container.Summary) error {
	if p.d.opts.Name != "" {
		return p.d.removeProject(ctx, list, p.label)
	}
	words, err := p.compose(ctx, nil, "down", "--remove-orphans")
	if err != nil {
		return err
	}
	return p.d.command(ctx, words...)
}

func (p *project) failures(ctx context.Context) ([]failure, error) {
	list, err := p.d.containers(ctx, p.label)
	if err != nil {
		return nil, err
	}
	out := p.lost(byID(list))
	for _, c := range list {
		info, err := p.d.engine.ContainerInspect(ctx, c.ID)
		if err != nil || info.State == nil {
			continue
		}
		f := failureOf(info.State, info.RestartCount)
		if packager.IsJob(c.Labels) {
			f = f.asJob(info.State)
		}
		if f.why != "" {
			f.service = c.Labels[projectServiceLabel]
			out = append(out, f)
		}
	}
	return out, nil
}

// endless is what is wrong with a container that ends without an error where that is not
// to be.
const endless = "ends, and is started again and again; what is to end wants another restart_policy.condition in toskose.yml"

// failureOf says what is wrong with a container.
func failureOf(state *container.State, restarts int) failure {
	f := failure{times: restarts}
	started, _ := time.Parse(time.RFC3339Nano, state.StartedAt) // the engine's own format
	switch ended := state.Status; {
	case ended == container.StateRestarting && state.ExitCode == 0 && state.Error == "":
		f.why = endless
	case ended == container.StateRestarting || ended == container.StateExited || ended == container.StateDead:
		if state.ExitCode != 0 || state.Error != "" { // otherwise it has done its work
			f.why = fmt.Sprintf("%s with code %d", ended, state.ExitCode)
		}
	case restarts > 0 && time.Since(started) < settled:
		f.why = fmt.Sprintf("restarted %d times", restarts)
	case state.Error != "":
		f.why = state.Error
	case state.Health != nil && state.Health.Status == container.Unhealthy:
		f.why = "unhealthy"
	case (state.Health == nil || state.Health.Status == container.NoHealthcheck) && isYoung(started):
		f.why, f.young = "has only just started", true
	}
	return f
}

func (p *project) logs(ctx context.Context, f failure) (string, error) {
	list, err := p.d.containers(ctx, p.label)
	if err != nil {
		return "", err
	}
	for _, c := range list {
		if c.Labels[projectServiceLabel] != f.service {
			continue
		}
		r, err := p.d.engine.ContainerLogs(ctx, c.ID, container.LogsOptions{ShowStdout: true, ShowStderr: true, Tail: "60"})
		if err != nil {
			return "", err
		}
		return readLog(r)
	}
	return "", nil
}

// readLog reads a log of the engine's to its end.
func readLog(r io.ReadCloser) (string, error) {
	defer r.Close()
	var out strings.Builder
	_, err := stdcopy.StdCopy(&out, &out, r)
	return out.String(), err
}

// engineHost is the machine of the engine, as it is reached from here.
func (d *deployer) engineHost() string {
	u, err := url.Parse(d.engine.DaemonHost())
	if err != nil || u.Scheme == "unix" || u.Scheme == "npipe" || u.Hostname() == "" {
		return "127.0.0.1"
	}
	return u.Hostname()
}

// containers returns those of the application, ended ones too.
func (d *deployer) containers(ctx context.Context, label string) ([]container.Summary, error) {
	list, err := d.engine.ContainerList(ctx, container.ListOptions{All: true, Filters: filters.NewArgs(filters.Arg("label", label))})
	if err != nil {
		return nil, fmt.Errorf("cannot list containers: %w", err)
	}
	return list, nil
}
