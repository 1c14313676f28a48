//go:build !windows

package main

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toskose/toskose/cmd/toskose/cli"
	"github.com/toskose/toskose/cmd/toskose/contexts"
	"github.com/toskose/toskose/internal/testapp"
	"github.com/toskose/toskose/internal/testunit"
	"github.com/toskose/toskose/manager/access"
	"github.com/toskose/toskose/manager/client"
	"github.com/toskose/toskose/spec"
)

// running is an application with a component on two replicas: two real units, and
// a real manager.
type running struct {
	folder string
	server *httptest.Server
	units  []*testunit.Unit
}

func newRunning(t *testing.T) *running {
	t.Helper()
	var units []*testunit.Unit
	var found []netip.AddrPort
	for range 2 {
		u := testunit.Run(t, "unit's", testunit.API)
		units, found = append(units, u), append(found, u.Addr)
	}
	model := testapp.Shop()
	model.Groups = []spec.Group{{Name: "front", Members: []string{"api"}}}
	server := testapp.Serve(t, model, testapp.Options{
		Units: found, Passwords: func(string) []string { return []string{"unit's"} },
		Access: access.Options{First: "admin", Password: access.Always("pw")},
	})
	r := &running{packagedFolder(t), server, units}
	r.want(t, "wait backend --for running", cli.ExitOK)
	return r
}

// toskose runs a command, and returns what it printed.
func (r *running) toskose(ctx context.Context, command string, out *testunit.Output) int {
	args := strings.Fields(command)
	at := len(args)
	if args[0] == "__complete" { // of the last word
		at--
	}
	args = slices.Insert(args, at, "--dir", r.folder, "--manager", r.server.URL)
	return run(ctx, args, environment{out: out, err: out})
}

// follow runs a command that goes on until ctx ends.
func (r *running) follow(ctx context.Context, command string, out io.Writer) int {
	return run(ctx, append(strings.Fields(command), "--dir", r.folder, "--manager", r.server.URL), environment{out: out, err: io.Discard})
}

// want runs a command that exits with a code and prints some words, and returns
// all that it printed.
func (r *running) want(t *testing.T, command string, code int, words ...string) string {
	t.Helper()
	var out testunit.Output
	if got := r.toskose(t.Context(), command, &out); got != code {
		t.Fatalf("%s: exit %d, want %d:\n%s", command, got, code, out.String())
	}
	for _, word := range words {
		if !strings.Contains(out.String(), word) {
			t.Errorf("%s: no %q in\n%s", command, word, out.String())
		}
	}
	return out.String()
}

