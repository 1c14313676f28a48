package volumes

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/api/types/mount"
	"github.com/docker/docker/api/types/network"
	"github.com/docker/docker/api/types/swarm"
	"github.com/docker/docker/api/types/system"
	"github.com/docker/docker/api/types/volume"
	"github.com/docker/docker/client"
	"github.com/docker/docker/pkg/stdcopy"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/compose"
)

// engine implements Place for the volumes of an application on a Docker engine or in its swarm.
type engine struct {
	docker *client.Client
	app    string
	dir    string // the folder that the application was packaged in; empty: unknown
}

// OnEngine returns the volumes of an application on a Docker engine. dir is the folder that the application was packaged in; it
// may be empty, and is only needed for external volumes while no container mounts them.
func OnEngine(docker *client.Client, app, dir string) Place { return engine{docker, app, dir} }

func (e engine) List(ctx context.Context) ([]Volume, error) {
	info, err := e.docker.Info(ctx)
	if err != nil {
		return nil, fmt.Errorf("cannot reach the Docker engine: %w", err)
	}
	containers, err := e.docker.ContainerList(ctx, container.ListOptions{All: true})
	if err != nil {
		return nil, fmt.Errorf("cannot list containers: %w", err)
	}
	all := []Volume{}
	for _, label := range []string{compose.LabelProject, compose.LabelStack} {
		list, err := e.docker.VolumeList(ctx, volume.ListOptions{Filters: filters.NewArgs(filters.Arg("label", label+"="+e.app))})
		if err != nil {
			return nil, fmt.Errorf("cannot list volumes: %w", err)
		}
		for _, v := range list.Volumes {
			if isNote(v.Labels) {
				continue
			}
			if _, documents := v.Labels[compose.LabelDocuments]; !documents && !slices.ContainsFunc(all, func(o Volume) bool { return o.ID == v.Name }) {
				all = append(all, Volume{Name: strings.TrimPrefix(v.Name, e.app+"_"), ID: v.Name, Machine: info.Name, Users: users(containers, v.Name)})
			}
		}
	}
	if all, err = e.external(ctx, all, containers, info.Name); err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(a, b Volume) int { return cmp.Compare(a.Name, b.Name) })
	if !info.Swarm.ControlAvailable {
		return all, nil
	}
	return e.elsewhere(ctx, all, info)
}

// external adds the external volumes that the application's containers mount, or that its folder names.
func (e engine) external(ctx context.Context, all []Volume, containers []container.Summary, machine string) ([]Volume, error) {
	found := map[string]string{} // names in the application, by ID
	if info, err := compose.ReadInfo(e.dir); e.dir != "" && err == nil && info.App == e.app {
		for name, id := range info.ExternalVolumes {
			found[id] = name
		}
	}
	for _, c := range containers {
		if c.Labels[packager.LabelApp] != e.app {
			continue
		}
		for name, id := range packager.ReadExternal(c.Labels) {
			if mounts(c, id) { // otherwise the label may be an image's
				found[id] = name
			}
		}
	}
	for id, name := range found {
		v := Volume{Name: name, ID: id, Machine: machine, Users: users(containers, id)}
		if i := slices.IndexFunc(all, func(o Volume) bool { return o.ID == id }); i >= 0 { // an earlier release created it
			all[i] = v
			continue
		}
		_, err := e.docker.VolumeInspect(ctx, id)
		switch {
		case err == nil:
			all = append(all, v)
		case !errdefs.IsNotFound(err):
			return nil, fmt.Errorf("cannot inspect volume %q: %w", id, err)
		}
	}
	return all, nil
}

// mounts reports whether a container mounts a volume.
func mounts(c container.Summary, id string) bool {
	return slices.ContainsFunc(c.Mounts, func(m container.MountPoint) bool { return m.Type == mount.TypeVolume && m.Name == id })
}

// users returns the application's containers that mount a volume.
func users(containers []container.Summary, name string) []User {
	all := []User{}
	for _, c := range containers {
		if c.Labels[labelCopies] != "" {
			continue // this container copies the volume
		}
		if mounts(c, name) {
			all = append(all, User{
				Name: strings.TrimPrefix(strings.Join(c.Names, ", "), "/"), ID: c.ID, Node: c.Labels[packager.LabelNode], Running: c.State == container.StateRunning, Service: c.Labels[compose.LabelSwarmService],
			})
		}
	}
	return all
}

