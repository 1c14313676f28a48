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
	"os/exec"
	"path"
	"path/filepath"
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

// containers returns those of a service, all or the running ones, on machines that answer.
func (c *chaos) containers(t *testing.T, on []machine, service string, all bool) (found []place) {
	t.Helper()
	for _, m := range on {
		for _, labels := range [][]string{
			{"com.docker.compose.project=" + c.name, "com.docker.compose.service=" + service},
			{"com.docker.stack.namespace=" + c.name, "com.docker.swarm.service.name=" + c.name + "_" + service},
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
func (c *chaos) one(t *testing.T, on []machine, service string) (found place) {
	t.Helper()
	eventually(t, "one container of "+service+" runs", func() bool {
		all := c.containers(t, on, service, false)
		if len(all) == 1 {
			found = all[0]
		}
		return len(all) == 1
	})
	return found
}

// startedLast returns when the newest running container of a service was started.
func (c *chaos) startedLast(t *testing.T, on []machine, service string) (last time.Time) {
	t.Helper()
	for _, p := range c.containers(t, on, service, false) {
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

// killFirst kills the first process of a container by KILL, from outside: an engine that is
// asked to would take it for wanted.
func (p place) killFirst(t *testing.T) time.Time {
	t.Helper()
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

// killWithin kills the processes of a container whose command line has a word,
// which nobody has asked the unit for.
func (p place) killWithin(t *testing.T, word string) time.Time {
	t.Helper()
	said := inContainer(t, p.engine, p.ID, "python3", "-c", `
import os, sys, time
for pid in filter(str.isdigit, os.listdir("/proc")):
    command = open(f"/proc/{pid}/cmdline").read()
    if int(pid) != os.getpid() and sys.argv[1] in command:
        print(time.time())
        os.kill(int(pid), 9)
`, word)
	since, err := strconv.ParseFloat(strings.TrimSpace(strings.SplitN(said, "\n", 2)[0]), 64)
	if err != nil {
		t.Fatalf("no process has %q in its command line: %q", word, said)
	}
	return time.Unix(0, int64(since*1e9))
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

// processorTime returns what a container has used.
func (p place) processorTime(t *testing.T) time.Duration {
	t.Helper()
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
		for lines := json.NewDecoder(archive); lines.More(); {
			var e wire.Entry
			if err := lines.Decode(&e); err != nil {
				t.Fatal(err)
			}
			all = append(all, e)
		}
	}
}

// keepLogs writes what containers have printed to build/, to be read where something
// took longer than it should.
func (c *chaos) keepLogs(t *testing.T, on []machine, name string) {
	t.Helper()
	dir := filepath.Join("..", "build", name)
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o755)); err != nil {
		t.Fatal(err)
	}
	for _, service := range []string{"toskose-manager", "backend", "frontend"} {
		for _, p := range c.containers(t, on, service, true) {
			lines := output(t, &application{engine: p.engine}, p.ID)
			write(t, filepath.Join(dir, fmt.Sprintf("%s-%d-%s.log", service, p.number, p.ID[:12])), strings.Join(lines, "\n")+"\n")
		}
	}
}

// journalsAgree compares what scripts wrote down with the journals of the containers
// that there are: nothing ran that no journal has, nothing twice that it has once.
func (c *chaos) journalsAgree(t *testing.T, on []machine, columns int, services ...string) {
	t.Helper()
	t.Run("the journals say the same", func(t *testing.T) {
		_, byHost := c.ran(t)
		containers, executions := 0, 0
		for _, service := range services {
			for _, p := range c.containers(t, on, service, true) {
				containers++
				executions += agrees(t, service+" "+p.ID[:12], p.journal(t), byHost[p.ID[:12]])
			}
		}
		cells := []string{fmt.Sprintf("journals of the %d containers that are left, compared", containers), fmt.Sprintf("%d executions", executions)}
		c.row(append(cells, make([]string, columns-len(cells))...)...)
	})
}

// agrees returns how many executions a journal has.
func agrees(t *testing.T, name string, journal []wire.Entry, written runs) (executions int) {
	t.Helper()
	begun, succeeded, ids := runs{}, runs{}, map[string]int{}
	last := map[string]string{} // operation by component, unless what it left has ended
	for _, e := range journal {
		switch x := e.Execution; {
		case e.Kind == wire.EntryBoot:
			clear(last)
		case e.Kind == wire.EntryGone:
			delete(last, e.Component)
		case e.Kind == wire.EntryExit && x != nil && x.Outcome == wire.OutcomeSucceeded:
			if last[e.Component] == x.Operation {
				t.Errorf("%s: %s.%s succeeded twice in a row: %s", name, e.Component, x.Operation, x.ID)
			}
			last[e.Component] = x.Operation
		}
		x := e.Execution
		if x == nil {
			continue
		}
		operation := e.Component + "." + strings.TrimPrefix(x.Interface+"."+x.Operation, "Standard.")
		switch e.Kind { //nolint:exhaustive // the others run nothing
		case wire.EntryStart:
			begun[operation]++
			ids[x.ID]++
		case wire.EntryExit:
			if x.Outcome == wire.OutcomeSucceeded {
				succeeded[operation]++
			}
		}
	}
	for id, n := range ids {
		if n > 1 {
			t.Errorf("%s: execution %s began %d times", name, id, n)
		}
	}
	// One that was begun may have been ended before its script wrote it down.
	for operation, n := range written {
		if n > begun[operation] {
			t.Errorf("%s: %s ran %d times, and its journal has %d", name, operation, n, begun[operation])
		}
	}
	for operation, n := range succeeded {
		if n > written[operation] {
			t.Errorf("%s: %s succeeded %d times, and ran %d times", name, operation, n, written[operation])
		}
	}
	return begun.sum()
}

// compose runs whichever Compose is installed on the application's files.
func (c *chaos) compose(t *testing.T, args ...string) {
	t.Helper()
	words := []string{found(t, "docker"), "compose"}
	if exec.CommandContext(t.Context(), "docker", "compose", "version").Run() != nil {
		words = []string{found(t, "docker-compose")}
	}
	words = append(words, "-p", c.name, "-f", filepath.Join(c.dir, "docker-compose.local.yml"))
	must(t, "", words[0], append(words[1:], args...)...)
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
