package process

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/toskose/toskose/internal/dice"
	"github.com/toskose/toskose/spec/protocol"
	"github.com/toskose/toskose/unit/config"
	"github.com/toskose/toskose/unit/wire"
)

// puppet is the world that a state machine acts on: it does what the owner of
// a program does with the effects, to processes and timers that are only marks,
// and judges every step.
type puppet struct {
	rules rules
	m     machine
	dice  *dice.Dice

	main, descendants    bool // what lives: the main process, and what it left behind
	settle, again, grace bool // timers that run
	checks, watch        bool // what else will report something
	stale                bool // a report that nothing is left is under way, although nobody waits for it any more
	deaf                 bool // the main process ignores the stop signal
	asked, killed        bool // it was sent that, and KILL
	ending               bool // what is left is being ended
	halted               bool // a stop was accepted, and no start since
	retries              int  // starts since the last that was asked for, or that succeeded

	story []string
	wrong string
}

func (w *puppet) fail(format string, args ...any) {
	if w.wrong == "" {
		w.wrong = fmt.Sprintf(format, args...)
	}
}

// happen takes the machine a step further, as program.step does.
func (w *puppet) happen(e event) error {
	before := w.m
	after, effects, err := next(w.rules, before, e)
	w.story = append(w.story, fmt.Sprintf("%s × %s (code %d, early %t) → %s %v %v", before.process, e.kind, e.code, e.early, after.process, effects, err))
	if err != nil {
		if e.kind != startAsked && e.kind != stopAsked {
			w.fail("%s × %s: %v", before.process, e.kind, err)
		}
		if after != before || len(effects) > 0 {
			w.fail("a refused %s changed something", e.kind)
		}
		return err
	}
	w.m = after
	if e.kind == startAsked || e.kind == stopAsked {
		w.halted = e.kind == stopAsked
	}
	if slices.Contains(effects, spawn) {
		w.counted(e.kind)
	}
	if after.process != before.process {
		w.entered(before.process)
	}
	w.judge()
	for _, f := range effects {
		w.obey(f)
	}
	if w.m.process == wire.Stopping && w.main && !w.asked {
		w.fail("a main process is not asked to end")
	}
	return nil
}

// counted checks a start: nobody has stopped the program, and it is not one
// too many.
func (w *puppet) counted(why eventKind) {
	switch {
	case w.halted:
		w.fail("it is started again by %s after a stop", why)
	case w.rules.kind != protocol.KindNone && why != startAsked:
		w.fail("an operation is started again by %s", why)
	}
	if why != retryDue {
		w.retries = 0
		return
	}
	if w.retries++; w.retries > w.rules.retries {
		w.fail("retry %d of %d", w.retries, w.rules.retries)
	}
}

// entered is what program.entered does, and what must be so in a new state.
func (w *puppet) entered(from wire.ProcessState) {
	state := w.m.process
	if state != wire.Starting {
		w.settle, w.checks = false, false
	}
	if state != wire.Backoff {
		w.again = false
	}
	if state == wire.Running {
		w.retries = 0
	}
	if state.InStoppedSet() || state == wire.Backoff {
		w.grace = false
		w.unwatch()
	}
	switch {
	case from == wire.Stopping && w.descendants:
		w.fail("a stop ends in %s, and something is left", state)
	case from == wire.Backoff && state == wire.Fatal:
		w.fail("it is given up while it waits")
	case state == wire.Fatal && w.rules.kind == protocol.KindNone && w.retries != w.rules.retries:
		w.fail("it is given up after %d of %d retries", w.retries, w.rules.retries)
	}
}

// unwatch ends the wait for what the main process left. What that had found by
// then may still be reported.
func (w *puppet) unwatch() {
	w.stale = w.stale || w.watch && !w.descendants
	w.watch = false
}

// judge checks what is so in every state.
func (w *puppet) judge() {
	state := w.m.process
	if w.m.main != w.main && state != wire.Starting { // which is entered before the fork
		w.fail("in %s the machine has a main process: %t, the world: %t", state, w.m.main, w.main)
	}
	if (state.InStoppedSet() || state == wire.Backoff) && w.main {
		w.fail("in %s the main process lives", state)
	}
	if state == wire.Backoff && (w.m.failures < 1 || w.m.failures > w.rules.retries) {
		w.fail("it waits after failure %d of a program with %d retries", w.m.failures, w.rules.retries)
	}
}

// obey does what the owner does for an effect.
func (w *puppet) obey(e effect) {
	switch e {
	case spawn:
		w.fork()
	case awaitSettle:
		w.settle = true
	case awaitReady:
		w.checks = true
	case awaitRetry:
		w.again = true
	case signalMain:
		if !w.main {
			w.fail("a main process that has ended is signalled")
		}
		w.asked = true
	case awaitGrace:
		w.grace = true
	case lookForDescendants, endDescendants:
		if w.main {
			w.fail("what a main process left is looked for while it lives")
		}
		if !w.descendants {
			_ = w.happen(event{kind: noDescendants})
			return
		}
		w.watch, w.ending = true, e == endDescendants
		if e == lookForDescendants {
			_ = w.happen(event{kind: descendantsFound})
		}
	case killAll:
		w.killed = true
	}
}

// fork starts a main process, or cannot.
func (w *puppet) fork() {
	if w.main {
		w.fail("a second main process is started")
	}
	w.unwatch()
	w.stale, w.descendants = false, false // reports are of a run, and this is another
	w.deaf, w.asked, w.killed = w.dice.Throw(2) == 1, false, false
	switch w.dice.Throw(5) {
	case 3:
		_ = w.happen(event{kind: spawnFailed})
	case 4: // it is forked, and cannot execute its program
		w.main = true
		_ = w.happen(event{kind: spawned})
		w.exit(execFailed, w.rules.hasStartSecs)
	default:
		w.main = true
		_ = w.happen(event{kind: spawned})
	}
}

