//go:build chaos

package e2e

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/client"
	"github.com/docker/docker/pkg/stdcopy"

	"github.com/toskose/toskose/unit/wire"
)

// machine is one of the engines that TOSKOSE_ENGINES names. scripts/lab.sh knows
// it by a number.
type machine struct {
	number int
	engine *client.Client
}

func machines(t *testing.T) (all []machine) {
	t.Helper()
	for i, host := range strings.Fields(os.Getenv("TOSKOSE_ENGINES")) {
		engine, err := client.NewClientWithOpts(client.WithHost(host), client.WithAPIVersionNegotiation())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { engine.Close() })
		all = append(all, machine{i + 1, engine})
	}
	if len(all) == 0 || os.Getenv("TOSKOSE_LAB") == "" {
		t.Fatal("there are no TOSKOSE_ENGINES and TOSKOSE_LAB: scripts/lab.sh makes them")
	}
	return all
}

// lab cuts or mends a machine's link, kills it or boots it.
func (m machine) lab(t *testing.T, what string) time.Time {
	t.Helper()
	began := time.Now()
	must(t, "", os.Getenv("TOSKOSE_LAB"), what, strconv.Itoa(m.number))
	return began
}

// place is a container, and where it is.
type place struct {
	machine
	container.Summary
}

// engines are what an application stands on by Compose, or by Swarm.
type engines struct {
	*application
	on      []machine
	scaling func(t *testing.T, service string, replicas int)
}

// without are the others.
func (e engines) without(m machine) engines {
	e.on = slices.DeleteFunc(slices.Clone(e.on), func(o machine) bool { return o.number == m.number })
	return e
}

// containers returns those of a service, all or the running ones, on machines that answer.
func (e engines) containers(t *testing.T, service string, all bool) (found []place) {
	t.Helper()
	for _, m := range e.on {
		for _, labels := range [][]string{
			{"com.docker.compose.project=" + e.name, "com.docker.compose.service=" + service},
			{"com.docker.stack.namespace=" + e.name, "com.docker.swarm.service.name=" + e.name + "_" + service},
		} {
			list, err := m.engine.ContainerList(t.Context(), container.ListOptions{
				All: all, Filters: filters.NewArgs(filters.Arg("label", labels[0]), filters.Arg("label", labels[1])),
			})
			if client.IsErrConnectionFailed(err) {
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, one := range list {
				found = append(found, place{m, one})
			}
		}
	}
	return found
}

// one returns the one running container of a service.
func (e engines) one(t *testing.T, service string) (found place) {
	t.Helper()
	eventually(t, "one container of "+service+" runs", func() bool {
		all := e.containers(t, service, false)
		if len(all) == 1 {
			found = all[0]
		}
		return len(all) == 1
	})
	return found
}

func (e engines) newest(t *testing.T, service string) (last time.Time) {
	t.Helper()
	for _, p := range e.containers(t, service, false) {
		found, err := p.engine.ContainerInspect(t.Context(), p.ID)
		if err != nil {
			t.Fatal(err)
		}
		started, err := time.Parse(time.RFC3339Nano, found.State.StartedAt)
		if err != nil {
			t.Fatal(err)
		}
		if started.After(last) {
			last = started
		}
	}
	return last
}

// kill kills by KILL, from outside: an engine that is asked to would take it for wanted.
func (e engines) kill(t *testing.T, service string) time.Time {
	t.Helper()
	p := e.one(t, service)
	found, err := p.engine.ContainerInspect(t.Context(), p.ID)
	if err != nil {
		t.Fatal(err)
	}
	return p.killProcess(t, found.State.Pid)
}

// killProcess kills a process of the machine, and returns when.
func (m machine) killProcess(t *testing.T, pid int) time.Time {
	t.Helper()
	ctx := t.Context()
	made, err := m.engine.ContainerCreate(ctx,
		&container.Config{Image: "redis:7", Entrypoint: []string{"sh", "-c", fmt.Sprintf("date +%%s.%%N; kill -9 %d", pid)}},
		&container.HostConfig{PidMode: "host", NetworkMode: "none"}, nil, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := m.engine.ContainerRemove(contextAfter(t), made.ID, container.RemoveOptions{Force: true, RemoveVolumes: true}); err != nil {
			t.Error(err)
		}
	}()
	ended, failed := m.engine.ContainerWait(ctx, made.ID, container.WaitConditionNextExit)
	if err := m.engine.ContainerStart(ctx, made.ID, container.StartOptions{}); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-failed:
		t.Fatal(err)
	case how := <-ended:
		if how.StatusCode != 0 {
			t.Fatalf("the killer ended with %d", how.StatusCode)
		}
	}
	stream, err := m.engine.ContainerLogs(ctx, made.ID, container.LogsOptions{ShowStdout: true})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	var said bytes.Buffer
	if _, err := stdcopy.StdCopy(&said, io.Discard, stream); err != nil {
		t.Fatal(err)
	}
	since, err := strconv.ParseFloat(strings.TrimSpace(said.String()), 64)
	if err != nil {
		t.Fatal(err)
	}
	return time.Unix(0, int64(since*1e9))
}

