package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/mount"
	"github.com/docker/docker/api/types/volume"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/compose"
	"github.com/toskose/toskose/packager/volumes"
)

// unnamedVolume is a volume that the engine created because a container's image declares it. Only the container links it to
// the application. (A swarm removes such volumes with their containers.)
type unnamedVolume struct{ name, service, path string }

// The engine names such a volume with a random ID.
var volumeID = regexp.MustCompile("^[0-9a-f]{64}$")

func unnamedOf(list []container.Summary) []unnamedVolume {
	var all []unnamedVolume
	for _, c := range list {
		for _, m := range c.Mounts {
			if m.Type == mount.TypeVolume && volumeID.MatchString(m.Name) {
				all = append(all, unnamedVolume{m.Name, c.Labels[compose.LabelService], m.Destination})
			}
		}
	}
	return all
}

// RecordUnnamedVolumes records the unnamed volumes of containers that are about to be removed: afterwards the engine no longer links the
// volumes to the application.
func (e *Engine) RecordUnnamedVolumes(list []container.Summary) {
	e.unnamed = append(e.unnamed, unnamedOf(list)...)
}

// RecordExternalVolumes records the external volumes in the labels of containers that are about to be removed, so that they are not
// removed as volumes of the application. An external volume may have the application's label, if an earlier release created it.
func (e *Engine) RecordExternalVolumes(labels map[string]string) {
	for _, name := range packager.ReadExternal(labels) {
		e.external = append(e.external, name)
	}
}

// isExternal reports whether a volume is external, or stores a note about an external volume.
func (e *Engine) isExternal(name string) bool {
	name, _, _ = strings.Cut(name, volumes.NoteSuffix)
	return slices.Contains(e.external, name) || slices.Contains(slices.Collect(maps.Values(e.Info.ExternalVolumes)), name)
}

// CheckExternalVolumes returns an error for external volumes that do not exist on this engine.
func (e *Engine) CheckExternalVolumes(ctx context.Context) error {
	var problems []error
	for _, name := range slices.Sorted(maps.Keys(e.Info.ExternalVolumes)) {
		existing := e.Info.ExternalVolumes[name]
		_, err := e.Docker.VolumeInspect(ctx, existing)
		switch {
		case errdefs.IsNotFound(err):
			problems = append(problems, fmt.Errorf("volume %q is external, and the engine has no volume %q: `docker volume create %s` creates it, or name another by volumes.%s.name in toskose.yml",
				name, existing, existing, name))
		case err != nil:
			return fmt.Errorf("cannot inspect volume %q: %w", existing, err)
		}
	}
	return errors.Join(problems...)
}

// Volumes returns the application's volumes on this engine, without external ones. They include volumes created by Compose, which
// a stack takes over. The volumes on which units store documents are returned separately.
func (e *Engine) Volumes(ctx context.Context) (own, documents []*volume.Volume, err error) {
	for _, label := range []string{compose.LabelProject, compose.LabelStack} {
		list, err := e.Docker.VolumeList(ctx, volume.ListOptions{Filters: filters.NewArgs(filters.Arg("label", label+"="+e.Info.App))})
		if err != nil {
			return nil, nil, fmt.Errorf("cannot list volumes: %w", err)
		}
		for _, v := range list.Volumes {
			if e.isExternal(v.Name) {
				continue
			}
			if _, ok := v.Labels[compose.LabelDocuments]; ok {
				documents = append(documents, v)
			} else {
				own = append(own, v)
			}
		}
	}
	return own, documents, nil
}

// releaseTimeout is how long the engine may take to release the volumes of a container that it no longer lists.
const releaseTimeout = 10 * time.Second

func (e *Engine) removeVolume(ctx context.Context, name string) error {
	for deadline := time.Now().Add(releaseTimeout); ; {
		err := e.Docker.VolumeRemove(ctx, name, false)
		if !errdefs.IsConflict(err) || time.Now().After(deadline) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// RemoveDocuments removes the documents that units store on this engine for the manager.
func (e *Engine) RemoveDocuments(ctx context.Context) error {
	_, list, err := e.Volumes(ctx)
	if err != nil {
		return err
	}
	for _, v := range list {
		if err := e.removeVolume(ctx, v.Name); err != nil && !errdefs.IsNotFound(err) {
			return fmt.Errorf("cannot remove the documents of %q, volume %q: %w", v.Labels[compose.LabelDocuments], v.Name, err)
		}
	}
	return nil
}

// RemoveVolumes removes the application's volumes on this engine.
func (e *Engine) RemoveVolumes(ctx context.Context) error {
	list, _, err := e.Volumes(ctx)
	if err != nil {
		return err
	}
	for _, v := range list {
		if err := e.removeVolume(ctx, v.Name); err != nil {
			return fmt.Errorf("cannot remove volume %q: %w", v.Name, err)
		}
		e.Say("%s: removed volume %s", e.Info.App, strings.TrimPrefix(v.Name, e.Info.App+"_"))
	}
	for _, v := range e.unnamed {
		switch err := e.removeVolume(ctx, v.name); {
		case errdefs.IsNotFound(err):
			continue
		case err != nil:
			return fmt.Errorf("cannot remove the volume of %q at %s: %w", v.service, v.path, err)
		}
		e.Say("%s: removed the volume of %s at %s", e.Info.App, v.service, v.path)
	}
	return nil
}
