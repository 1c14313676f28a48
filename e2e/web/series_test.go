//go:build !windows

package web_test

import (
	"testing"
	"time"

	"github.com/toskose/toskose/e2e/browser"
)

// The page draws the numbers of the last hour, of the application and of each component.
func TestThePageDrawsNumbersOverTime(t *testing.T) {
	sampling = 100 * time.Millisecond
	defer func() { sampling = 0 }()
	world := newThinking(t)
	for _, operation := range []string{"create", "configure", "start"} {
		world.run(t, "backend", "api", operation)
	}
	sampled(t, world, 1)
	world.run(t, "backend", "api", "stop")
	world.run(t, "backend", "api", "start")
	sampled(t, world, 2)
	b := browser.Open(t, world.URL, 1440, nobody)
	b.SignIn("vera", "vera's password")
	b.Says(".side .spark", "Memory")
	b.Says(".side .spark b", "MB")
	b.Await(`document.querySelectorAll('.side .spark path').length === 3`)
	b.Named()
	b.Look("series")
	b.GoTo("#/component/backend/api")
	b.Says(".panel .spark b", "running")
	b.Await(`document.querySelector('.panel .spark [aria-label^=Restarts]').ariaLabel.includes('now 1')`)
	b.Await(`document.querySelectorAll('.panel .strip rect').length > 1`)
	b.Named()
	b.Look("series-component")
}

// sampled waits until the manager has that many samples of the running api, and as many again.
func sampled(t *testing.T, world *world, least int) {
	t.Helper()
	for begun := time.Now(); time.Since(begun) < time.Minute; time.Sleep(50 * time.Millisecond) {
		w := world.app.Series(begun, func(name string) bool { return name == "api" })
		known := 0
		for _, c := range w.Components {
			for _, n := range c.Memory {
				if n != nil && *n > 0 {
					known++
				}
			}
		}
		if known >= 2*least {
			return
		}
	}
	t.Fatal("nothing is sampled")
}
