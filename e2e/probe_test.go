package e2e

import (
	"archive/tar"
	"fmt"
	"io"
	"net/http"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/pkg/stdcopy"

	"github.com/toskose/toskose/packager"
)

func TestAContainerOfComponents(t *testing.T) {
	t.Parallel()
	app := packageAs(t, dockerEngine(t), "testdata/probe", nil, func(string) string {
		return "nodes: {box: {components: {late: {user: \"65534:65534\"}}}}\n"
	})
	app.target = byCompose
	app.deploy(t)
	for _, part := range []struct {
		name string
		tell func(*testing.T, *application)
	}{
		{"a failing script answers 502 with its exit code and the end of its output", aScriptFails},
		{"an operation sees its own inputs and no password", anOperationsEnvironment},
		{"a start answers when its port accepts, and what it prints is in the container's output", startedIsUsable},
		{"docker stop lets every process end by itself", dockerStop},
	} {
		if !t.Run(part.name, func(t *testing.T) { part.tell(t, app) }) {
			return
		}
	}
}

func aScriptFails(t *testing.T, app *application) {
	status, said := app.ask(t, http.MethodPost, "/api/v1/node/box/failing/create")
	if status != http.StatusBadGateway {
		t.Fatalf("status %d, want 502\n%s", status, said.raw)
	}
	if said.ExitCode == nil || *said.ExitCode != 7 {
		t.Errorf("the exit code is not 7:\n%s", said.raw)
	}
	if !strings.HasSuffix(said.Stdout, "line 2000, which is not the end\n") || len(said.Stdout) > 8192 {
		t.Errorf("stdout is not the end of what the script wrote:\n%s", said.Stdout)
	}
	if said.Stderr != "the last words\n" {
		t.Errorf("stderr is %q", said.Stderr)
	}
	if state := app.state(t, "box/failing"); state != "deleted" {
		t.Errorf("the component is %q after a failure, want deleted", state)
	}
}

func anOperationsEnvironment(t *testing.T, app *application) {
	status, said := app.ask(t, http.MethodPost, "/api/v1/node/box/recorder/create")
	if status != http.StatusOK || len(said.Runs) != 1 {
		t.Fatalf("status %d\n%s", status, said.raw)
	}
	env := said.Runs[0].Stdout
	if !strings.Contains(env, "INPUT_COLOUR=green\n") {
		t.Errorf("its own input is not in its environment:\n%s", env)
	}
	if strings.Contains(env, "PASSWORD") || strings.Contains(env, "=red") {
		t.Errorf("its environment has what is none of its business:\n%s", env)
	}
}

func startedIsUsable(t *testing.T, app *application) {
	id := app.container(t, "box")
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, app.manager+"/api/v1/node/box/late/start", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.SetBasicAuth("admin", app.password)
	request.Header.Set("Prefer", "respond-async")
	status, said := app.answered(t, request)
	if status != http.StatusAccepted {
		t.Fatalf("status %d\n%s", status, said.raw)
	}
	eventually(t, "late waits", func() bool { return printed(t, app, id, "late:start | waiting as 65534 of 65534") != nil })
	if status, said := app.ask(t, http.MethodGet, "/api/v1/executions/"+said.ID); said.Outcome != "running" {
		t.Errorf("before its port accepts: status %d\n%s", status, said.raw)
	}
	inContainer(t, app.engine, id, "touch", "/tmp/listen")
	eventually(t, "the start has ended", func() bool {
		_, said = app.ask(t, http.MethodGet, "/api/v1/executions/"+said.ID)
		return said.Outcome != "running"
	})
	var listening float64
	eventually(t, "it says that it listens", func() bool {
		line := printed(t, app, id, "late:start | listening since ")
		return len(line) > 0 && len(strings.Fields(line[0])) > 0
	})
	if _, err := fmt.Sscan(printed(t, app, id, "late:start | listening since ")[0], &listening); err != nil {
		t.Fatal(err)
	}
	if ended := float64(said.Ended.UnixNano()) / 1e9; said.Outcome != "succeeded" || ended < listening {
		t.Errorf("it listened at %f, and its start ended at %f:\n%s", listening, ended, said.raw)
	}
	// What another component printed is there, too, and all else is the unit's own log.
	if len(printed(t, app, id, "failing:create | the last words")) != 1 {
		t.Error("what failing printed is not in the container's output once")
	}
	for _, line := range output(t, app, id) {
		if !strings.HasPrefix(line, "time=") && !slices.ContainsFunc([]string{"late:start | ", "failing:create | ", "recorder:create | "}, func(name string) bool {
			return strings.HasPrefix(line, name)
		}) {
			t.Errorf("this is of nobody: %q", line)
		}
	}
}

