package rpc

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/toskose/toskose/internal/freeport"
	"github.com/toskose/toskose/internal/testunit"
)

const realConf = `[supervisord]
nodaemon=true
logfile=%[1]s/unit.log
toskose_journal=%[1]s/journal
[inet_http_server]
port=127.0.0.1:%[2]s
username=u
password=p
[supervisorctl]
[program:api.start]
process_name=start
command=/bin/sh -c 'echo begun; exec sleep 3600'
autostart=false
autorestart=false
startsecs=0
stdout_logfile=%[1]s/start.log
toskose_component=api
toskose_interface=Standard
toskose_operation=start
[group:api]
programs=api.start
[toskose:component:api]
toskose_protocol={"initial":"down","states":[{"name":"down"},{"name":"up"}],"transitions":[{"source":"down","target":"up","interface":"Standard","operation":"start"}]}
`

// realUnit runs toskose-unit until the test ends, and returns its port and its
// configuration file.
func realUnit(t *testing.T) (string, string) {
	t.Helper()
	return runUnit(t, realConf)
}

func runUnit(t *testing.T, configuration string) (string, string) {
	t.Helper()
	dir := t.TempDir()
	port := strconv.Itoa(freeport.Find(t))
	conf := filepath.Join(dir, "supervisord.conf")
	if err := os.WriteFile(conf, fmt.Appendf(nil, configuration, dir, port), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	unit := exec.CommandContext(ctx, testunit.Shipped(t), "run", "-c", conf)
	unit.Cancel = func() error { return unit.Process.Signal(syscall.SIGTERM) }
	unit.WaitDelay = patience
	var out strings.Builder
	unit.Stdout, unit.Stderr = &out, &out
	if err := unit.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = unit.Wait()
		if code := unit.ProcessState.ExitCode(); code != 0 || t.Failed() {
			t.Errorf("the unit ended with %d: %s", code, &out)
		}
	})
	healthy(t, "http://127.0.0.1:"+port+"/healthz")
	return port, conf
}

// healthy asks until the unit answers that it is.
func healthy(t *testing.T, url string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for deadline := time.After(patience); ; {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		if response, err := client.Do(request); err == nil {
			response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return
			}
		}
		select {
		case <-ticker.C:
		case <-deadline:
			t.Fatal("the unit does not become healthy")
		}
	}
}

func TestSupervisorctlDrivesARealUnit(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds and runs a unit; not with -short")
	}
	ctl := tool(t, "supervisorctl", "Debian package supervisor")
	port, conf := realUnit(t)
	for _, tt := range []struct {
		command, want string // a regular expression
		exit          int
	}{
		{"status", `^api:start +STOPPED +Not started\n$`, 3},
		{"avail", `^api:start +in use +manual +999:999\n$`, 0},
		{"start api:start", `^api:start: started\n$`, 0},
		{"start api:start", `^api:start: ERROR \(already started\)\n$`, 0},
		{"status api:start", `^api:start +RUNNING +pid \d+, uptime \d:\d\d:\d\d\n$`, 0},
		{"pid", `^\d+\n$`, 0},
		{"pid api:start", `^\d+\n$`, 0},
		{"tail api:start", `^begun\n\n$`, 0},
		{"restart api:start", `^api:start: stopped\napi:start: started\n$`, 0},
		{"stop api:*", `^api:start: stopped\n$`, 0},
		{"status", `^api:start +(STOPPED|EXITED) +\w+ \d+ \d+:\d+ [AP]M\n$`, 3},
		{"start api:nothing", `^api:nothing: ERROR \(no such process\)\n$`, 1},
		{"start other", `^other: ERROR \(no such process\)\n$`, 1},
		{"clear api:start", `^api:start: cleared\n$`, 0},
		{"maintail", `.`, 0},
	} {
		args := []string{"-c", conf, "-s", "http://127.0.0.1:" + port, "-u", "u", "-p", "p"}
		got, exit := ran(t, exec.CommandContext(t.Context(), ctl, append(args, strings.Fields(tt.command)...)...))
		if !regexp.MustCompile(tt.want).MatchString(got) || exit != tt.exit {
			t.Errorf("%s: exit %d, %q, want %d, %s", tt.command, exit, got, tt.exit, tt.want)
		}
	}
}

