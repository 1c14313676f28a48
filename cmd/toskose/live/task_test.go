package live_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toskose/toskose/cmd/toskose/cli"
	"github.com/toskose/toskose/cmd/toskose/live"
	"github.com/toskose/toskose/manager/client"
	"github.com/toskose/toskose/unit/wire"
)

// tasked is a manager of the task "load" on the node "box", and of "api" beside it. Whoever
// asks for load gets one status after the other; the last stays.
type tasked struct {
	mu     sync.Mutex
	then   []client.Task
	asked  []string
	events []client.Event
}

func (m *tasked) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	next := func() *client.Task {
		now := m.then[0]
		if len(m.then) > 1 {
			m.then = m.then[1:]
		}
		return &now
	}
	load := func(t *client.Task) client.Component {
		return client.Component{Name: "load", Node: "box", State: "configured", Task: t, Replicas: []client.Replica{{Address: "10.0.0.1:9001", State: "configured"}}}
	}
	var answer any
	switch body, _ := io.ReadAll(r.Body); r.Method + " " + r.URL.Path {
	case "GET /api/v1/app":
		api := client.Component{Name: "api", Node: "box", State: "running", Operations: []client.Operation{{Name: "Standard.start"}}}
		job := client.Node{Name: "loader", Kind: "job", State: "stopped", Why: "a job, run by its orchestrator", Job: []string{"tool", "import"}}
		answer = client.App{Name: "shop", Components: []client.Component{api, load(&m.then[0])}, Nodes: []client.Node{{Name: "box"}, job}}
	case "GET /api/v1/node/box/load":
		answer = load(next())
	case "GET /api/v1/app/goal":
		answer = client.Goal{Obstacles: []client.Obstacle{{Component: "load", Reason: "it waits for feature of \"db\""}, {Component: "api", Reason: "other"}}}
	case "POST /api/v1/app/plan": // its protocol calls it done when it is completed
		var asked struct{ States map[string]string }
		_ = json.Unmarshal(body, &asked)
		state := asked.States["load"]
		if state == "" || state == "up" {
			state = "done"
		}
		answer = client.Plan{Targets: map[string]string{"load": state}}
	case "GET /api/v1/events":
		answer = map[string]any{"events": m.events, "next": ""}
	default:
		m.asked = append(m.asked, strings.TrimSpace(fmt.Sprintf("%s %s %s%s", r.Method, r.URL.Path, r.URL.RawQuery, body)))
		answer = client.Goal{Acting: true}
		if strings.HasSuffix(r.URL.Path, "executions") {
			answer = client.History{Executions: []client.Execution{{
				ID: "x", Component: "load", Interface: "Task", Operation: "run", Part: &client.Part{Index: 2, Attempt: 1}, Runs: []client.Run{{Replica: "10.0.0.1:9001", Outcome: "failed", Exit: wire.Exit{ExitCode: code(9)}, Output: wire.Output{Stdout: "part 2\n"}}},
			}}}
		}
	}
	_ = json.NewEncoder(w).Encode(answer)
}

// packaged is as much of a packaged application as says where its manager is.
func packaged(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	put(t, filepath.Join(dir, "docker-compose.yml"), "x-toskose: {app: shop, manager: {port: 10000, user: admin}}\n")
	if err := os.Mkdir(filepath.Join(dir, "secrets"), 0o700); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "secrets", "manager-password"), "pw\n")
	return dir
}

// ask runs a command with a manager, and returns what it prints, what it says beside, and its
// exit code.
func (m *tasked) ask(t *testing.T, words ...string) (out, said string, exit int) {
	t.Helper()
	server := httptest.NewServer(m)
	defer server.Close()
	dir := packaged(t)
	var stdout, stderr bytes.Buffer
	quiet := false
	for _, cmd := range live.Commands(cli.Streams{In: strings.NewReader(""), Out: &stdout, Err: &stderr}, []string{"TOSKOSE_CONFIG=" + dir}, &quiet) {
		if cmd.Name() != words[0] {
			continue
		}
		cmd.SetArgs(append(words[1:], "--dir", dir, "--manager", server.URL))
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		if err := cmd.ExecuteContext(t.Context()); err != nil {
			exit = cli.CodeOf(err)
			var usage cli.UsageError
			if errors.As(err, &usage) {
				exit = cli.ExitUsage
			}
			fmt.Fprintln(&stderr, err)
		}
	}
	return stdout.String(), stderr.String(), exit
}

