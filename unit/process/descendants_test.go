package process

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toskose/toskose/unit/config"
	"github.com/toskose/toskose/unit/proctree"
	"github.com/toskose/toskose/unit/reaper"
	"github.com/toskose/toskose/unit/reaper/reapertest"
)

func TestMain(m *testing.M) { reapertest.Main(m) }

func TestWhatAFailedRunLeftIsReapedBeforeThatIsAnswered(t *testing.T) {
	reapertest.InWorlds(t, func(t *testing.T) {
		table := &Table{log: slog.New(slog.DiscardHandler)}
		tree, err := proctree.New(proctree.Options{Freeze: func(do func(func(int) bool)) { table.reaper.Freeze(do) }})
		if err != nil {
			t.Fatal(err)
		}
		table.tree = tree
		table.reaper, err = reaper.New(reaper.Options{
			// A reaper with a lot to do.
			Orphan: func(int, Exit, time.Duration) { time.Sleep(100 * time.Millisecond) },
			Drained: func() {
				tree.Drained()
				table.drained.Notify()
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var reaping sync.WaitGroup
		reaping.Go(func() {
			if err := table.reaper.Run(ctx); err != nil {
				t.Error(err)
			}
		})
		defer reaping.Wait()
		defer cancel()

		p := &Program{number: 1, table: table, cfg: &config.Program{}}
		p.settings.Store(&config.Program{StopWaitSecs: 60})
		child, err := table.reaper.Start(reaper.Spec{
			Path: "/bin/sh", Args: []string{"sh", "-c", "sleep 1000 & exit 3"},
			Env: tree.Env(p.number, "api", "Standard.start"), Around: tree.Around(p.number, p.number),
		})
		if err != nil {
			t.Fatal(err)
		}
		<-child.Done()
		if what := p.EndDescendants(t.Context()); !strings.Contains(what, "which the unit ended") {
			t.Errorf("the answer is %q", what)
		}
		if left, err := tree.Scan(); err != nil || len(left) != 0 {
			t.Errorf("it is answered, and this is left: %+v, %v", left, err)
		}
	})
}
