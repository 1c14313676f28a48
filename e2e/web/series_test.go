//go:build !windows

package web_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/toskose/toskose/e2e/browser"
	"github.com/toskose/toskose/manager/goal"
	"github.com/toskose/toskose/manager/rest"
	"github.com/toskose/toskose/manager/series"
	"github.com/toskose/toskose/spec/protocol"
)

// The page draws the numbers of the last hour, of the application and of each component.
func TestThePageDrawsNumbersOverTime(t *testing.T) {
	sampling = 100 * time.Millisecond
	defer func() { sampling = 0 }()
	world := newThinking(t)
	sampled(t, world, func(c series.Component, i int) bool { return c.States[i] == protocol.Deleted }) // a machine may be too fast for other states
	if _, _, err := world.app.SetGoal(t.Context(), rest.GoalRequest{State: goal.Up, By: "somebody"}); err != nil {
		t.Fatal(err)
	}
	sampled(t, world, func(c series.Component, i int) bool { return c.Memory[i] != nil && *c.Memory[i] > 0 })
	world.kill(t, "backend", "api")
	sampled(t, world, func(c series.Component, i int) bool {
		return c.States[i] == protocol.Running && c.Restarts[i] != nil && *c.Restarts[i] == 1
	})
	b := browser.Open(t, world.URL, 1440, nobody)
	b.SignIn("vera", "vera's password")
	b.Says(".side .spark", "Memory")
	b.Says(".side .spark b", "MB")
	b.Await(`document.querySelectorAll('.side .spark path').length === 3`)
	b.Named()
	b.Look("series")
	b.GoTo("#/component/backend/api")
	b.Says(".panel .spark b", "running")
	b.Await(`document.querySelector('.panel .spark [aria-label^=Restarts]')?.ariaLabel.includes('now 1')`)
	b.Await(`document.querySelectorAll('.panel .strip rect').length > 1`)
	b.Named()
	b.Look("series-component")
}

// kill ends the process that a component's start left, as a crash does.
func (w *world) kill(t *testing.T, node, component string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(w.units[node].Folder, component+".pid"))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err == nil {
		err = syscall.Kill(pid, syscall.SIGKILL)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// sampled waits until some samples of api are so.
func sampled(t *testing.T, world *world, is func(c series.Component, i int) bool) {
	t.Helper()
	for begun := time.Now(); time.Since(begun) < time.Minute; time.Sleep(50 * time.Millisecond) {
		known := 0
		for _, c := range world.app.Series(time.Time{}, func(name string) bool { return name == "api" }).Components {
			for i := range c.States {
				if is(c, i) {
					known++
				}
			}
		}
		if known >= 3 {
			return
		}
	}
	t.Fatal("nothing is sampled")
}