// elsewhere records which other machines of the swarm use volumes with these names. It also adds volumes that only other
// machines have; they cannot be copied from here.
func (e engine) elsewhere(ctx context.Context, all []Volume, info system.Info) ([]Volume, error) {
	tasks, err := e.docker.TaskList(ctx, swarm.TaskListOptions{Filters: filters.NewArgs(filters.Arg("label", compose.LabelStack+"="+e.app), filters.Arg("desired-state", "running"))})
	if err != nil {
		return nil, fmt.Errorf("cannot list tasks: %w", err)
	}
	for _, t := range tasks {
		if t.NodeID == info.Swarm.NodeID || t.NodeID == "" || t.Spec.ContainerSpec == nil {
			continue
		}
		for _, m := range t.Spec.ContainerSpec.Mounts {
			name, ok := e.nameOf(m.Source, t.Spec.ContainerSpec.Labels)
			if !ok || m.Type != mount.TypeVolume || m.VolumeOptions != nil && m.VolumeOptions.Labels[compose.LabelDocuments] != "" {
				continue
			}
			node, _, err := e.docker.NodeInspectWithRaw(ctx, t.NodeID)
			if err != nil {
				return nil, fmt.Errorf("cannot find the machine of volume %q: %w", name, err)
			}
			i := slices.IndexFunc(all, func(v Volume) bool { return v.ID == m.Source })
			if i < 0 {
				i, all = len(all), append(all, Volume{Name: name, ID: m.Source, Users: []User{}})
			}
			if at := node.Description.Hostname; !slices.Contains(all[i].Elsewhere, at) {
				all[i].Elsewhere = append(all[i].Elsewhere, at)
			}
		}
	}
	return all, nil
}

// nameOf returns the application's name of a volume that a container with the given labels mounts.
func (e engine) nameOf(id string, labels map[string]string) (string, bool) {
	for name, external := range packager.ReadExternal(labels) {
		if external == id {
			return name, true
		}
	}
	return strings.CutPrefix(id, e.app+"_")
}

// Reachable returns an error if only another machine of a swarm has the volume, or if it is in use only on other machines.
func (v Volume) Reachable() error {
	if len(v.Elsewhere) == 0 || v.Machine != "" && len(v.Users) > 0 {
		return nil
	}
	return fmt.Errorf("volume %q is on %s: name the engine of that machine with --docker-url", v.Name, strings.Join(v.Elsewhere, ", "))
}

func (e engine) Save(ctx context.Context, v Volume, out io.Writer) error {
	in := &open{closed: make(chan struct{})} // when it closes, the program knows that this command was killed
	return e.run(ctx, v, program{args: saving, env: []string{wantsSummary + "=1"}, capabilities: toSave}, in, out)
}

func (e engine) Load(ctx context.Context, v Volume, token string, in io.Reader, out io.Writer) error {
	return e.run(ctx, v, program{args: loading, env: []string{hasToken + "=" + token}, capabilities: toLoad, writes: true}, in, out)
}

func (e engine) Recover(ctx context.Context, v Volume, token string, out io.Writer) error {
	return e.run(ctx, v, program{args: recovering, env: []string{hasToken + "=" + token}, capabilities: toLoad, writes: true}, nil, out)
}

// open is a stdin without data that stays open until it is closed.
type open struct {
	closed chan struct{}
	once   sync.Once
}

func (o *open) Read([]byte) (int, error) {
	<-o.closed
	return 0, io.EOF
}

func (o *open) Close() error {
	o.once.Do(func() { close(o.closed) })
	return nil
}

// image returns the image of the application's manager.
func (e engine) image(ctx context.Context) (string, error) {
	list, err := e.docker.ImageList(ctx, image.ListOptions{Filters: filters.NewArgs(filters.Arg("label", packager.LabelApp+"="+e.app))})
	if err != nil {
		return "", fmt.Errorf("cannot list images: %w", err)
	}
	list = slices.DeleteFunc(list, func(i image.Summary) bool { return i.Labels[packager.LabelNode] != "" })
	if len(list) == 0 {
		return "", fmt.Errorf("the engine has no image of %q's manager, which copies volumes: package the application, or `docker pull` the image that its docker-compose.yml names, on that engine", e.app)
	}
	return slices.MaxFunc(list, func(a, b image.Summary) int { return cmp.Compare(a.Created, b.Created) }).ID, nil
}

// removeTimeout is the timeout for removing the container.
const removeTimeout = time.Minute

