package volumes

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/volume"
	"github.com/docker/docker/client"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/compose"
)

// An engine stores a Note in the labels of additional empty volumes, because labels cannot be changed. These volumes also have
// the label of the application, so `undeploy --volumes` removes them.
const (
	labelRestore  = "io.toskose.restore"  // the token
	labelRestored = "io.toskose.restored" // the volume has its new data
)

// isNote reports whether a volume stores a note of these commands.
func isNote(labels map[string]string) bool {
	return labels[labelRestore] != "" || labels[labelRestored] != "" || labels[labelStopped] != ""
}

// NoteSuffix begins the part of a note's name that follows the ID of its volume.
const NoteSuffix = ".toskose-restore"

func noteName(v Volume) string     { return v.ID + NoteSuffix }
func restoredName(v Volume) string { return v.ID + NoteSuffix + "d" }

func (e engine) Note(ctx context.Context, v Volume) (n Note, err error) {
	token, err := e.docker.VolumeInspect(ctx, noteName(v))
	if err == nil {
		n.Token = token.Labels[labelRestore]
	} else if !errdefs.IsNotFound(err) {
		return n, fmt.Errorf("cannot read the note of volume %q: %w", v.Name, err)
	}
	done, err := e.docker.VolumeInspect(ctx, restoredName(v))
	if err == nil {
		n.Restored = done.Labels[labelRestored] != ""
	} else if !errdefs.IsNotFound(err) {
		return n, fmt.Errorf("cannot read the note of volume %q: %w", v.Name, err)
	}
	return n, nil
}

// SetNote writes the token first and removes it first: whether the volume has its new data must be known while a token exists.
func (e engine) SetNote(ctx context.Context, v Volume, n Note) error {
	err := e.keep(ctx, noteName(v), labelRestore, n.Token)
	restored := ""
	if n.Restored {
		restored = "true"
	}
	if err == nil {
		err = e.keep(ctx, restoredName(v), labelRestored, restored)
	}
	if err != nil {
		return fmt.Errorf("cannot write the note of volume %q: %w", v.Name, err)
	}
	return nil
}

// keep creates an empty volume with a label, or removes it if the value is empty.
func (e engine) keep(ctx context.Context, name, label, value string) error {
	if value == "" {
		err := e.docker.VolumeRemove(ctx, name, false)
		if errdefs.IsNotFound(err) {
			return nil
		}
		return err
	}
	_, err := e.docker.VolumeCreate(ctx, volume.CreateOptions{Name: name, Labels: map[string]string{label: value, compose.LabelProject: e.app}})
	return err
}

// labelStopped labels an empty volume that records a stopped container.
const labelStopped = "io.toskose.stopped"

func stoppedName(app, id string) string { return fmt.Sprintf("%s.toskose-stopped-%.12s", app, id) }

func (e engine) Tidy(ctx context.Context) (started []string, err error) {
	if err := removeContainers(ctx, e.docker, e.app); err != nil {
		return nil, err
	}
	list, err := stoppedNotes(ctx, e.docker, e.app)
	if err != nil {
		return nil, err
	}
	for _, v := range list {
		id := v.Labels[labelStopped]
		err := e.docker.ContainerStart(ctx, id, container.StartOptions{})
		if err != nil && !errdefs.IsNotFound(err) { // the container may have been replaced
			return started, fmt.Errorf("cannot start container %.12s, which a killed command has stopped: %w", id, err)
		}
		if err == nil {
			started = append(started, fmt.Sprintf("container %.12s", id))
		}
		if err := e.keep(ctx, v.Name, labelStopped, ""); err != nil {
			return started, err
		}
	}
	return started, nil
}

// RemoveLeft removes resources that killed commands left behind, when an application is undeployed. It keeps the notes of
// restores, which belong to the application's volumes.
func RemoveLeft(ctx context.Context, docker *client.Client, app string) error {
	if err := removeContainers(ctx, docker, app); err != nil {
		return err
	}
	list, err := stoppedNotes(ctx, docker, app)
	if err != nil {
		return err
	}
	for _, v := range list {
		if err := docker.VolumeRemove(ctx, v.Name, false); err != nil && !errdefs.IsNotFound(err) {
			return fmt.Errorf("cannot remove volume %q: %w", v.Name, err)
		}
	}
	return nil
}

// stoppedNotes returns the volumes that record stopped containers.
func stoppedNotes(ctx context.Context, docker *client.Client, app string) ([]*volume.Volume, error) {
	list, err := docker.VolumeList(ctx, volume.ListOptions{Filters: filters.NewArgs(
		filters.Arg("label", labelStopped), filters.Arg("label", compose.LabelProject+"="+app),
	)})
	if err != nil {
		return nil, fmt.Errorf("cannot list volumes: %w", err)
	}
	return slices.DeleteFunc(list.Volumes, func(v *volume.Volume) bool { // Podman lists volumes that have one of the labels
		return v.Labels[labelStopped] == "" || v.Labels[compose.LabelProject] != app
	}), nil
}

// exitTimeout is how long a container may take to exit after its command was killed.
const exitTimeout = 30 * time.Second

// removeContainers removes the containers that killed commands left beside the volumes of an application. A container that
// keeps running belongs to a live command.
func removeContainers(ctx context.Context, docker *client.Client, app string) error {
	list, err := docker.ContainerList(ctx, container.ListOptions{All: true, Filters: filters.NewArgs(
		filters.Arg("label", labelCopies), filters.Arg("label", packager.LabelApp+"="+app),
	)})
	if err != nil {
		return fmt.Errorf("cannot list containers: %w", err)
	}
	for _, c := range list {
		if c.State == container.StateCreated {
			c.State = awaitStart(ctx, docker, c.ID)
		}
		if c.State == container.StateRunning {
			if err := awaitEnd(ctx, docker, c); err != nil {
				return err
			}
		}
		err := docker.ContainerRemove(ctx, c.ID, container.RemoveOptions{})
		if err != nil && !errdefs.IsNotFound(err) && !errdefs.IsConflict(err) { // its command removes it
			return fmt.Errorf("cannot remove the container beside volume %q: %w", c.Labels[labelCopies], err)
		}
	}
	return nil
}

// startTimeout is how long a command may take to start a container after creating it.
const startTimeout = 5 * time.Second

// awaitStart waits until a container has started, at most for startTimeout, and returns its state.
func awaitStart(ctx context.Context, docker *client.Client, id string) container.ContainerState {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for {
		now, err := docker.ContainerInspect(ctx, id)
		if err != nil || now.State == nil || now.State.Status != container.StateCreated {
			if err != nil || now.State == nil {
				return container.StateCreated
			}
			return now.State.Status
		}
		select {
		case <-ctx.Done():
			return container.StateCreated
		case <-ticker.C:
		}
	}
}

func awaitEnd(ctx context.Context, docker *client.Client, c container.Summary) error {
	waiting, cancel := context.WithTimeout(ctx, exitTimeout)
	defer cancel()
	ends, failed := docker.ContainerWait(waiting, c.ID, container.WaitConditionNotRunning)
	select {
	case <-ends:
		return nil
	case err := <-failed:
		if errdefs.IsNotFound(err) {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if waiting.Err() == nil {
			return fmt.Errorf("cannot wait for the container beside volume %q: %w", c.Labels[labelCopies], err)
		}
		return fmt.Errorf("another `toskose volume` copies volume %q: its container %.12s still runs", c.Labels[labelCopies], c.ID)
	}
}
