//go:build !windows

package web_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/toskose/toskose/e2e/browser"
	"github.com/toskose/toskose/manager/goal"
	"github.com/toskose/toskose/manager/rest"
)

// The page shows a component that dies, fails to start, and recovers. `make pictures` makes an animation of it for the README.
func TestThePageShowsARecovery(t *testing.T) {
	world := newThinking(t)
	if _, _, err := world.app.SetGoal(t.Context(), rest.GoalRequest{State: goal.Up, By: "somebody"}); err != nil {
		t.Fatal(err)
	}
	b := browser.Open(t, world.URL, 1280, nobody)
	b.SignIn("vera", "vera's password")
	b.Says("[data-box=gui]", "running")
	taken := 0
	film := func(frames int) {
		for range frames {
			b.Picture(fmt.Sprintf("recovery-%02d", taken))
			taken++
			if os.Getenv("TOSKOSE_PICTURES") != "" {
				time.Sleep(200 * time.Millisecond)
			}
		}
	}
	b.Await(`!document.querySelector('.trouble')`)
	film(4)
	if err := os.WriteFile(world.fails, []byte("api.start\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	world.kill(t, "backend", "api")
	film(3)
	b.Says(".trouble", "Address already in use")
	b.Await(`document.querySelector('[data-box=api]')?.dataset.tone === 'warn'`)
	film(6)
	if err := os.Remove(world.fails); err != nil {
		t.Fatal(err)
	}
	b.Await(`document.querySelector('[data-box=api]')?.dataset.tone === 'ok'`)
	b.Await(`!document.querySelector('.trouble')`)
	film(6)
}