func code(n int) *int { return &n }

// left is how long it takes until something is tried again.
var left = regexp.MustCompile(`\bin +\d+ s`)

// soon is a status with what is tried again.
func soon() client.Task {
	at := time.Now().Add(time.Hour)
	return client.Task{Phase: client.TaskRetrying, Completions: 5, Parallelism: 2, Completed: 3, Failed: 1, Until: at, Indexes: []client.TaskIndex{
		{Index: 0, Phase: client.TaskCompleted, Replica: "10.0.0.1:9001", Attempts: 1, ExitCode: code(0), Execution: "goal-0"},
		{Index: 1, Phase: client.TaskFailed, Replica: "10.0.0.1:9001", Attempts: 4, ExitCode: code(3), Execution: "goal-1"},
		{Index: 2, Phase: client.TaskRetrying, Attempts: 2, Signal: "SIGKILL", Until: at},
	}}
}

var (
	waits     = client.Task{Phase: client.TaskWaiting, Completions: 5}
	runs      = client.Task{Phase: client.TaskRunning, Completions: 5, Running: 2}
	completed = client.Task{Phase: client.TaskCompleted, Completions: 5, Completed: 5, ExitCode: code(0)}
)

// failed is a status of what has failed with a code or by a signal.
func failed(exit *int, signal string) client.Task {
	return client.Task{Phase: client.TaskFailed, Reason: "index 1 failed 4 times", Completions: 5, Completed: 4, Failed: 1, ExitCode: exit, Signal: signal}
}

// overdue is the status of a task whose deadline has ended an index by a signal.
func overdue() client.Task {
	t := failed(code(124), "")
	t.Reason = "its deadline of 10s has passed"
	t.Indexes = []client.TaskIndex{{Index: 1, Phase: client.TaskFailed, Attempts: 1, Signal: "SIGTERM", TimedOut: true}}
	return t
}

