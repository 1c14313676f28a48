package component

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toskose/toskose/spec/protocol"
	"github.com/toskose/toskose/unit/journal"
	"github.com/toskose/toskose/unit/process"
	"github.com/toskose/toskose/unit/wire"
)

var testDeath = &wire.Death{Exit: wire.Exit{Signal: "SIGKILL"}, Last: "out of memory"}

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
	if err := l.lockedBoot(); err != nil {
		t.Fatal(err)
	}
	return l, f
}

func (l *ledger) try(t *testing.T, id, component, operation string, kind protocol.Kind) (*execution, error) {
	t.Helper()
	x := &execution{id: id, component: component, operation: op(operation), kind: kind, done: make(chan struct{})}
	x.ctx, x.cancel = context.WithCancelCause(t.Context())
	_, _, err := l.begin(x, wire.ExecuteRequest{})
	return x, err
}

func (l *ledger) must(t *testing.T, id, component, operation string, kind protocol.Kind, left bool) (opening int) {
	t.Helper()
	x, err := l.try(t, id, component, operation, kind)
	if err != nil {
		t.Fatal(err)
	}
	return l.finish(t.Context(), x, executionResult{outcome: wire.OutcomeSucceeded, exit: &process.Exit{}, left: left})
}

func (l *ledger) state(component string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.statuses[component].state
}

func TestWithoutItsJournalNothingNewRunsAndExitsWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, f := testLedger(t)
		x, err := l.try(t, "a", "api", "Standard.create", protocol.KindRun)
		if err != nil {
			t.Fatal(err)
		}
		f.fails.Store(true)
		_, err = l.try(t, "b", "gui", "Standard.create", protocol.KindRun)
		if code, _ := wire.FaultCodeOf(err); code != wire.JournalUnavailable {
			t.Errorf("a new operation: %v", err)
		}
		go l.finish(t.Context(), x, executionResult{outcome: wire.OutcomeSucceeded})
		time.Sleep(10 * journalRetry) // of the test's own clock
		if state := l.state("api"); state != "deleted" {
			t.Errorf("%s is told before it is written", state)
		}
		f.fails.Store(false)
		<-x.done
		if state := l.state("api"); state != "created" {
			t.Errorf("api is %s", state)
		}
		if _, err := l.try(t, "b", "gui", "Standard.create", protocol.KindRun); err != nil {
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
			l.must(t, "1", "api", "Standard.create", protocol.KindRun, false)
			opening := l.must(t, "2", "api", "Standard.start", protocol.KindStart, true)
			x, err := l.try(t, "3", "api", "Standard.stop", protocol.KindStop)
			if err != nil {
				t.Fatal(err)
			}
			go l.recordGone(t.Context(), "api", opening, "it died", testDeath)
			synctest.Wait()
			if state := l.state("api"); state != "running" {
				t.Errorf("api is %s while it is being stopped", state)
			}
			l.finish(t.Context(), x, executionResult{outcome: stop.outcome})
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
		l.must(t, string(rune('a'+i)), "api", "Standard."+operation, protocol.KindRun, false)
	}
	l.must(t, "s", "api", "Standard.start", protocol.KindStart, true)
	if _, err := l.try(t, "x", "api", "Standard.stop", protocol.KindStop); err != nil {
		t.Fatal(err)
	}
	page, err := f.Read("", 0)
	if err != nil {
		t.Fatal(err)
	}
	again, _ := testLedger(t)
	again.attach(again.journal, page.Entries)
	again.booted = false
	if err := again.lockedBoot(); err != nil {
		t.Fatal(err)
	}
	if x, _ := again.execution("x"); x.Outcome != wire.OutcomeLost || x.To != "running" {
		t.Errorf("the execution: %+v", x)
	}
	if state := again.state("api"); state != "configured" {
		t.Errorf("api is %s", state)
	}
}

