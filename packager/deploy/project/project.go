// Package project runs an application on one engine with Compose. It starts no goroutine that outlives a call.
package project

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"

	"github.com/docker/docker/api/types/container"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/compose"
	"github.com/toskose/toskose/packager/deploy/backend"
	"github.com/toskose/toskose/packager/deploy/engine"
	"github.com/toskose/toskose/packager/lock"
	"github.com/toskose/toskose/packager/release"
	"github.com/toskose/toskose/packager/volumes"
)

// Project is an application on one engine.
type Project struct {
	*engine.Engine
	label string // selects its containers
	root  string // folder from which containers mount the secrets of all applications; empty: their own folders

	now containers // the containers after this deployment
}

// Of returns an engine's application. Its containers mount secrets below the given folder; empty: in their own folder.
func Of(e *engine.Engine, mounted string) *Project {
	return &Project{Engine: e, label: compose.LabelProject + "=" + e.Info.App, root: mounted}
}

// Name describes where the application runs.
func (p *Project) Name() string { return "on one engine, by Compose" }

// Lock returns the lock store of the engine.
func (p *Project) Lock(bool) lock.Store { return lock.OnEngine(p.Docker, p.Info.App) }

// Existing looks for the application on the engine.
func (p *Project) Existing(ctx context.Context) (backend.Existing, error) {
	return p.Engine.Existing(ctx, p.label)
}

// Host returns the published address of the manager.
func (p *Project) Host(context.Context) (string, error) {
	if at := p.Info.Manager.Host(); at != packager.LocalName {
		return p.Published(at), nil
	}
	return p.Published(p.Machine()), nil
}

// compose returns a command line of the installed Compose version, with additional files.
func (p *Project) compose(ctx context.Context, files []string, args ...string) ([]string, error) {
	words := []string{"docker", "compose"}
	if !p.Succeeds(ctx, "docker", "compose", "version") {
		words = []string{"docker-compose"}
		if _, err := exec.LookPath(words[0]); err != nil { // running it to print its version takes a second
			return nil, errors.New("neither `docker compose` nor `docker-compose` is installed; install one of them")
		}
	}
	words = append(words, "-p", p.Info.App)
	if p.Info.Manager.Bind == "" { // the second file of an earlier version contains only the differences
		words = append(words, "-f", p.File(compose.SwarmFile))
	}
	words = append(words, "-f", p.File(compose.LocalFile))
	return slices.Concat(words, files, args), nil
}

// Apply makes Compose replace the containers whose configuration changed. It returns the nodes whose containers were all replaced.
func (p *Project) Apply(ctx context.Context, log release.Log) (renewed map[string]bool, err error) {
	before, err := p.list(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w; %w", err, backend.ErrUntouched)
	}
	if err := p.writeLog(log); err != nil {
		_ = p.writeLog(p.Log) // restores the log in the folders that were already written
		return nil, fmt.Errorf("%w; %w", err, backend.ErrUntouched)
	}
	words, err := p.upCommand(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w; %w", errors.Join(err, p.writeLog(p.Log)), backend.ErrUntouched)
	}
	if err := p.Command(ctx, words...); err != nil {
		return nil, err
	}
	p.now, err = p.list(ctx)
	return renewedNodes(before, p.now), err
}

// upCommand returns the command that starts the project.
func (p *Project) upCommand(ctx context.Context) ([]string, error) {
	files, err := p.mounts(ctx)
	if err != nil {
		return nil, err
	}
	return p.compose(ctx, files, "up", "-d", "--no-build", "--remove-orphans")
}

func (p *Project) list(ctx context.Context) (containers, error) {
	list, err := p.Containers(ctx, p.label)
	return byID(list), err
}

// Down removes the containers and networks, and the copy of the secrets that containers mount. It then replaces the log.
func (p *Project) Down(ctx context.Context, log release.Log) error {
	if err := p.removeAll(ctx); err != nil {
		return err
	}
	return p.writeLog(log)
}

func (p *Project) removeAll(ctx context.Context) error {
	if err := volumes.RemoveLeft(ctx, p.Docker, p.Info.App); err != nil {
		return err
	}
	list, err := p.Containers(ctx, p.label)
	if err != nil {
		return err
	}
	p.RecordUnnamedVolumes(list)
	for _, c := range list {
		p.RecordExternalVolumes(c.Labels)
	}
	if err := errors.Join(p.remove(ctx, list), p.RemoveProbe(ctx)); err != nil {
		return err
	}
	if secrets, ok := p.mounted(); ok {
		return secrets.Remove()
	}
	return nil
}

func (p *Project) remove(ctx context.Context, list []container.Summary) error {
	if p.Named {
		return p.removeWithoutFiles(ctx, list)
	}
	words, err := p.compose(ctx, nil, "down", "--remove-orphans")
	if err != nil {
		return err
	}
	return p.Command(ctx, words...)
}

// RemoteResources returns nothing: the project runs on one engine.
func (p *Project) RemoteResources(context.Context, backend.Removal) ([]string, error) {
	return nil, nil
}