// printed returns what follows a beginning in the lines of a container's output.
func printed(t *testing.T, app *application, id, beginning string) (all []string) {
	t.Helper()
	for _, line := range output(t, app, id) {
		if rest, ok := strings.CutPrefix(line, beginning); ok {
			all = append(all, rest)
		}
	}
	return all
}

// output returns the lines of a container's output.
func output(t *testing.T, app *application, id string) []string {
	t.Helper()
	stream, err := app.engine.ContainerLogs(t.Context(), id, container.LogsOptions{ShowStdout: true, ShowStderr: true})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	var text strings.Builder
	if _, err := stdcopy.StdCopy(&text, &text, stream); err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n")
}

// recorders are the processes that the probe's start leaves. child is ended by
// its parent.
var recorders = []string{"daemon", "session", "grandchild", "main", "child"}

func dockerStop(t *testing.T, app *application) {
	id := app.container(t, "box")
	app.run(t, "box/recorder", "start")
	eventually(t, "every process is ready", func() bool {
		ready := inContainer(t, app.engine, id, "sh", "-c", "cat /record/* | grep -c ready || true")
		return strings.TrimSpace(ready) == fmt.Sprint(len(recorders))
	})
	noZombies(t, app, "box")
	patient := 600 // seconds; then the engine kills
	if err := app.engine.ContainerStop(t.Context(), id, container.StopOptions{Timeout: &patient}); err != nil {
		t.Fatal(err)
	}
	found, err := app.engine.ContainerInspect(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if found.State.Running || found.State.OOMKilled || found.State.ExitCode == 137 {
		t.Errorf("the container had to be killed: %+v", found.State)
	}
	gone, err := time.Parse(time.RFC3339Nano, found.State.FinishedAt)
	if err != nil {
		t.Fatal(err)
	}
	var last time.Time
	for name, text := range records(t, app, id) {
		events := map[string]time.Time{}
		for line := range strings.Lines(text) {
			var what string
			var seconds float64
			if _, err := fmt.Sscan(line, &what, &seconds); err != nil {
				t.Fatalf("record of %s: %q: %v", name, line, err)
			}
			events[what] = time.Unix(0, int64(seconds*1e9))
		}
		if events["end"].After(last) {
			last = events["end"]
		}
		if name != "child" && (events["TERM"].IsZero() || events["end"].IsZero()) {
			t.Errorf("%s was killed instead of ending by TERM: %q", name, text)
		}
	}
	// However slow the machine is: as long as a grace would last, nothing else takes.
	if after := gone.Sub(last); after >= packager.ProgramGrace*time.Second {
		t.Errorf("the container was gone %v after the last process had ended, as if it had waited for a grace", after)
	}
}

// noZombies waits until all that has ended in a container is reaped.
func noZombies(t *testing.T, app *application, node string) {
	t.Helper()
	eventually(t, "no zombie is left in "+node, func() bool {
		return !slices.ContainsFunc(processes(t, app.engine, app.container(t, node)), func(p process) bool { return p.state == "Z" })
	})
}

// records reads /record of a container that has ended.
func records(t *testing.T, app *application, id string) map[string]string {
	t.Helper()
	stream, _, err := app.engine.CopyFromContainer(t.Context(), id, "/record")
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	all := map[string]string{}
	for archive := tar.NewReader(stream); ; {
		header, err := archive.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if header.Typeflag == tar.TypeReg {
			data, err := io.ReadAll(archive)
			if err != nil {
				t.Fatal(err)
			}
			all[path.Base(header.Name)] = string(data)
		}
	}
	if len(all) != len(recorders) {
		t.Fatalf("%d records, want %d: %v", len(all), len(recorders), all)
	}
	return all
}
