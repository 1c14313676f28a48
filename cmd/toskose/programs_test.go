//go:build !windows

package main

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/toskose/toskose/cmd/toskose/cli"
	"github.com/toskose/toskose/internal/testapp"
	"github.com/toskose/toskose/internal/testunit"
	"github.com/toskose/toskose/manager/access"
	"github.com/toskose/toskose/spec"
	"github.com/toskose/toskose/spec/protocol"
)

// TestCommandsOfAttachedContainers: programs have the names of their node and their own.
func TestCommandsOfAttachedContainers(t *testing.T) {
	t.Parallel()
	var units []*testunit.Unit
	var found []netip.AddrPort
	for range 2 {
		u := testunit.RunJoined(t, "unit's", `
[program:app]
command=/bin/sh -c 'echo serving; exec sleep 1000'
startsecs=0
toskose_live_command=test ! -e DIR/hangs
toskose_live_interval=0.1
toskose_live_failures=1
toskose_live_then=report
[program:a]
command=sleep 1000
startsecs=0
[program:b]
command=sleep 1000
startsecs=0
autostart=false
[group:workers]
programs=a,b
`)
		units, found = append(units, u), append(found, u.Addr)
	}
	model := &spec.Application{Name: "shop", Nodes: []spec.Node{
		{Name: "web", Protocol: protocol.Container(), Attached: &spec.Attached{}, Unit: &spec.Unit{Port: 9001, User: "admin"}},
	}}
	server := testapp.Serve(t, model, testapp.Options{
		Units: found, Passwords: func(string) []string { return []string{"unit's"} },
		Access: access.Options{First: "admin", Password: access.Always("pw")},
	})
	r := &running{packagedFolder(t), server, units}
	await := func(command string, words ...string) {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) { // there is nothing else to wait on
			var out testunit.Output
			missing := ""
			code := r.toskose(t.Context(), command, &out)
			for _, word := range words {
				if !strings.Contains(out.String(), word) {
					missing = word
				}
			}
			if code == cli.ExitOK && missing == "" {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s: exit %d, no %q in\n%s", command, code, missing, out.String())
			}
		}
	}
	await("ps", "web/app", "web/workers:a")
	r.want(t, "run web/app restart", cli.ExitOK, "web/app:Program.restart on 127.0.0.1", "succeeded")
	r.want(t, "run web/apq restart", cli.ExitFailed, `"web/apq" is not a component of "shop"`)
	rolled := r.want(t, "restart web/app --rolling", cli.ExitOK)
	if strings.Count(rolled, "web/app:Program.restart on") != 2 {
		t.Errorf("a rolling restart:\n%s", rolled)
	}
	group := r.want(t, "restart web/workers:*", cli.ExitOK, "web/workers:a:Program.restart on", "web/workers:b:Program.start on")
	if strings.Contains(group, "web/app") {
		t.Errorf("the restart of a group:\n%s", group)
	}
	r.want(t, "restart web/nobody:*", cli.ExitFailed, `no program group "web/nobody"`)
	r.want(t, "restart web/app --rolling --replica 10.0.0.1", cli.ExitUsage, "exclude each other")
	r.want(t, "logs web/app", cli.ExitOK, "serving")
	r.want(t, "history web/app", cli.ExitOK, "web/app", "Program.restart")
	if h := r.want(t, "history web/workers:b/start", cli.ExitOK, "web/workers:b", "Program.start"); strings.Contains(h, "restart") {
		t.Errorf("the history of an operation:\n%s", h)
	}
	r.want(t, "top web/app --interval 1ms", cli.ExitOK, "web/app", "running")
	r.want(t, "up", cli.ExitOK, "6 of 6")
	r.want(t, "__complete run web/a", cli.ExitOK, "web/app\n")

	if err := os.WriteFile(filepath.Join(units[0].Folder, "hangs"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	await("ps", "running, failing since")
	if err := os.Remove(filepath.Join(units[0].Folder, "hangs")); err != nil {
		t.Fatal(err)
	}
	for strings.Contains(r.want(t, "ps", cli.ExitOK), "failing since") {
		time.Sleep(20 * time.Millisecond) // there is nothing else to wait on
	}
}
