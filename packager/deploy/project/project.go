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

	past, now containers // containers before and after this deployment
}

var _ interface {
	backend.Backend
	backend.Noter
	backend.Renewer
} = (*Project)(nil)

// Of returns an engine's application. Its containers mount secrets below the given folder; empty: in their own folder.
func Of(e *engine.Engine, mounted string) *Project {
	return &Project{Engine: e, label: compose.LabelProject + "=" + e.Info.App, root: mounted}
}

// Name describes where the application runs.
func (p *Project) Name() string { return "on one engine, by Compose" }

// Lock returns the lock store of the engine.
func (p *Project) Lock(bool) lock.Store { return lock.OnEngine(p.Docker, p.Info.App) }

// Before looks for the application on the engine.
func (p *Project) Before(ctx context.Context) (backend.Earlier, error) {
	return p.Earlier(ctx, p.label)
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

// Up makes Compose replace the containers whose configuration changed.
func (p *Project) Up(ctx context.Context, log release.Log) (err error) {
	if p.past, err = p.list(ctx); err != nil {
		return fmt.Errorf("%w; %w", err, backend.ErrUntouched)
	}
	if err := p.Note(log); err != nil {
		_ = p.Note(p.Log) // restores the log in the folders that were already written
		return fmt.Errorf("%w; %w", err, backend.ErrUntouched)
	}
	words, err := p.bringing(ctx)
	if err != nil {
		return fmt.Errorf("%w; %w", errors.Join(err, p.Note(p.Log)), backend.ErrUntouched)
	}
	if err := p.Command(ctx, words...); err != nil {
		return err
	}
	p.now, err = p.list(ctx)
	return err
}

// bringing returns the command that starts the project.
func (p *Project) bringing(ctx context.Context) ([]string, error) {
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

// Down removes the containers and networks, and the copy of the secrets that containers mount.
func (p *Project) Down(ctx context.Context) error {
	if err := volumes.RemoveLeft(ctx, p.Docker, p.Info.App); err != nil {
		return err
	}
	list, err := p.Containers(ctx, p.label)
	if err != nil {
		return err
	}
	p.TakenDown(list)
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

// Elsewhere returns nothing: the project runs on one engine.
func (p *Project) Elsewhere(context.Context, backend.Removal) ([]string, error) { return nil, nil }