func (e engines) within(t *testing.T, service string, command ...string) string {
	t.Helper()
	p := e.one(t, service)
	return inContainer(t, p.engine, p.ID, command...)
}

func (e engines) scale(t *testing.T, service string, replicas int) {
	t.Helper()
	e.scaling(t, service, replicas)
}

// remove removes a container, as somebody does.
func (p place) remove(t *testing.T) time.Time {
	t.Helper()
	began := time.Now()
	if err := p.engine.ContainerRemove(t.Context(), p.ID, container.RemoveOptions{Force: true}); err != nil {
		t.Fatal(err)
	}
	return began
}

func (e engines) used(t *testing.T, service string) time.Duration {
	t.Helper()
	p := e.one(t, service)
	answer, err := p.engine.ContainerStatsOneShot(t.Context(), p.ID)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var stats container.StatsResponse
	if err := json.NewDecoder(answer.Body).Decode(&stats); err != nil {
		t.Fatal(err)
	}
	return time.Duration(stats.CPUStats.CPUUsage.TotalUsage)
}

// journal returns what the unit of a container has written down, whether it runs or not.
func (p place) journal(t *testing.T) (all []wire.Entry) {
	t.Helper()
	stream, _, err := p.engine.CopyFromContainer(t.Context(), p.ID, "/toskose/state/journal")
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	for archive := tar.NewReader(stream); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		if path.Ext(header.Name) != ".jsonl" {
			continue
		}
		all = append(all, decoded(t, archive)...)
	}
}

// journals are those of containers that have ended, too.
func (e engines) journals(t *testing.T, services ...string) (all []journal) {
	t.Helper()
	for _, service := range services {
		for _, p := range e.containers(t, service, true) {
			all = append(all, journal{p.ID[:12], p.journal(t)})
		}
	}
	return all
}

// keepLogs writes what containers have printed to build/, to be read where something
// took longer than it should.
func (e engines) keepLogs(t *testing.T, name string) {
	t.Helper()
	dir := filepath.Join("..", "build", name)
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o755)); err != nil {
		t.Fatal(err)
	}
	for _, service := range []string{"toskose-manager", "backend", "frontend"} {
		for _, p := range e.containers(t, service, true) {
			lines := output(t, &application{engine: p.engine}, p.ID)
			write(t, filepath.Join(dir, fmt.Sprintf("%s-%d-%s.log", service, p.number, p.ID[:12])), strings.Join(lines, "\n")+"\n")
		}
	}
}

// dockerRegistries are those that all machines pull from.
func dockerRegistries(t *testing.T) string {
	t.Helper()
	registries := os.Getenv("TOSKOSE_REGISTRIES")
	if registries == "" {
		t.Fatal("TOSKOSE_REGISTRIES names no registry that all nodes of the swarm reach")
	}
	return registries
}
