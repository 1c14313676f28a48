//go:build !windows

package web_test

import (
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/toskose/toskose/e2e/browser"
	"github.com/toskose/toskose/internal/testapp"
	"github.com/toskose/toskose/internal/testunit"
	"github.com/toskose/toskose/manager/access"
	"github.com/toskose/toskose/spec"
	"github.com/toskose/toskose/spec/protocol"
)

// TestThePageShowsProgramsOfAttachedContainers, also those that appear while it is open.
func TestThePageShowsProgramsOfAttachedContainers(t *testing.T) {
	const programs = `
[program:app]
command=/bin/sh -c 'echo serving; exec sleep 1000'
startsecs=0
toskose_live_command=test ! -e DIR/hangs
toskose_live_interval=0.1
toskose_live_failures=1
toskose_live_then=report
`
	u := testunit.RunJoined(t, "unit's", programs)
	server := testapp.Serve(t, &spec.Application{Name: "shop", Nodes: []spec.Node{
		{Name: "web", Type: "Container", Protocol: protocol.Container(), Attached: &spec.Attached{}, Unit: &spec.Unit{Port: 9001, User: "admin"}},
	}}, testapp.Options{
		Units: []netip.AddrPort{u.Addr}, Passwords: func(string) []string { return []string{"unit's"} },
		Access: access.Options{First: "admin", Password: access.Always("pw")},
	})
	b := browser.Open(t, server.URL, 1280, nobody)
	b.SignIn("admin", "pw")
	b.Says("[data-box='web/app']", "running")
	b.Click("[data-box='web/app']")
	b.Says(".panel h1", "web/app")
	b.Says(".own-log", "serving")
	b.Push("stop")
	b.Says(".panel .now", "stopped")
	b.Push("start")
	b.Says(".panel .now", "running")
	b.Says(".past", "start")
	b.Named()

	u.Configure(programs + "[program:later]\ncommand=sleep 1000\nstartsecs=0\n")
	u.Call("supervisor.reloadConfig")
	u.Call("supervisor.addProcessGroup", "later")
	b.GoTo("#/")
	b.Says("[data-box='web/later']", "running")

	if err := os.WriteFile(filepath.Join(u.Folder, "hangs"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	b.GoTo("#/component/web/web%2Fapp")
	b.Says(".troubles", "fails its liveness checks")
	b.Await(`document.querySelector("[data-box='web/app']").dataset.tone === 'bad'`)
	b.Named()
}