// program is a program that runs beside a volume.
type program struct {
	args, env, capabilities []string
	writes                  bool // the program writes to the volume
}

// run runs the manager's program beside a volume, without network access and with only the capabilities that it needs.
func (e engine) run(ctx context.Context, v Volume, p program, in io.Reader, out io.Writer) (err error) {
	ref, err := e.image(ctx)
	if err != nil {
		return notStarted{err}
	}
	made, err := e.docker.ContainerCreate(ctx, &container.Config{
		Image: ref, User: "0:0", Entrypoint: []string{packager.ManagerPath}, Cmd: p.args, Env: p.env, Healthcheck: &container.HealthConfig{Test: []string{"NONE"}},
		Labels:      map[string]string{labelCopies: v.ID, packager.LabelApp: e.app},
		AttachStdin: in != nil, OpenStdin: in != nil, StdinOnce: in != nil, AttachStdout: true, AttachStderr: true,
	}, &container.HostConfig{
		NetworkMode: network.NetworkNone, ReadonlyRootfs: true, CapDrop: []string{"ALL"}, CapAdd: p.capabilities, SecurityOpt: []string{"no-new-privileges:true"},
		LogConfig: container.LogConfig{Type: "none"}, // the output is the volume's data
		Mounts:    []mount.Mount{{Type: mount.TypeVolume, Source: v.ID, Target: mounted, ReadOnly: !p.writes, VolumeOptions: &mount.VolumeOptions{NoCopy: true}}},
	}, nil, nil, "")
	if err != nil {
		return notStarted{fmt.Errorf("cannot create a container for it: %w", err)}
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeTimeout)
		defer cancel()
		err = errors.Join(err, e.docker.ContainerRemove(ctx, made.ID, container.RemoveOptions{Force: true}))
	}()
	return e.attend(ctx, made.ID, in, out)
}

// attend starts a container, copies in to its stdin and its stdout to out, and waits until it exits.
func (e engine) attend(ctx context.Context, id string, in io.Reader, out io.Writer) error {
	attached, err := e.docker.ContainerAttach(ctx, id, container.AttachOptions{Stream: true, Stdin: in != nil, Stdout: true, Stderr: true})
	if err != nil {
		return fmt.Errorf("cannot attach to its container: %w", err)
	}
	defer attached.Close()
	defer context.AfterFunc(ctx, attached.Close)()
	ends, failed := e.docker.ContainerWait(ctx, id, container.WaitConditionNextExit)
	if err := e.docker.ContainerStart(ctx, id, container.StartOptions{}); err != nil {
		return notStarted{fmt.Errorf("cannot start its container: %w", err)}
	}
	given := make(chan error, 1)
	go func() {
		if in == nil {
			given <- nil
			return
		}
		_, err := io.Copy(attached.Conn, in)
		given <- errors.Join(err, attached.CloseWrite())
	}()
	var said bytes.Buffer
	_, err = stdcopy.StdCopy(out, &said, attached.Reader)
	if closer, ok := in.(io.Closer); ok {
		closer.Close() // the program has stopped reading
	}
	fed := <-given
	if err != nil || ctx.Err() != nil {
		return cmp.Or(ctx.Err(), err)
	}
	select {
	case end := <-ends:
		if end.StatusCode != 0 {
			return explained(fmt.Errorf("its container has ended with code %d", end.StatusCode), said.String())
		}
		return fed
	case err := <-failed:
		return fmt.Errorf("cannot wait for its container: %w", err)
	}
}

func (e engine) Stop(ctx context.Context, u User) error {
	if u.Service != "" {
		return fmt.Errorf("container %q has no components, and the swarm starts it again when it is stopped: `docker service scale %s=0` stops it", u.Name, u.Service)
	}
	if err := e.keep(ctx, stoppedName(e.app, u.ID), labelStopped, u.ID); err != nil {
		return fmt.Errorf("cannot store that container %q is stopped: %w", u.Name, err)
	}
	if err := e.docker.ContainerStop(ctx, u.ID, container.StopOptions{}); err != nil {
		return fmt.Errorf("cannot stop container %q: %w", u.Name, err)
	}
	return nil
}

func (e engine) Start(ctx context.Context, u User) error {
	if err := e.docker.ContainerStart(ctx, u.ID, container.StartOptions{}); err != nil {
		return fmt.Errorf("cannot start container %q: %w", u.Name, err)
	}
	return e.keep(ctx, stoppedName(e.app, u.ID), labelStopped, "")
}
