package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/toskose/toskose/unit/wire"
)

// TestADeadComponentIsNotRunningWhileOthersFork kills the daemon of one component while
// another component of the same container forks faster than the unit can look. The unit
// must not wait for the end of these forks before it reports the death.
func TestADeadComponentIsNotRunningWhileOthersFork(t *testing.T) {
	fork := `end=$(($(date +%s)+20)); while [ ! -e calm ] && [ $(date +%s) -lt $end ]; do i=0; while [ $i -lt 20 ]; do (sleep 0.5 & ); i=$((i+1)); done; done`
	storm := fmt.Sprintf("for loop in $(seq %d); do (%s) & done; sleep 4; kill -9 $(cat pid); wait; echo over > over", 4*runtime.NumCPU(), fork)
	c := newContainer(t, component("api", map[string]string{"start": daemon}, "")+component("storm", map[string]string{
		"start": storm,
	}, "")).boot()
	outcome(t, c.run("api", "start"), wire.OutcomeSucceeded)
	outcome(t, c.run("storm", "start"), wire.OutcomeSucceeded)
	gone := c.journal(func(e wire.Entry) bool { return e.Kind == wire.EntryGone && e.Component == "api" })
	if _, err := os.Stat(filepath.Join(c.dir, "over")); err == nil {
		t.Errorf("the death was reported only when nothing was forked any more: %s", gone.Why)
	}
	c.write("calm", "")
	c.until("over", "over")
}