func TestARealUnitExecutesOnceAndJournalsIt(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds and runs a unit; not with -short")
	}
	port, _ := realUnit(t)
	url := "http://127.0.0.1:" + port
	do := func(method, path, body string) (*http.Response, string) {
		request, err := http.NewRequestWithContext(t.Context(), method, url+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		request.SetBasicAuth("u", "p")
		request.Header.Set("Content-Type", "application/json")
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience}
		response, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response, string(text)
	}
	before, _ := do(http.MethodGet, "/journal", "")
	cursor := before.Header.Get("Toskose-Cursor")
	request := `{"id": "e1", "component": "api", "operation": "start"}`
	for _, status := range []int{http.StatusCreated, http.StatusOK} { // the same id is the same execution
		response, got := do(http.MethodPost, "/executions", request)
		if response.StatusCode != status || response.Header.Get("Location") != "/executions/e1" || !strings.Contains(got, `"id":"e1"`) {
			t.Fatalf("execute: %s %v %s", response.Status, response.Header, got)
		}
	}
	var lines strings.Builder
	for deadline := time.Now().Add(patience); !strings.Contains(lines.String(), `"outcome":"succeeded"`); {
		if time.Now().After(deadline) {
			t.Fatalf("it does not succeed: %s", lines.String())
		}
		response, text := do(http.MethodGet, "/journal?wait=2s&after="+cursor, "")
		if response.StatusCode != http.StatusOK || response.Header.Get("Toskose-Reset") != "" {
			t.Fatalf("journal: %d, header %v, %s", response.StatusCode, response.Header, text)
		}
		cursor = response.Header.Get("Toskose-Cursor")
		lines.WriteString(text)
	}
	if got := strings.Count(lines.String(), `"kind":"start"`); got != 1 {
		t.Errorf("%d starts: %s", got, lines.String())
	}
	if _, got := do(http.MethodGet, "/components", ""); !strings.Contains(got, `"state":"up"`) {
		t.Errorf("components: %s", got)
	}
	if response, text := do(http.MethodGet, "/journal?after=other:7", ""); response.Header.Get("Toskose-Reset") != "true" {
		t.Errorf("a cursor of another instance: header %v, %s", response.Header, text)
	}
}

func TestWithoutAWritableJournalOrdinaryProgramsStartAndOperationsDoNot(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds and runs a unit; not with -short")
	}
	api := strings.Replace(realConf, "exec sleep 3600'\nautostart=false\n", "touch %[1]s/operated; exec sleep 3600'\nautostart=true\n", 1)
	port, conf := runUnit(t, strings.Replace(api, "%[1]s/journal", "/proc%[1]s/journal", 1)+`[program:web]
command=/bin/sh -c 'touch %[1]s/up; exec sleep 3600'
startsecs=0
`)
	up := filepath.Join(filepath.Dir(conf), "up")
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(up); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the ordinary program does not start")
		}
	}
	_, r := dialed(t, "127.0.0.1:"+port, "POST /executions HTTP/1.1\r\nHost: x\r\n"+login+
		"Content-Type: application/json\r\nContent-Length: 39\r\n\r\n"+`{"component":"api","operation":"start"}`)
	response, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if text, _ := io.ReadAll(response.Body); response.StatusCode != http.StatusServiceUnavailable || !strings.Contains(string(text), "JOURNAL_UNAVAILABLE") {
		t.Errorf("an operation is answered with %d, %s", response.StatusCode, text)
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(conf), "operated")); err == nil {
		t.Error("an operation that starts by itself has run")
	}
}

// TestAStartThatFailsAtOnceIsAnsweredAsAFailure: its end comes while the call that
// began it goes on.
func TestAStartThatFailsAtOnceIsAnsweredAsAFailure(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds and runs a unit; not with -short")
	}
	const programs, calls = 100, 10
	port, _ := runUnit(t, fmt.Sprintf(`[supervisord]
nodaemon=true
logfile=%%[1]s/unit.log
[inet_http_server]
port=127.0.0.1:%%[2]s
username=u
password=p
[program:nowhere]
process_name=%%%%(process_num)s
numprocs=%d
command=/bin/true
directory=%%[1]s/none
autostart=false
startsecs=600
startretries=0
`, programs))
	for range calls {
		const call = `<methodCall><methodName>supervisor.startProcessGroup</methodName><params><param><value>nowhere</value></param></params></methodCall>`
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://u:p@127.0.0.1:"+port+"/RPC2", strings.NewReader(call))
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		said, err := io.ReadAll(response.Body)
		response.Body.Close()
		if failed := strings.Count(string(said), "SPAWN_ERROR"); err != nil || failed != programs {
			t.Fatalf("%d of %d are answered as SPAWN_ERROR, %v\n%s", failed, programs, err, said)
		}
	}
}