// exit ends the main process.
func (w *puppet) exit(code int, early bool) {
	w.main, w.settle = false, w.settle && early
	_ = w.happen(event{kind: exited, code: code, early: early})
}

// pending returns what can happen without anybody asking, the most likely last.
// lasting says that what runs goes on doing so unless it is ended.
func (w *puppet) pending(lasting bool) []func() {
	var all []func()
	add := func(can bool, do func()) {
		if can {
			all = append(all, do)
		}
	}
	bySelf := w.m.process != wire.Stopping && !lasting
	add(w.main && (bySelf || w.killed || w.asked && !w.deaf), func() {
		w.descendants = w.descendants || w.dice.Throw(2) == 1
		if w.killed {
			w.descendants = false
		}
		// The clock may say that startsecs are over before the timer does.
		early := w.settle && w.dice.Throw(4) > 0
		w.exit([]int{0, 3, -1, 0}[w.dice.Throw(4)], early)
	})
	add(w.grace, func() { w.grace = false; _ = w.happen(event{kind: graceExpired}) })
	add(w.again, func() { w.again = false; _ = w.happen(event{kind: retryDue}) })
	add(w.watch && (bySelf || w.ending), func() {
		w.descendants, w.watch = false, false
		_ = w.happen(event{kind: noDescendants})
	})
	add(w.stale, func() { w.stale = false; _ = w.happen(event{kind: noDescendants}) })
	add(w.checks, func() {
		w.checks = false
		_ = w.happen(event{kind: []eventKind{checksPassed, checksFailed}[w.dice.Throw(2)]})
	})
	add(w.settle, func() { w.settle = false; _ = w.happen(event{kind: settled}) })
	return all
}

// comesToRest lets happen what must, until a start and a stop have come to
// their ends; a program that runs is not made to end.
func (w *puppet) comesToRest() {
	for range 100 {
		if state := w.m.process; state.InStoppedSet() || state == wire.Running {
			return
		}
		all := w.pending(true)
		if len(all) == 0 {
			w.fail("in %s nothing can happen any more", w.m.process)
			return
		}
		all[len(all)-1]()
	}
	w.fail("it does not come to an end: it is %s", w.m.process)
}

// someRules makes the rules of a program that a configuration allows.
func someRules(d *dice.Dice) rules {
	r := rules{
		kind:         []protocol.Kind{protocol.KindNone, protocol.KindStart, protocol.KindRun, protocol.KindStop}[d.Throw(4)],
		hasStartSecs: d.Throw(2) == 1, retries: d.Throw(4),
		restart: []config.Autorestart{config.RestartNever, config.RestartUnexpected, config.RestartAlways}[d.Throw(3)], exitCodes: []int{0},
	}
	r.hasChecks = d.Throw(2) == 1 && (r.kind == protocol.KindNone || r.kind == protocol.KindStart)
	return r
}

// live plays the story that bytes tell, and says what was wrong with it.
func live(story []byte) (w *puppet) {
	d := dice.New(story)
	w = &puppet{rules: someRules(d), m: machine{process: wire.Stopped}, dice: d}
	for d.Left() && w.wrong == "" {
		switch all := w.pending(false); d.Throw(4) {
		case 0:
			_ = w.happen(event{kind: startAsked})
		case 1:
			_ = w.happen(event{kind: stopAsked})
		default:
			if len(all) > 0 {
				all[d.Throw(len(all))]()
			}
		}
	}
	w.comesToRest()
	if err := w.happen(event{kind: stopAsked}); err == nil || w.m.process == wire.Stopping {
		w.comesToRest()
	}
	if w.wrong == "" && !w.m.process.InStoppedSet() {
		w.fail("after a stop it is %s", w.m.process)
	}
	return w
}

func (w *puppet) String() string {
	return fmt.Sprintf("%s, by the rules %+v:\n%s", w.wrong, w.rules, strings.Join(w.story, "\n"))
}

func TestWhateverHappensAProgramHasOneProcessAndEveryStartAndStopAnEnd(t *testing.T) {
	t.Parallel()
	seed := dice.Seed()
	random := rand.New(rand.NewPCG(seed, 0))
	met := map[wire.ProcessState]int{}
	for n := range 20_000 {
		story := make([]byte, random.IntN(120))
		for i := range story {
			story[i] = byte(random.Uint32())
		}
		w := live(story)
		if w.wrong != "" {
			t.Fatalf("seed %d, story %d, %x: %s", seed, n, story, w)
		}
		met[w.m.process]++
	}
	for _, state := range []wire.ProcessState{wire.Stopped, wire.Exited, wire.Fatal} {
		if met[state] == 0 {
			t.Errorf("seed %d: no story ends in %s: %v", seed, state, met)
		}
	}
}

func FuzzMachine(f *testing.F) {
	f.Add([]byte{0, 1, 3, 1, 1, 0, 0, 2, 3, 1, 2, 0, 0, 1})
	f.Add([]byte{1, 1, 0, 0, 1, 0, 0, 3, 0, 1, 0, 1, 2, 2, 2})
	f.Fuzz(func(t *testing.T, story []byte) {
		if w := live(story); w.wrong != "" {
			t.Errorf("%x: %s", story, w)
		}
	})
}