func TestCommandsOfARunningApplication(t *testing.T) {
	t.Parallel()
	r := newRunning(t)
	r.want(t, "plan --goal api=started", cli.ExitOK, "api:Standard.configure", "created to configured", "configured to started")
	r.want(t, "plan --format plan", cli.ExitOK, "api:Standard.start")
	r.want(t, "plan --goal apl=up", cli.ExitOK, `no component, container or group "apl"`)

	r.want(t, "run api configure -i code=3", 3, "failed with exit code 3", "configured", "on port 80", "==> 127.0.0.1:")
	r.want(t, "run api start", cli.ExitFailed, `not allowed in state "created"`)
	r.want(t, "run apl start", cli.ExitFailed, `"apl" is not a component of "shop"; did you mean "api"?`)
	r.want(t, "run api fly", cli.ExitFailed, "fly")
	r.want(t, "run api configure -i port", cli.ExitUsage, "NAME=VALUE")
	var x client.Execution
	if err := json.Unmarshal([]byte(r.want(t, "run -q -o json api configure -i port=81", cli.ExitOK)), &x); err != nil || len(x.Runs) != 2 || x.Outcome != "succeeded" {
		t.Errorf("as JSON: %+v, %v", x, err)
	}

	r.want(t, "wait", cli.ExitFailed, "no goal is set")
	r.want(t, "wait api", cli.ExitFailed, "the goal does not include")
	r.want(t, "wait --for up", cli.ExitUsage, "--for needs")
	r.want(t, "wait api --for started --timeout 10ms", cli.ExitFailed, "after 10ms api is configured, not started")
	r.want(t, "wait api --for flying", cli.ExitFailed, "flying")
	r.want(t, "wait front", cli.ExitFailed, `the goal does not include "front"`)
	r.want(t, "wait back", cli.ExitUsage, `no component, container or group "back"`)
	r.want(t, "goal apl=up", cli.ExitUsage, `no component, container or group "apl"; did you mean "api"?`)
	r.want(t, "up", cli.ExitOK, "2 of 2")
	r.want(t, "wait", cli.ExitOK)
	r.want(t, "wait api", cli.ExitOK)
	r.want(t, "wait api --for up", cli.ExitOK)
	r.want(t, "wait front", cli.ExitOK)
	r.want(t, "goal api=configured --no-wait", cli.ExitOK)
	r.want(t, "wait front", cli.ExitOK)
	r.want(t, "ps", cli.ExitOK, "configured")
	r.want(t, "up", cli.ExitOK, "2 of 2")
	r.want(t, "wait backend --for up", cli.ExitOK)
	r.want(t, "ps", cli.ExitOK, "started")
	r.want(t, "ps -o json", cli.ExitOK, `"state": "started"`)
	r.want(t, "ps -o yaml", cli.ExitOK, "    state: started\n")
	r.want(t, "ps -o wide", cli.ExitOK, "REPLICA")
	r.want(t, "ps -o csv", cli.ExitUsage, "table, wide, json, yaml")

	r.want(t, "wait backend -o json", cli.ExitOK, `"done": true`)
	r.want(t, "wait -o yaml", cli.ExitOK, "\ndone: true\n")
	r.want(t, "restart api -o json", cli.ExitOK, `"operation":"stop"`, `"operation":"start"`, `"outcome":"succeeded"`)
	r.want(t, "restart api", cli.ExitOK, "api:Standard.stop on 127.0.0.1", "api:Standard.start on 127.0.0.1")
	var g client.Goal
	if err := json.Unmarshal([]byte(r.want(t, "goal -o json", cli.ExitOK)), &g); err != nil || len(g.Holds) > 0 {
		t.Errorf("after a restart the goal is %+v, %v", g, err)
	}
	r.want(t, "restart nobody", cli.ExitFailed, "nobody")

	r.want(t, "__complete run a", cli.ExitOK, "api\n", ":4\n")
	r.want(t, "__complete run api Standard.st", cli.ExitOK, "Standard.start\nStandard.stop\n", ":4\n")
	r.want(t, "__complete wait b", cli.ExitOK, "backend\n")
	r.want(t, "__complete goal a", cli.ExitOK, "api=\n", ":6\n")
}

// TestLogsHistoryAndTopOfARunningApplication asks the real manager what its units have
// executed, printed and use; then for what is left of it where they were killed.
func TestLogsHistoryAndTopOfARunningApplication(t *testing.T) {
	t.Parallel()
	r := newRunning(t)
	r.want(t, "run api configure -i port=81", cli.ExitOK)
	r.want(t, "run api configure -i code=3", cli.ExitFailed, "not allowed")
	r.want(t, "run api start", cli.ExitOK)

	var usage []struct {
		Component, Replica, State string
		Processes                 []client.Process
	}
	if err := json.Unmarshal([]byte(r.want(t, "top api --interval 1ms -o json", cli.ExitOK)), &usage); err != nil || len(usage) != 2 || len(usage[0].Processes) == 0 || usage[0].State != "started" {
		t.Errorf("top: %+v, %v", usage, err)
	}
	r.want(t, "top --interval 1ms", cli.ExitOK, "NODE", "backend   api", "started   1", "MiB")
	r.want(t, "top nothing", cli.ExitFailed, `"nothing" is neither a running component nor a container with components`)

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	followed := &until{what: "api:Standard.start@" + r.units[1].Addr.String() + " | up\n", end: func() {}}
	both := &until{what: "api:Standard.start@" + r.units[0].Addr.String() + " | up\n", end: func() {}}
	ended := make(chan int)
	go func() { ended <- r.follow(ctx, "logs api/start -f", io.MultiWriter(followed, both)) }()
	followed.await(ctx, t)
	both.await(ctx, t)
	cancel()
	if code := <-ended; code != cli.ExitOK {
		t.Errorf("logs -f: exit %d after an interrupt", code)
	}
	r.want(t, "logs", cli.ExitOK, "| configured\n", "| on port 81\n", "| up\n")
	if out := r.want(t, "logs backend/api/configure --stderr --grep port --no-prefix -n 5", cli.ExitOK); out != "on port 81\non port 81\n" {
		t.Errorf("logs of what was asked for: %q", out)
	}

	r.want(t, "run api stop", cli.ExitOK)
	for _, u := range r.units {
		u.Crash()
	}
	heard := func() bool {
		return !strings.Contains(r.want(t, "history -o json", cli.ExitOK), `"missing"`)
	}
	for deadline := time.Now().Add(time.Minute); !heard(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the units are not heard again")
		}
	}
	r.want(t, "history", cli.ExitOK, "Standard.configure   admin   127.0.0.1:", "Standard.stop ", "succeeded   0")
	r.want(t, "history api/configure --printed", cli.ExitOK, "\n    configured\n    on port 81\n")
	var h client.History
	if err := json.Unmarshal([]byte(r.want(t, "history api/Standard.configure --outcome succeeded -o json", cli.ExitOK)), &h); err != nil || len(h.Executions) != 1 ||
		len(h.Executions[0].Runs) != 2 || h.Executions[0].Runs[1].Stderr != "on port 81\n" || h.Executions[0].By != "admin" {
		t.Errorf("the history after the units were killed: %+v, %v", h, err)
	}
	r.want(t, "history --by ann", cli.ExitOK, "STARTED")
}