func TestWhyAComponentIsInItsInitialStateSaysWhatWasTried(t *testing.T) {
	t.Parallel()
	l, _ := testLedger(t)
	wants := func(when, why string, allowed int) {
		t.Helper()
		_, all := l.Components()
		if c := all[0]; c.Name != "api" || c.Why != why || len(c.Allowed) != allowed {
			t.Errorf("%s, it is %+v; want %q and %d operations allowed", when, c, why, allowed)
		}
	}
	wants("at first", "nothing was done to it yet", 1)
	for _, outcome := range []wire.Outcome{wire.OutcomeFailed, wire.OutcomeCancelled, wire.OutcomeTimeout} {
		before := l.statuses["api"].since
		x, err := l.try(t, string(outcome), "api", "Standard.create", protocol.KindRun)
		if err != nil {
			t.Fatal(err)
		}
		if outcome == wire.OutcomeFailed {
			wants("during the first", "create is executing; nothing was done to it before", 0)
		}
		l.finish(t.Context(), x, executionResult{outcome: outcome})
		wants("after one that was "+string(outcome), "create "+string(outcome)+", which left it as it was", 1)
		if l.statuses["api"].since != before {
			t.Error("it did not move, and is in its state since then")
		}
	}
	if _, err := l.try(t, "lost", "api", "Standard.create", protocol.KindRun); err != nil {
		t.Fatal(err)
	}
	l.live, l.booted = map[string]*execution{}, false
	if err := l.lockedBoot(); err != nil {
		t.Fatal(err)
	}
	wants("after a boot", "create lost, which left it as it was", 1)
	l.must(t, "made", "api", "Standard.create", protocol.KindRun, false)
	x, err := l.try(t, "configure", "api", "Standard.configure", protocol.KindRun)
	if err != nil {
		t.Fatal(err)
	}
	wants("during a second", "create succeeded", 0)
	l.finish(t.Context(), x, executionResult{outcome: wire.OutcomeFailed})
	if c := l.component("api"); c.Why != "create succeeded" {
		t.Errorf("what brought it into its state is %q", c.Why)
	}
}

func TestWhileAStartExecutesOnlyItsStopIsAllowed(t *testing.T) {
	t.Parallel()
	l, _ := testLedger(t)
	for _, operation := range []string{"Standard.create", "Standard.configure"} {
		l.must(t, operation, "api", operation, protocol.KindRun, false)
	}
	if _, err := l.try(t, "start", "api", "Standard.start", protocol.KindStart); err != nil {
		t.Fatal(err)
	}
	if got := l.component("api").Allowed; len(got) != 1 || got[0] != "Standard.stop" {
		t.Errorf("allowed are %v", got)
	}
	l.BeginStop("gui")
	if got := l.component("gui").Allowed; len(got) != 0 {
		t.Errorf("while its processes are being stopped, allowed are %v", got)
	}
}

func TestWhoWaitsForAnEndThatCannotBeWrittenIsTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, f := testLedger(t)
		s := &Set{ledger: l}
		s.history.Store(f.Journal)
		x, err := l.try(t, "a", "api", "Standard.create", protocol.KindRun)
		if err != nil {
			t.Fatal(err)
		}
		x.unwritten = make(chan struct{})
		f.fails.Store(true)
		go l.finish(t.Context(), x, executionResult{outcome: wire.OutcomeSucceeded})
		begin := time.Now()
		_, err = s.Operations().Execution(t.Context(), "a", UntilDone)
		if code, _ := wire.FaultCodeOf(err); code != wire.JournalUnavailable || !strings.Contains(err.Error(), "the end of Standard.create of api") ||
			!strings.Contains(err.Error(), "no space left") || time.Since(begin) != unwrittenWait {
			t.Errorf("after %s: %v", time.Since(begin), err)
		}
		now, err := s.Operations().Execution(t.Context(), "a", 0)
		if err != nil || now.Outcome != wire.OutcomeRunning || !strings.Contains(now.Reason, "no space left") {
			t.Errorf("at once: %+v, %v", now, err)
		}
		f.fails.Store(false)
		now, err = s.Operations().Execution(t.Context(), "a", UntilDone)
		if err != nil || now.Outcome != wire.OutcomeSucceeded || now.Reason != "" {
			t.Errorf("once there is room: %+v, %v", now, err)
		}
	})
}

func TestAStopThatCannotBeWrittenIsAnsweredAndWrittenLater(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, f := testLedger(t)
		s := &Set{ledger: l, life: t.Context()}
		s.history.Store(f.Journal)
		for i, operation := range []string{"create", "configure"} {
			l.must(t, string(rune('a'+i)), "api", "Standard."+operation, protocol.KindRun, false)
		}
		l.must(t, "s", "api", "Standard.start", protocol.KindStart, true)
		s.BeginStop("api")
		f.fails.Store(true)
		begin := time.Now()
		err := s.EndStop("api", "start was stopped", true)
		if code, _ := wire.FaultCodeOf(err); code != wire.JournalUnavailable || !strings.Contains(err.Error(), "the stop of api cannot be written") ||
			!strings.Contains(err.Error(), "no space left") || time.Since(begin) != unwrittenWait {
			t.Errorf("after %s: %v", time.Since(begin), err)
		}
		if state := l.state("api"); state != "running" {
			t.Errorf("%s is told before it is written", state)
		}
		f.fails.Store(false)
		s.tasks.Wait()
		if state := l.state("api"); state != "configured" {
			t.Errorf("once there is room api is %s", state)
		}
		if err := l.Idle("api"); err != nil {
			t.Errorf("after the stop: %v", err)
		}
	})
}

