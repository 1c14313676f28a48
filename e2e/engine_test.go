package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/api/types/mount"
	"github.com/docker/docker/api/types/network"
	"github.com/docker/docker/api/types/swarm"
	"github.com/docker/docker/api/types/volume"
	"github.com/docker/docker/client"
	"github.com/docker/docker/pkg/stdcopy"
)

// publicImages are the public images that the examples use.
var publicImages = []string{"python:3.11-slim", "redis:7"}

// connect finds the engine, once.
var connect = sync.OnceValues(func() (*client.Client, error) {
	// `make test` sets it to another value every time. As a test has read it, go test keeps no result, which would be
	// that of an engine as it was.
	_ = os.Getenv("TOSKOSE_TEST_TIME")
	if os.Getenv("DOCKER_HOST") == "" {
		// The engine of Docker's current context, as the docker command has it.
		out, err := exec.CommandContext(context.Background(), "docker", "context", "inspect", "-f", "{{.Endpoints.docker.Host}}").Output()
		if host := strings.TrimSpace(string(out)); err == nil && (strings.HasPrefix(host, "unix://") || strings.HasPrefix(host, "tcp://")) {
			os.Setenv("DOCKER_HOST", host)
		}
	}
	engine, err := client.NewClientWithOpts(client.FromEnv, client.WithAPIVersionNegotiation())
	if err != nil {
		return nil, err
	}
	if _, err := engine.Ping(context.Background()); err != nil {
		return nil, err
	}
	return engine, nil
})

// bases makes sure, once, that the engine has the base images.
var bases = sync.OnceValue(func() error {
	return bring(publicImages...)
})

// bringing is held while base images are made.
var bringing sync.Mutex