// TestNamesAreCompletedFromTheRunningApplication asks as a shell does.
func TestNamesAreCompletedFromTheRunningApplication(t *testing.T) {
	t.Parallel()
	r := newRunning(t)
	first, second := r.units[0].Addr.String(), r.units[1].Addr.String()
	for command, want := range map[string][]string{
		"logs ":                  {"api", "api/Standard.configure", "api/Standard.start", "api/Standard.stop", "backend"},
		"logs api/Standard.c":    {"api/Standard.configure"},
		"logs api b":             {"backend"},
		"logs --replica ":        {first, second},
		"history ":               {"api"},
		"top ":                   {"api", "backend"},
		"top api ":               {"backend"},
		"restart a":              {"api"},
		"run ":                   {"api"},
		"run api Standard.s":     {"Standard.start", "Standard.stop"},
		"run api start ":         {},
		"run api --replica 127.": {first, second},
		"down ":                  {"api", "backend"},
		"up b":                   {"backend"},
		"goal resume ":           {"api", "backend"},
	} {
		got := r.completions(t, command)
		if !slices.Equal(got, sorted(want)) {
			t.Errorf("%s proposes %q, want %q", command, got, sorted(want))
		}
	}
	r.server.Close()
	if got := r.completions(t, "logs "); len(got) > 0 {
		t.Errorf("without a manager there are %q", got)
	}
}

func sorted(names []string) []string {
	slices.Sort(names)
	return names
}

// completions returns what a shell proposes for the last word of a command.
func (r *running) completions(t *testing.T, command string) (names []string) {
	t.Helper()
	words := append(strings.Fields(command), "")
	if !strings.HasSuffix(command, " ") {
		words = words[:len(words)-1]
	}
	args := slices.Insert(words, 1, "--dir", r.folder, "--manager", r.server.URL)
	var out, said testunit.Output
	if code := run(t.Context(), append([]string{"__complete"}, args...), environment{out: &out, err: &said}); code != cli.ExitOK {
		t.Errorf("%s: exit %d: %s", command, code, said.String())
	}
	for line := range strings.Lines(out.String()) {
		if name, _, _ := strings.Cut(strings.TrimSpace(line), "\t"); name != "" && !strings.HasPrefix(name, ":") {
			names = append(names, name)
		}
	}
	return sorted(names)
}