func TestAStartSaysWhenWhatItLeftHasEndedAndWhetherThatWasAskedFor(t *testing.T) {
	t.Parallel()
	l, _ := testLedger(t)
	l.lifecycles["api"] = lifecycleOf("Standard.create", "Standard.start", "Standard.stop")
	l.must(t, "1", "api", "Standard.create", protocol.KindRun, false)
	opening := l.must(t, "died", "api", "Standard.start", protocol.KindStart, true)
	if x, _ := l.execution("died"); !x.Gone.IsZero() {
		t.Errorf("while it runs: %+v", x)
	}
	l.recordGone(t.Context(), "api", opening, "it died", testDeath)
	l.must(t, "operated", "api", "Standard.start", protocol.KindStart, true)
	l.must(t, "2", "api", "Standard.stop", protocol.KindStop, false)
	l.must(t, "stopped", "api", "Standard.start", protocol.KindStart, true)
	l.BeginStop("api")
	l.endStop(t.Context(), "api", "supervisor.stopProcess", true, nil)

	again := fold(nil, wire.Entry{Kind: wire.EntryCheckpoint, Components: l.checkpoint()})["api"].recent
	for id, stopped := range map[string]bool{"died": false, "operated": true, "stopped": true} {
		at := slices.IndexFunc(again, func(x wire.Execution) bool { return x.ID == id })
		if at < 0 || again[at].Gone.IsZero() || again[at].Stopped != stopped {
			t.Errorf("%s: %+v, want one that has ended, asked for: %v", id, again, stopped)
		}
	}
}

func TestAKindOfItsOwnSaysWhichExecutionLeftProcesses(t *testing.T) {
	t.Parallel()
	l, _ := testLedger(t)
	life := lifecycleOf("Standard.create", "Standard.stop") // neither of these has a program
	life.protocol.Transitions = append(life.protocol.Transitions,
		protocol.Transition{Source: "created", Target: "running", Operation: op("own.serve")},
		protocol.Transition{Source: "running", Target: "running", Operation: op("own.start")})
	life.protocol.Kinds = map[string]protocol.Kind{"own.serve": protocol.KindStart, "own.start": protocol.KindRun}
	l.lifecycles["api"] = life
	do := func(id, operation string, left bool) int {
		return l.must(t, id, "api", operation, l.lifecycles["api"].kind(op(operation)), left)
	}
	do("created", "Standard.create", false)
	opening := do("serves", "own.serve", true)
	do("ran", "own.start", false)
	l.recordGone(t.Context(), "api", opening, "it died", testDeath)
	again := fold(nil, wire.Entry{Kind: wire.EntryCheckpoint, Components: l.checkpoint()})["api"].recent
	for _, x := range again {
		if ended := !x.Gone.IsZero(); ended != (x.ID == "serves") {
			t.Errorf("%s: what it left has ended: %t", x.ID, ended)
		}
	}
}

func TestWhatEndsWithItsContainerSaysSo(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		ends func(t *testing.T, l *ledger, opening int)
		with bool
	}{
		"by itself": {func(t *testing.T, l *ledger, opening int) {
			l.recordGone(t.Context(), "api", opening, "it died", testDeath)
		}, false},
		"in a shutdown": {func(t *testing.T, l *ledger, opening int) {
			(&Set{ledger: l}).Shutdown()
			l.recordGone(t.Context(), "api", opening, "it ended", testDeath)
		}, true},
		"before a boot": {func(t *testing.T, l *ledger, _ int) {
			l.live, l.booted = map[string]*execution{}, false
			if err := l.lockedBoot(); err != nil {
				t.Fatal(err)
			}
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, _ := testLedger(t)
			for _, operation := range []string{"Standard.create", "Standard.configure"} {
				l.must(t, operation, "api", operation, protocol.KindRun, false)
			}
			tt.ends(t, l, l.must(t, "start", "api", "Standard.start", protocol.KindStart, true))
			recent := l.statuses["api"].recent
			if x := recent[len(recent)-1]; x.Gone.IsZero() || x.Stopped || x.ContainerEnded != tt.with {
				t.Errorf("%+v", x)
			}
		})
	}
}
