//go:build !windows

package web_test

import (
	"os"
	"testing"

	"github.com/toskose/toskose/e2e/browser"
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
	b.Await(`document.querySelector('[data-box=api]').dataset.tone === 'bad'`)
	b.Await(`document.querySelector('[data-box=backend]').dataset.tone === 'bad'`)
	b.Says("[data-box=api] .reason", "no container")
	b.Look("trouble-container")
}
