//go:build !windows

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toskose/toskose/cmd/toskose/cli"
	"github.com/toskose/toskose/internal/testunit"
	"github.com/toskose/toskose/manager"
	"github.com/toskose/toskose/manager/access"
	"github.com/toskose/toskose/manager/api"
	"github.com/toskose/toskose/manager/client"
	"github.com/toskose/toskose/manager/unitclient"
	"github.com/toskose/toskose/packager/config"
	"github.com/toskose/toskose/tosca"
	"github.com/toskose/toskose/tosca/protocol"
)

const runningUnit = `[supervisord]
nodaemon=true
logfile=%[1]s/unit.log
pidfile=%[1]s/unit.pid
childlogdir=%[1]s
toskose_journal=%[1]s/journal
toskose_documents=%[1]s/documents

[inet_http_server]
port=127.0.0.1:%[2]d
username=admin
toskose_auth=required

[program:api.configure]
process_name=configure
command=/bin/sh -c 'echo configured; echo on $INPUT_PORT >&2; exit $INPUT_CODE'
directory=%[1]s
autostart=false
autorestart=false
startsecs=1
startretries=0
toskose_component=api
toskose_interface=Standard
toskose_operation=run
toskose_inputs={"PORT":"80","CODE":"0"}

[program:api.start]
process_name=start
command=/bin/sh -c 'exec sleep 1000'
directory=%[1]s
autostart=false
autorestart=false
startsecs=0
startretries=0
toskose_component=api
toskose_interface=Standard
toskose_operation=start

[group:api]
programs=api.configure,api.start

[toskose:component:api]
toskose_protocol=%[3]s
`

// replicas finds the containers of one node.
type replicas []netip.AddrPort

func (r replicas) Replicas(context.Context, string, int) ([]netip.AddrPort, error) { return r, nil }

func (r replicas) Clients(context.Context, string) ([]netip.Addr, bool, error) {
	return nil, true, nil
}
func (r replicas) Running(context.Context, string, []int) ([]netip.Addr, error) { return nil, nil }

// running is an application with a component on two replicas: two real units, and
// a real manager.
type running struct {
	folder string
	server *httptest.Server
}

func newRunning(t *testing.T) *running {
	t.Helper()
	op := func(name string) protocol.Operation { return protocol.Operation{Interface: "Standard", Name: name} }
	lifecycle := protocol.Protocol{
		Initial: "created", States: []protocol.State{{Name: "configured"}, {Name: "created"}, {Name: "started", Offers: []string{protocol.Endpoint}}},
		Transitions: []protocol.Transition{
			{Source: "created", Target: "configured", Operation: op("configure")},
			{Source: "configured", Target: "started", Operation: op("start")},
			{Source: "started", Target: "configured", Operation: op("stop")},
		},
	}
	text, err := json.Marshal(lifecycle)
	if err != nil {
		t.Fatal(err)
	}
	model := &tosca.Application{
		Name:  "shop",
		Nodes: []tosca.Node{{Name: "backend", Type: "tosker.nodes.Container", Protocol: protocol.Container().Hosting()}},
		Components: []tosca.Component{{
			Name: "api", Host: "backend", Node: "backend", Protocol: lifecycle, Interfaces: []tosca.Interface{{Name: "Standard", Operations: []tosca.Operation{
				{Name: "configure", Script: "configure.sh", Inputs: []tosca.OperationInput{{Name: "port"}, {Name: "code"}}},
				{Name: "start", Script: "start.sh"},
				{Name: "stop"},
			}}},
		}},
	}
	var found replicas
	for range 2 {
		found = append(found, testunit.Serve(t, "unit's", func(folder string, port uint16) []byte {
			return fmt.Appendf(nil, runningUnit, folder, port, text)
		}))
	}
	app, err := manager.New(model, &config.Config{Nodes: map[string]config.Node{"backend": {Port: 9001, User: "admin"}}}, manager.Options{
		Containers: found, Passwords: func(string) string { return "unit's" }, Limits: unitclient.Limits{Call: time.Minute, Connect: time.Minute},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(app.Close)
	gate, err := access.New(access.Options{First: "admin", Password: access.Always("pw")})
	if err != nil {
		t.Fatal(err)
	}
	handler, err := api.New(app, api.Options{Access: gate, Version: "1", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	r := &running{packagedFolder(t), server}
	r.want(t, "wait backend --for running", cli.ExitOK)
	return r
}

// toskose runs a command, and returns what it printed.
func (r *running) toskose(ctx context.Context, command string, out *syncBuffer) int {
	args := strings.Fields(command)
	at := len(args)
	if args[0] == "__complete" { // of the last word
		at--
	}
	args = slices.Insert(args, at, "--dir", r.folder, "--manager", r.server.URL)
	return run(ctx, args, environment{out: out, err: out})
}

// want runs a command that exits with a code and prints some words, and returns
// all that it printed.
func (r *running) want(t *testing.T, command string, code int, words ...string) string {
	t.Helper()
	var out syncBuffer
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

// syncBuffer may be read while a command writes to it.
type syncBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func TestCommandsOfARunningApplication(t *testing.T) {
	t.Parallel()
	r := newRunning(t)
	r.want(t, "plan --goal api=started", cli.ExitOK, "api:Standard.configure", "created to configured", "configured to started")
	r.want(t, "plan --format plan", cli.ExitOK, "api:Standard.start")
	r.want(t, "plan --goal apl=up", cli.ExitOK, `no component, container or group "apl"`)

	r.want(t, "run api configure -i code=3", 3, "failed with exit code 3", "configured", "on 80", "==> 127.0.0.1:")
	r.want(t, "run api start", cli.ExitFailed, `not allowed in state "created"`)
	r.want(t, "run apl start", cli.ExitFailed, `"apl" is not a component of "shop", which has api`)
	r.want(t, "run api fly", cli.ExitFailed, "fly")
	r.want(t, "run api configure -i port", cli.ExitUsage, "NAME=VALUE")
	var x client.Execution
	if err := json.Unmarshal([]byte(r.want(t, "run -q -o json api configure -i port=81", cli.ExitOK)), &x); err != nil || len(x.Runs) != 2 || x.Outcome != "succeeded" {
		t.Errorf("as JSON: %+v, %v", x, err)
	}

	r.want(t, "wait", cli.ExitFailed, "there is no goal")
	r.want(t, "wait api", cli.ExitFailed, "the goal says nothing")
	r.want(t, "wait --for up", cli.ExitUsage, "--for needs")
	r.want(t, "wait api --for started --timeout 10ms", cli.ExitFailed, "after 10ms api is configured, not started")
	r.want(t, "wait api --for flying", cli.ExitFailed, "flying")
	r.want(t, "up", cli.ExitOK, "2 of 2")
	r.want(t, "wait", cli.ExitOK)
	r.want(t, "wait api", cli.ExitOK)
	r.want(t, "wait api --for up", cli.ExitOK)
	r.want(t, "wait backend --for up", cli.ExitOK)
	r.want(t, "ps", cli.ExitOK, "started")
	r.want(t, "ps -o json", cli.ExitOK, `"state": "started"`)
	r.want(t, "ps -o yaml", cli.ExitUsage, "table or json")

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
	var out syncBuffer
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