// TestWhatWasDeployedIsAskedWithoutAFolder has the context that deploy makes.
func TestWhatWasDeployedIsAskedWithoutAFolder(t *testing.T) {
	t.Parallel()
	r := newRunning(t)
	_, port, err := net.SplitHostPort(r.server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	manifest := "x-toskose: {app: shop, manager: {port: " + port + ", user: admin}}\n"
	if err := os.WriteFile(filepath.Join(r.folder, "docker-compose.yml"), []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	environ := []string{"TOSKOSE_CONFIG=" + t.TempDir()}
	ask := func(args ...string) (int, string) {
		var out testunit.Output
		code := run(t.Context(), args, environment{out: &out, err: &out, environ: environ})
		return code, out.String()
	}
	if code, out := ask("ps"); code != cli.ExitFailed || !strings.Contains(out, "no context is selected") {
		t.Errorf("before: exit %d\n%s", code, out)
	}
	if err := contexts.Deployed(environ, "shop", r.folder); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"ps"}, {"ps", "--context", "shop"}, {"top", "--interval", "1ms"}} {
		if code, out := ask(args...); code != cli.ExitOK || !strings.Contains(out, r.units[0].Addr.String()) {
			t.Errorf("%q: exit %d\n%s", args, code, out)
		}
	}
	if code, out := ask("__complete", "run", ""); code != cli.ExitOK || !strings.HasPrefix(out, "api\n") {
		t.Errorf("completion: exit %d\n%s", code, out)
	}
	if err := contexts.Undeployed(environ, r.folder); err != nil {
		t.Fatal(err)
	}
	if code, out := ask("ps"); code != cli.ExitFailed || !strings.Contains(out, "no context is selected") {
		t.Errorf("after it was undeployed: exit %d\n%s", code, out)
	}
}

// TestTopIsPaintedOverItselfOnATerminal follows for two pages.
func TestTopIsPaintedOverItselfOnATerminal(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(&printing{})
	t.Cleanup(server.Close)
	for terminal, page := range map[bool]string{true: "\x1b[H2", false: "\n\n2"} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		out := &until{what: page, times: 3, end: cancel}
		code := run(ctx, []string{"top", "-f", "--interval", "1ms", "--dir", packagedFolder(t), "--manager", server.URL},
			environment{out: out, err: io.Discard, outTerminal: terminal})
		text := out.String()
		if code != cli.ExitOK || strings.Contains(text, "\x1b") != terminal || terminal != strings.Contains(text, "WHY\x1b[K\n") || terminal != strings.Contains(text, "\x1b[J") {
			t.Errorf("on a terminal: %v, exit %d: %q", terminal, code, text)
		}
	}
}

// events returns the lines of a command that prints events.
func events(t *testing.T, text string) (all []client.Event) {
	t.Helper()
	for line := range strings.Lines(text) {
		var e client.Event
		if !strings.HasPrefix(line, "{") { // for people
			continue
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		all = append(all, e)
	}
	return all
}

// TestEventsAreFollowedOverLostConnections cuts the connection of a command that
// follows, and expects what happens before and after it.
func TestEventsAreFollowedOverLostConnections(t *testing.T) {
	t.Parallel()
	r := newRunning(t)
	states := events(t, r.want(t, "events -o json", cli.ExitOK))
	if len(states) != 2 || states[0].Kind != "state" || states[1].ID == "" {
		t.Fatalf("it begins with %+v", states)
	}
	r.want(t, "events", cli.ExitOK, "state        backend/api on 127.0.0.1:", "created")
	since := states[1].ID

	ctx, cancel := context.WithCancel(t.Context())
	var out testunit.Output
	ended := make(chan int, 1)
	go func() { ended <- r.toskose(ctx, "events -o json --follow --since "+since, &out) }()
	exits := func(e client.Event) bool { return e.Kind == "exit" }
	await := func(n int) {
		for deadline := time.Now().Add(time.Minute); len(slices.DeleteFunc(events(t, out.String()), func(e client.Event) bool { return !exits(e) })) < n; {
			if time.Now().After(deadline) {
				t.Fatalf("there are not %d ends of operations:\n%s", n, out.String())
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	r.want(t, "run api configure", cli.ExitOK)
	await(2)
	r.server.CloseClientConnections()
	r.want(t, "run api start", cli.ExitOK)
	r.want(t, "run api stop", cli.ExitOK)
	await(6)
	cancel()
	if code := <-ended; code != cli.ExitOK {
		t.Errorf("exit %d after an interrupt", code)
	}
	seen := map[string]bool{}
	for _, e := range events(t, out.String()) {
		if seen[e.ID] || e.Kind == "missing" {
			t.Errorf("%s comes twice, or something is missing: %+v", e.ID, e)
		}
		seen[e.ID] = true
	}
	if again := events(t, r.want(t, "events -o json --since "+since, cli.ExitOK)); len(again) < len(seen) {
		t.Errorf("%d events are told again, of %d", len(again), len(seen))
	}
	lost := events(t, r.want(t, "events -o json --since other:7", cli.ExitOK))
	if len(lost) != 3 || lost[0].Kind != "missing" {
		t.Errorf("after an unknown event: %+v", lost)
	}
}