func TestTasksFromTheCommandLine(t *testing.T) {
	t.Parallel()
	const run = "POST /api/v1/app/tasks/load/run "
	for _, c := range []struct {
		args  string
		then  []client.Task
		asked string
		out   string
		said  string
		exit  int
	}{
		{"ps", []client.Task{soon()}, "", "box      load           configured   -       0          3 of 5, 1 failed, next try in 8 s\n", "", 0},
		{"ps load", []client.Task{soon()}, "", "load: retrying, 3 of 5, 1 failed, next try in 8 s\nINDEX   PHASE       REPLICA         ATTEMPTS   EXIT      NEXT TRY    EXECUTION\n" +
			"0       completed   10.0.0.1:9001   1          0         -           goal-0\n1       failed      10.0.0.1:9001   4          3         -           goal-1\n" +
			"2       retrying    -               2          SIGKILL   in 8 s   -\n", "", 0},
		{"ps load -o json", []client.Task{soon()}, "", `"phase": "retrying"`, "", 0},
		{"ps", []client.Task{waits}, "", "loader   tool, import   stopped      -       -          a job, run by its orchestrator\n", "", 0},
		{"ps import", []client.Task{waits}, "", "", `component "import" is run by its orchestrator: container "loader" is a job, which is stopped`, 1},
		{"run import", []client.Task{waits}, "", "", `component "import" is run by its orchestrator: container "loader" is a job, which is stopped`, 1},
		{"run tool create", []client.Task{waits}, "", "", `component "tool" is run by its orchestrator: container "loader" is a job, which is stopped`, 1},
		{"ps api", []client.Task{waits}, "", "", `component "api" is not a task`, 1},
		{"run load", []client.Task{waits, runs, soon(), completed}, run + `{"again":false}`, "INDEX", "load: 0 of 5; load: it waits for feature of \"db\"\nload: 0 of 5, 2 running\nload: 3 of 5, 1 failed, next try in 8 s\nload: 5 of 5\n", 0},
		{"run load --again", []client.Task{completed}, run + `{"again":true}`, "INDEX", "load: 5 of 5\n", 0},
		{"run load", []client.Task{runs, failed(code(3), "")}, run + `{"again":false}`, "INDEX", "task \"load\" has failed: index 1 failed 4 times\n", 3},
		{"run load -o json", []client.Task{failed(nil, "SIGKILL")}, run + `{"again":false}`, `"signal": "SIGKILL"`, "has failed", 137},
		{"run api", []client.Task{waits}, "", "", `component "api" is not a task: name the OPERATION to run: Standard.start`, cli.ExitUsage},
		{"run api start --again", []client.Task{waits}, "", "", "--again is for a task", cli.ExitUsage},
		{"run load --replica a", []client.Task{waits}, "", "", "--replica is for an OPERATION", cli.ExitUsage},
		{"wait load --for done", []client.Task{runs, soon(), completed}, "", "", "", 0},
		{"wait load --for done", []client.Task{runs, failed(code(3), "")}, "", "", "index 1 failed 4 times", 3},
		{"wait load --for done", []client.Task{failed(nil, "SIGTERM")}, "", "", "index 1 failed 4 times", 143},
		{"wait load --for done", []client.Task{failed(nil, "")}, "", "", "index 1 failed 4 times", 1},
		{"wait load --for done", []client.Task{overdue()}, "", "", "its deadline of 10s has passed", 124},
		{"run load", []client.Task{overdue()}, run + `{"again":false}`, "1       failed   -         1          timeout   -          -\n", "its deadline of 10s has passed", 124},
		{"wait load", []client.Task{failed(code(4), "")}, "", "", "index 1 failed 4 times", 4},
		{"wait load --for up", []client.Task{failed(code(5), "")}, "", "", "index 1 failed 4 times", 5},
		{"wait load --for configured", []client.Task{failed(code(6), "")}, "", "", "", 0},
		{"wait load --for done --timeout 300ms", []client.Task{waits}, "", "", `after 300ms task "load" is waiting: 0 of 5; load: it waits for feature of "db"`, 1},
		{"history load --index 2 --printed", []client.Task{waits}, "GET /api/v1/executions component=load&index=2&limit=20&output=true", "    part 2\n", "", 0},
		{"history load", []client.Task{waits}, "GET /api/v1/executions component=load&limit=20&output=false", "Task.run[2]", "", 0},
	} {
		t.Run(c.args, func(t *testing.T) {
			t.Parallel()
			m := &tasked{then: c.then}
			out, said, exit := m.ask(t, strings.Fields(c.args)...)
			out, said = left.ReplaceAllString(out, "in 8 s"), left.ReplaceAllString(said, "in 8 s")
			if exit != c.exit || !strings.Contains(out, c.out) || !strings.Contains(said, c.said) || strings.Join(m.asked, "\n") != c.asked {
				t.Errorf("exit %d, asked %q, said %q:\n%s", exit, m.asked, said, out)
			}
		})
	}
}

func TestEventsSayHowFarTasksAre(t *testing.T) {
	t.Parallel()
	now := soon()
	task, err := json.Marshal(now)
	if err != nil {
		t.Fatal(err)
	}
	m := &tasked{events: []client.Event{{Kind: "task", Time: now.Until.Add(-8 * time.Second), Node: "box", Component: "load", Task: task}}}
	if out, said, exit := m.ask(t, "events"); exit != 0 || !strings.Contains(out, "box/load  retrying: 3 of 5, 1 failed, next try in 8 s\n") {
		t.Errorf("exit %d, %s: %s", exit, said, out)
	}
}

func TestAShellProposesTasks(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(&tasked{then: []client.Task{waits}})
	t.Cleanup(server.Close)
	quiet := false
	for _, cmd := range live.Commands(cli.Streams{}, nil, &quiet) {
		if cmd.Name() != "ps" {
			continue
		}
		cmd.SetContext(t.Context())
		if err := cmd.ParseFlags([]string{"--dir", packaged(t), "--manager", server.URL}); err != nil {
			t.Fatal(err)
		}
		if names, _ := cmd.ValidArgsFunction(cmd, nil, ""); len(names) != 1 || names[0] != "load" {
			t.Errorf("proposed are %q", names)
		}
	}
}