// bring makes sure that the engine has images.
func bring(refs ...string) error {
	bringing.Lock()
	defer bringing.Unlock()
	engine, err := connect()
	if err != nil {
		return err
	}
	for _, ref := range refs {
		if _, err := engine.ImageInspect(context.Background(), ref); err != nil {
			made = append(made, ref)
		}
	}
	out, err := exec.CommandContext(context.Background(), "../scripts/stand-in.sh", refs...).CombinedOutput()
	fmt.Fprintf(os.Stderr, "%s", out)
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// made are those that were not there before. What brings images has the lock.
var made []string

// dockerEngine gives the engine. Without one, the test is left out.
func dockerEngine(t *testing.T) *client.Client {
	t.Helper()
	engine, err := connect()
	if err != nil {
		t.Skipf("no Docker engine: %v", err)
	}
	return engine
}

// removeImages removes the images that are there for this run only, and gives
// what is left of those that this run's binaries built.
func removeImages() (left []string) {
	engine, err := connect()
	if err != nil {
		return nil
	}
	ctx := context.Background()
	for _, ref := range append([]string{"toskose-unit:" + run, "toskose-manager:" + run}, made...) {
		_, _ = engine.ImageRemove(ctx, ref, image.RemoveOptions{PruneChildren: true}) // it may never have been made
	}
	list, err := engine.ImageList(ctx, image.ListOptions{All: true, Filters: filters.NewArgs(filters.Arg("label", "io.toskose.version="+run))})
	if err != nil {
		return []string{err.Error()}
	}
	for _, i := range list {
		left = append(left, i.ID)
	}
	return left
}

// contextAfter is for what cleans up, after the test.
func contextAfter(t *testing.T) context.Context { return context.WithoutCancel(t.Context()) }

func inSwarm(t *testing.T, engine *client.Client) bool {
	t.Helper()
	info, err := engine.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return info.Swarm.LocalNodeState != swarm.LocalNodeStateInactive
}

// ownSwarm is the swarm that these tests have made of the engine.
var ownSwarm struct {
	sync.Mutex
	leave func() error // nil: there is none
}

// joinSwarm puts the engine into a swarm until all tests have ended, unless it is in one
// already. An engine that leaves a swarm forgets the names of the containers that Compose
// has started, too.
func joinSwarm(t *testing.T, engine *client.Client) {
	t.Helper()
	ownSwarm.Lock()
	defer ownSwarm.Unlock()
	if !inSwarm(t, engine) {
		ownSwarm.leave = newSwarm(t, engine)
	}
}

// newSwarm puts the engine into a swarm of its own, and returns what takes it out.
func newSwarm(t *testing.T, engine *client.Client) (leave func() error) {
	t.Helper()
	_, err := engine.NetworkInspect(t.Context(), "docker_gwbridge", network.InspectOptions{})
	bridged := err == nil
	_, err = engine.SwarmInit(t.Context(), swarm.InitRequest{ListenAddr: "127.0.0.1:0", AdvertiseAddr: "127.0.0.1"})
	if err != nil { // a busy engine gives up after 20 s, and goes on in the background
		eventually(t, fmt.Sprintf("there is a swarm (%v)", err), func() bool { return swarmID(t, engine) != "" })
	}
	return func() error {
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
		defer cancel()
		err := engine.SwarmLeave(ctx, true)
		for !bridged && err == nil { // a swarm makes it and leaves it there, in use for a while
			if engine.NetworkRemove(ctx, "docker_gwbridge") == nil {
				break
			}
			select {
			case <-ctx.Done():
				err = fmt.Errorf("docker_gwbridge is left: %w", ctx.Err())
			case <-time.After(50 * time.Millisecond):
			}
		}
		return err
	}
}

// TestAnEngineThatIsInASwarmAlreadyNeverLeavesIt: what the tests do to come
// into a swarm is undone only by the one that made it.
func TestAnEngineThatIsInASwarmAlreadyNeverLeavesIt(t *testing.T) {
	engine := dockerEngine(t)
	if !inSwarm(t, engine) {
		leave := newSwarm(t, engine) // as somebody else has
		t.Cleanup(func() {
			if err := leave(); err != nil {
				t.Errorf("cannot leave the swarm that the test made: %v", err)
			}
		})
	}
	id, ours := swarmID(t, engine), ownSwarm.leave != nil
	t.Run("a test that wants a swarm", func(t *testing.T) { joinSwarm(t, engine) })
	if now := swarmID(t, engine); now == "" || now != id {
		t.Errorf("the engine was in swarm %q, and now is in %q", id, now)
	}
	if !ours && ownSwarm.leave != nil {
		t.Error("the tests will leave a swarm that they have not made")
	}
}

func swarmID(t *testing.T, engine *client.Client) string {
	t.Helper()
	info, err := engine.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if info.Swarm.Cluster == nil {
		return ""
	}
	return info.Swarm.Cluster.ID
}

// demo names what an engine has that `make demo` makes: what is of its
// application, of the binaries that it builds, or a base image. What others make
// or remove meanwhile is none of it.
func demo(t *testing.T, engine *client.Client, version string) map[string]bool {
	t.Helper()
	const name = "thinking"
	ctx := t.Context()
	all := map[string]bool{}
	ours := func(labels map[string]string) bool {
		return labels["com.docker.compose.project"] == name || labels["com.docker.stack.namespace"] == name ||
			labels["io.toskose.app"] == name || labels["io.toskose.version"] == version
	}
	containers, err := engine.ContainerList(ctx, container.ListOptions{All: true})
	for _, c := range containers {
		if ours(c.Labels) || strings.HasPrefix(c.Names[0], "/"+name) {
			all["container "+c.Names[0]+" "+c.ID[:12]] = true
			for _, m := range c.Mounts {
				if m.Type == mount.TypeVolume {
					all["volume "+m.Name] = true
				}
			}
		}
	}
	images, err2 := engine.ImageList(ctx, image.ListOptions{All: true})
	for _, i := range images {
		if ours(i.Labels) || i.Labels["io.toskose.stand-in"] != "" {
			all["image "+i.ID] = true
		}
		for _, tag := range i.RepoTags {
			if strings.HasPrefix(tag, name+"-") || slices.Contains(publicImages, tag) ||
				slices.Contains([]string{"toskose-unit:" + version, "toskose-manager:" + version}, tag) {
				all["image "+tag] = true
			}
		}
	}
	networks, err3 := engine.NetworkList(ctx, network.ListOptions{})
	for _, n := range networks {
		if ours(n.Labels) || strings.HasPrefix(n.Name, name) {
			all["network "+n.Name] = true
		}
	}
	volumes, err4 := engine.VolumeList(ctx, volume.ListOptions{})
	for _, v := range volumes.Volumes {
		if ours(v.Labels) || strings.HasPrefix(v.Name, name) {
			all["volume "+v.Name] = true
		}
	}
	if err := errors.Join(err, err2, err3, err4); err != nil {
		t.Fatal(err)
	}
	return all
}

// inContainer runs a command in a container and gives what it printed.
func inContainer(t *testing.T, engine *client.Client, id string, words ...string) string {
	t.Helper()
	ctx := t.Context()
	exec, err := engine.ContainerExecCreate(ctx, id, container.ExecOptions{Cmd: words, AttachStdout: true, AttachStderr: true})
	if err != nil {
		t.Fatal(err)
	}
	stream, err := engine.ContainerExecAttach(ctx, exec.ID, container.ExecAttachOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	var stdout, stderr bytes.Buffer
	if _, err := stdcopy.StdCopy(&stdout, &stderr, stream.Reader); err != nil {
		t.Fatal(err)
	}
	ended, err := engine.ContainerExecInspect(ctx, exec.ID)
	if err != nil {
		t.Fatal(err)
	}
	if ended.ExitCode != 0 {
		t.Fatalf("%q in a container: code %d\n%s%s", words, ended.ExitCode, stdout.String(), stderr.String())
	}
	return stdout.String()
}

// process is one of a container's, as /proc has it.
type process struct {
	pid, started string
	state        string
	command      string
}

// processes gives what runs in a container, but for the command that looks.
func processes(t *testing.T, engine *client.Client, id string) []process {
	t.Helper()
	out := inContainer(t, engine, id, "python3", "-c", `
import os
for pid in filter(str.isdigit, os.listdir("/proc")):
    try:
        stat = open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()
        command = open(f"/proc/{pid}/cmdline").read().replace("\0", " ").strip()
    except OSError:
        continue
    if int(pid) != os.getpid():
        print(pid, stat[19], stat[0], command, sep="\t")
`)
	var all []process
	for line := range strings.Lines(out) {
		fields := strings.SplitN(strings.TrimRight(line, "\n"), "\t", 4)
		if len(fields) == 4 {
			all = append(all, process{fields[0], fields[1], fields[2], fields[3]})
		}
	}
	return all
}

// containerOf gives the running container of a service of an application.
func containerOf(t *testing.T, engine *client.Client, app, service string) string {
	t.Helper()
	all := containersOf(t, engine, app, service)
	if len(all) == 0 {
		t.Fatalf("service %q of %q has no running container", service, app)
	}
	return all[0]
}

// containersOf gives the running containers of a service that an engine has.
func containersOf(t *testing.T, engine *client.Client, app, service string) (ids []string) {
	t.Helper()
	for _, labels := range [][]string{
		{"com.docker.compose.project=" + app, "com.docker.compose.service=" + service},
		{"com.docker.stack.namespace=" + app, "com.docker.swarm.service.name=" + app + "_" + service},
	} {
		args := filters.NewArgs()
		for _, label := range labels {
			args.Add("label", label)
		}
		list, err := engine.ContainerList(t.Context(), container.ListOptions{Filters: args})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range list {
			ids = append(ids, c.ID)
		}
	}
	return ids
}
