package lock

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/swarm"
	"github.com/docker/docker/client"
)

// labelReleased marks the config of a released lock that is about to be removed. Its record must not be replaced, because the
// config may be removed at any time.
const labelReleased = "io.toskose.lock.released"

// inSwarm stores a lock in the labels of a config. Config names are unique in a swarm, and the swarm rejects an update that is
// based on an outdated version.
type inSwarm struct {
	docker *client.Client
	app    string
}

// InSwarm returns the lock store of an application that runs in the engine's swarm.
func InSwarm(docker *client.Client, app string) Store { return inSwarm{docker, app} }

func (s inSwarm) name() string { return s.app + "_toskose-lock" }

func (s inSwarm) find(ctx context.Context) (*swarm.Config, error) {
	all, err := s.docker.ConfigList(ctx, swarm.ConfigListOptions{Filters: filters.NewArgs(filters.Arg("label", labelApp+"="+s.app))})
	if err != nil {
		return nil, fmt.Errorf("cannot read the lock of %q: %w", s.app, err)
	}
	if len(all) == 0 {
		return nil, nil
	}
	return &all[0], nil
}

func (s inSwarm) Read(ctx context.Context) (*Record, string, error) {
	c, err := s.find(ctx)
	if err != nil || c == nil || c.Spec.Labels[labelReleased] != "" {
		return nil, "", err
	}
	r, err := decode(c.Spec.Labels[labelRecord])
	return r, versionOf(*c), err
}

func versionOf(c swarm.Config) string { return c.ID + " " + strconv.FormatUint(c.Version.Index, 10) }

func (s inSwarm) spec(r Record) swarm.ConfigSpec {
	return swarm.ConfigSpec{Annotations: swarm.Annotations{Name: s.name(), Labels: map[string]string{labelApp: s.app, labelRecord: encode(r)}}}
}

func (s inSwarm) Create(ctx context.Context, r Record) (string, error) {
	left, err := s.find(ctx)
	if err != nil {
		return "", err
	}
	if left != nil && left.Spec.Labels[labelReleased] != "" {
		if err := s.remove(ctx, left.ID); err != nil {
			return "", err
		}
	}
	spec := s.spec(r)
	spec.Data = []byte("Commands of toskose lock the application by the labels of this config.\n")
	made, err := s.docker.ConfigCreate(ctx, spec)
	switch {
	case errdefs.IsConflict(err) || errdefs.IsAlreadyExists(err):
		return "", s.existing(ctx, err)
	case err != nil:
		return "", fmt.Errorf("cannot lock %q: %w", s.app, err)
	}
	return s.current(ctx, made.ID, r)
}

// existing returns ErrChanged if the existing config is a lock of this application.
func (s inSwarm) existing(ctx context.Context, conflict error) error {
	c, _, err := s.docker.ConfigInspectWithRaw(ctx, s.name())
	if err == nil && c.Spec.Labels[labelApp] != s.app {
		return fmt.Errorf("cannot lock %q: config %q is not a lock of toskose: rename or remove it: %w", s.app, s.name(), conflict)
	}
	return ErrChanged
}

// current returns the version of a config if it contains the record r.
func (s inSwarm) current(ctx context.Context, id string, r Record) (string, error) {
	c, _, err := s.docker.ConfigInspectWithRaw(ctx, id)
	switch {
	case errdefs.IsNotFound(err) || err == nil && c.Spec.Labels[labelRecord] != encode(r):
		return "", ErrChanged
	case err != nil:
		return "", fmt.Errorf("cannot read the lock of %q: %w", s.app, err)
	}
	return versionOf(c), nil
}

func (s inSwarm) Replace(ctx context.Context, r Record, version string) (string, error) {
	if err := s.update(ctx, s.spec(r), version); err != nil {
		return "", err
	}
	id, _, _ := strings.Cut(version, " ")
	return s.current(ctx, id, r)
}

func (s inSwarm) update(ctx context.Context, spec swarm.ConfigSpec, version string) error {
	id, index, _ := strings.Cut(version, " ")
	number, err := strconv.ParseUint(index, 10, 64)
	if err != nil {
		return err
	}
	err = s.docker.ConfigUpdate(ctx, id, swarm.Version{Index: number}, spec)
	switch {
	case err == nil:
		return nil
	case errdefs.IsNotFound(err) || IsOutdated(err):
		return ErrChanged
	}
	return fmt.Errorf("cannot update the lock of %q: %w", s.app, err)
}

// IsOutdated reports whether a swarm rejected an update because it was based on an outdated version. The engine returns the
// swarm's error as text only.
func IsOutdated(err error) bool { return strings.Contains(err.Error(), "out of sequence") }

func (s inSwarm) Remove(ctx context.Context, version string) error {
	spec := s.spec(Record{})
	spec.Labels[labelReleased] = "true"
	if err := s.update(ctx, spec, version); err != nil {
		return err
	}
	id, _, _ := strings.Cut(version, " ")
	return s.remove(ctx, id)
}

func (s inSwarm) remove(ctx context.Context, id string) error {
	if err := s.docker.ConfigRemove(ctx, id); err != nil && !errdefs.IsNotFound(err) {
		return fmt.Errorf("cannot remove the lock of %q: %w", s.app, err)
	}
	return nil
}
