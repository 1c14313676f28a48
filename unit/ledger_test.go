package unit

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toskose/toskose/unit/journal"
	"github.com/toskose/toskose/unit/reaper"
	"github.com/toskose/toskose/unit/wire"
)

// flaky is a journal that can be made to fail.
type flaky struct {
	*journal.Journal
	fails atomic.Bool
}

func (f *flaky) Append(e wire.Entry) (wire.Entry, error) {
	if f.fails.Load() {
		return wire.Entry{}, errors.New("no space left on device")
	}
	return f.Journal.Append(e)
}

func testLedger(t *testing.T) (*ledger, *flaky) {
	t.Helper()
	l := newLedger(slog.New(slog.DiscardHandler), time.Now, map[string]lifecycle{
		"api": lifecycleOf("Standard.create", "Standard.configure", "Standard.start", "Standard.stop", "Standard.delete"),
		"gui": lifecycleOf("Standard.create"),
	})
	opened, replay, err := journal.Open("", journal.Options{Checkpoint: l.checkpoint, Apply: l.apply})
	if err != nil {
		t.Fatal(err)
	}
	f := &flaky{Journal: opened}
	l.attach(f, replay.Entries)
	if err := l.started(); err != nil {
		t.Fatal(err)
	}
	return l, f
}

func (l *ledger) try(t *testing.T, id, component, operation string, kind wire.OperationKind) (*execution, error) {
	t.Helper()
	x := &execution{id: id, component: component, operation: operation, kind: kind, done: make(chan struct{})}
	x.ctx, x.cancel = context.WithCancelCause(t.Context())
	_, _, err := l.begin(x, wire.ExecuteRequest{})
	return x, err
}

func (l *ledger) must(t *testing.T, id, component, operation string, kind wire.OperationKind, left bool) (opening int) {
	t.Helper()
	x, err := l.try(t, id, component, operation, kind)
	if err != nil {
		t.Fatal(err)
	}
	return l.finish(t.Context(), x, ending{outcome: wire.OutcomeSucceeded, exit: &reaper.Exit{}, left: left})
}

func (l *ledger) state(component string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.standing[component].state
}

func TestWithoutItsJournalNothingNewRunsAndExitsWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, f := testLedger(t)
		x, err := l.try(t, "a", "api", "Standard.create", wire.OperationRun)
		if err != nil {
			t.Fatal(err)
		}
		f.fails.Store(true)
		_, err = l.try(t, "b", "gui", "Standard.create", wire.OperationRun)
		if code, _ := wire.FaultCodeOf(err); code != wire.JournalUnavailable {
			t.Errorf("a new operation: %v", err)
		}
		go l.finish(t.Context(), x, ending{outcome: wire.OutcomeSucceeded})
		time.Sleep(10 * journalRetry) // of the test's own clock
		if state := l.state("api"); state != "deleted" {
			t.Errorf("%s is told before it is written", state)
		}
		f.fails.Store(false)
		<-x.done
		if state := l.state("api"); state != "created" {
			t.Errorf("api is %s", state)
		}
		if _, err := l.try(t, "b", "gui", "Standard.create", wire.OperationRun); err != nil {
			t.Errorf("the refused id again: %v", err)
		}
	})
}

func TestWhatIsGoneWhileStoppingIsTheStopsToTell(t *testing.T) {
	t.Parallel()
	for _, stop := range []struct {
		outcome wire.Outcome
		state   string
	}{{wire.OutcomeSucceeded, "configured"}, {wire.OutcomeFailed, "created"}} {
		synctest.Test(t, func(t *testing.T) {
			l, _ := testLedger(t)
			l.lifecycles["api"] = lifecycleOf("Standard.create", "Standard.start", "Standard.stop")
			l.must(t, "1", "api", "Standard.create", wire.OperationRun, false)
			opening := l.must(t, "2", "api", "Standard.start", wire.OperationStart, true)
			x, err := l.try(t, "3", "api", "Standard.stop", wire.OperationStop)
			if err != nil {
				t.Fatal(err)
			}
			go l.gone(t.Context(), "api", opening, "it died")
			synctest.Wait()
			if state := l.state("api"); state != "running" {
				t.Errorf("api is %s while it is being stopped", state)
			}
			l.finish(t.Context(), x, ending{outcome: stop.outcome})
			synctest.Wait()
			if state := l.state("api"); state != stop.state {
				t.Errorf("after a stop that %s api is %s, want %s", stop.outcome, state, stop.state)
			}
		})
	}
}

func TestABootEndsWhatTheCrashCutOff(t *testing.T) {
	t.Parallel()
	l, f := testLedger(t)
	for i, operation := range []string{"create", "configure"} {
		l.must(t, string(rune('a'+i)), "api", "Standard."+operation, wire.OperationRun, false)
	}
	l.must(t, "s", "api", "Standard.start", wire.OperationStart, true)
	if _, err := l.try(t, "x", "api", "Standard.stop", wire.OperationStop); err != nil {
		t.Fatal(err)
	}
	page, err := f.Read("", 0)
	if err != nil {
		t.Fatal(err)
	}
	again, _ := testLedger(t)
	again.attach(again.journal, page.Entries)
	again.booted = false
	if err := again.started(); err != nil {
		t.Fatal(err)
	}
	if x, _ := again.execution("x"); x.Outcome != wire.OutcomeLost || x.To != "running" {
		t.Errorf("the execution: %+v", x)
	}
	if state := again.state("api"); state != "configured" {
		t.Errorf("api is %s", state)
	}
}
