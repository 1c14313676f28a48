//go:build !windows

package web_test

import (
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toskose/toskose/e2e/browser"
	"github.com/toskose/toskose/manager/goal"
	"github.com/toskose/toskose/manager/rest"
	"github.com/toskose/toskose/spec/protocol"
)

// The page names each problem first, with its reason and what waits for it.
func TestThePageNamesTrouble(t *testing.T) {
	world := newThinking(t)
	if err := os.WriteFile(world.fails, []byte("api.configure\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b := browser.Open(t, world.URL+"/#/goal", 1440, nobody)
	b.SignIn("olga", "olga's password")
	b.ClickText(".choice", "all up")
	b.Says(".plan", "The plan: 9 operations")
	b.Click(".editor button.main")
	b.Says(".trouble [data-tone=bad]", "configure failed")
	b.Says(".trouble .waits", "gui")
	b.Says(".legend", "1 failed")
	b.Await(`document.querySelectorAll('.segments > div').length === 3`)
	b.Await(`document.querySelectorAll('.segments > [data-tone=idle]').length === 1`)
	b.Look("trouble-goal")
	b.GoTo("#/")
	b.Says("[data-box=api] .reason", "configure failed")
	b.Says("[data-box=api] .stands", "created")
	b.Says("[data-box=gui]", "configured")
	b.Look("trouble-topology")
	b.Click(".trouble .which")
	b.Says(".panel .reason", "configure failed")
	b.Await(`location.hash === '#/component/backend/api'`)
	b.Look("trouble-component")
	b.GoTo("#/components")
	b.Says("tr[data-tone=bad] .because", "configure failed")
	b.Look("trouble-list")
}

// A container that the goal wants and that is gone is in trouble, with all that is in it.
func TestThePageNamesALostContainer(t *testing.T) {
	world := newThinking(t)
	b := browser.Open(t, world.URL+"/#/goal", 1440, nobody)
	b.SignIn("olga", "olga's password")
	b.ClickText(".choice", "all up")
	b.Says(".plan", "The plan: 9 operations")
	b.Click(".editor button.main")
	b.Says(".lead", "is reached")
	b.Says(".legend", "3 of 3 components")
	b.Await(`!document.querySelector('.trouble')`)
	world.found.mu.Lock()
	world.found.of["backend"] = nil
	world.found.mu.Unlock()
	world.units["backend"].Kill()
	b.Says(".trouble [data-tone=bad] .which", "backend")
	b.Says(".trouble .waits", "api")
	b.Says(".chip", "1/3")
	b.GoTo("#/")
	b.Await(`document.querySelector('[data-box=api]')?.dataset.tone === 'bad'`)
	b.Await(`document.querySelector('[data-box=backend]')?.dataset.tone === 'bad'`)
	b.Says("[data-box=api] .reason", "no container")
	b.Look("trouble-container")
}

// What is tried again is amber, what is not is red, and what waits is grey.
func TestTroubleIsAmberFirst(t *testing.T) {
	l := newLarge(30)
	b := browser.Open(t, serve(t, l, &atomic.Bool{}).URL+"/#/goal", 1440, nobody)
	b.SignIn("admin", "pw")
	b.Says("h1", "Goal")
	l.turn("component007", protocol.Configured)
	l.turn("component008", protocol.Configured)
	l.turn("component009", protocol.Configured)
	l.strive(rest.Goal{
		State: goal.Up, Acting: true, Wanted: 30, Reached: 27,
		Ahead: []goal.Ahead{{Level: 2, Component: "component009", Operation: "Standard.start", After: []string{"component008"}}},
		Obstacles: []goal.Obstacle{
			{Component: "component007", Reason: "Standard.start failed 2 times; it is tried again at 2026-01-01T00:00:00Z", Until: time.Now().Add(time.Minute)},
			{Component: "component008", Reason: "start failed (3rd try); it is not tried again for this goal: set the goal again to try once more"},
			{Component: "component009", Reason: "start waits for component008", Waits: true},
		},
	})
	b.Says(".trouble [data-tone=warn]", "component007")
	b.Says(".trouble [data-tone=bad] .waits", "component009")
	b.Says(".chip", "27/30")
	for tone, n := range map[string]int{"ok": 27, "warn": 1, "bad": 1, "idle": 1} {
		b.Await(fmt.Sprintf(`document.querySelectorAll('.segments > [data-tone=%s]').length === %d`, tone, n))
	}
	b.Look("trouble-segments")
	b.GoTo("#/")
	for name, tone := range map[string]string{"component007": "warn", "component008": "bad", "component009": "idle", "component010": "ok"} {
		b.Await(fmt.Sprintf(`document.querySelector('[data-box=%s]')?.dataset.tone === '%s'`, name, tone))
	}
}
