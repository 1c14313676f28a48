package process

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/toskose/toskose/spec/protocol"
	"github.com/toskose/toskose/unit/config"
	"github.com/toskose/toskose/unit/wire"
)

// The machine's states as the table below names them: up has a live main
// process, left is one whose main process has ended.
var machineStates = map[string]machine{
	"STOPPED":       {process: wire.Stopped},
	"EXITED":        {process: wire.Exited},
	"FATAL":         {process: wire.Fatal},
	"UNKNOWN":       {process: wire.Unknown},
	"STARTING":      {process: wire.Starting, main: true},
	"STARTING left": {process: wire.Starting},
	"RUNNING":       {process: wire.Running, main: true},
	"RUNNING left":  {process: wire.Running},
	"BACKOFF":       {process: wire.Backoff, failures: 1},
	"STOPPING":      {process: wire.Stopping, main: true},
	"STOPPING left": {process: wire.Stopping},
}

// checkedStates are those that only a program with checks can be in.
var checkedStates = map[string]machine{
	"STARTING settled":          {process: wire.Starting, main: true, settled: true},
	"STARTING ready":            {process: wire.Starting, main: true, ready: true},
	"STARTING left descendants": {process: wire.Starting, descendants: true},
	"STARTING left ready":       {process: wire.Starting, ready: true},
	"STOPPING failing":          {process: wire.Stopping, main: true, failing: true},
	"STOPPING left failing":     {process: wire.Stopping, failing: true},
}

var machineEvents = map[string]event{
	"start": {kind: startAsked}, "spawned": {kind: spawned}, "unspawnable": {kind: spawnFailed},
	"settled": {kind: settled}, "exit 0": {kind: exited}, "exit 3": {kind: exited, code: 3},
	"early exit": {kind: exited, code: 3, early: true}, "left": {kind: descendantsFound}, "none left": {kind: noDescendants},
	"retry": {kind: retryDue}, "stop": {kind: stopAsked}, "overdue": {kind: graceExpired},
	"readied": {kind: checksPassed}, "unready": {kind: checksFailed},
}

// What is not in a table must leave the state as it is, without effects; ! is
// an impossible pair, and a word after it one of the three answers to clients.
const (
	atRest = `start: STARTING left +spawn; stop: !running; spawned: !; unspawnable: !; exit 0: !; exit 3: !; early exit: !`

	transitional = `start: !started`

	checksOfMain = `; readied: STARTING ready; unready: STOPPING failing +signal +grace`
	checksOfRest = `; readied: STARTING left ready; unready: STOPPING left failing +grace +end`

	stopped = `start: !stopping; stop: !running; spawned: !; unspawnable: !`
)

var machineTables = map[string]struct {
	rules rules
	table map[string]string
}{
	"an ordinary program": {
		rules{hasStartSecs: true, retries: 3, restart: config.RestartUnexpected, exitCodes: []int{0}},
		map[string]string{
			"STOPPED": atRest, "EXITED": atRest, "FATAL": atRest, "UNKNOWN": atRest,
			"STARTING": transitional + `; spawned: STARTING +settle; unspawnable: BACKOFF 1 +retry; settled: RUNNING;
				exit 0: EXITED; exit 3: STARTING left +spawn; early exit: BACKOFF 1 +retry; left: RUNNING left;
				stop: STOPPING +signal +grace` + checksOfMain,
			"STARTING left": transitional + `; spawned: STARTING +settle; unspawnable: BACKOFF 1 +retry;
				exit 0: EXITED; exit 3: STARTING left +spawn; early exit: BACKOFF 1 +retry; left: RUNNING left;
				none left: EXITED; stop: STOPPING left +grace +end` + checksOfRest,
			"RUNNING": transitional + `; spawned: !; unspawnable: !; exit 0: EXITED; exit 3: STARTING left +spawn;
				early exit: STARTING left +spawn; stop: STOPPING +signal +grace`,
			"RUNNING left": transitional + `; spawned: !; unspawnable: !; exit 0: EXITED; exit 3: STARTING left +spawn;
				early exit: STARTING left +spawn; none left: EXITED; stop: STOPPING left +grace +end`,
			"BACKOFF": transitional + `; retry: STARTING left 1 +spawn; stop: STOPPED; spawned: !; unspawnable: !;
				exit 0: !; exit 3: !; early exit: !`,
			"STOPPING": stopped + `; exit 0: STOPPING left +end; exit 3: STOPPING left +end; early exit: STOPPING left +end;
				overdue: STOPPING +kill`,
			"STOPPING left": stopped + `; exit 0: STOPPING left +end; exit 3: STOPPING left +end; early exit: STOPPING left +end;
				none left: STOPPED`,
		},
	},
	"a start": {
		rules{hasStartSecs: true, kind: protocol.KindStart, restart: config.RestartAlways, retries: 3},
		map[string]string{
			"STOPPED": atRest, "EXITED": atRest, "FATAL": atRest, "UNKNOWN": atRest,
			"STARTING": transitional + `; spawned: STARTING +settle; unspawnable: FATAL; settled: RUNNING;
				exit 0: STARTING left +look; exit 3: EXITED; early exit: EXITED; left: RUNNING left; stop: STOPPING +signal +grace` + checksOfMain,
			"STARTING left": transitional + `; spawned: STARTING +settle; unspawnable: FATAL;
				exit 0: STARTING left +look; exit 3: EXITED; early exit: EXITED; left: RUNNING left; none left: EXITED;
				stop: STOPPING left +grace +end` + checksOfRest,
			"RUNNING": transitional + `; spawned: !; unspawnable: !; exit 0: RUNNING left +look; exit 3: RUNNING left +look;
				early exit: RUNNING left +look; stop: STOPPING +signal +grace`,
			"RUNNING left": transitional + `; spawned: !; unspawnable: !; exit 0: RUNNING left +look; exit 3: RUNNING left +look;
				early exit: RUNNING left +look; none left: EXITED; stop: STOPPING left +grace +end`,
			"BACKOFF": transitional + `; retry: STARTING left 1 +spawn; stop: STOPPED; spawned: !; unspawnable: !;
				exit 0: !; exit 3: !; early exit: !`,
			"STOPPING": stopped + `; exit 0: STOPPING left +end; exit 3: STOPPING left +end; early exit: STOPPING left +end;
				overdue: STOPPING +kill`,
			"STOPPING left": stopped + `; exit 0: STOPPING left +end; exit 3: STOPPING left +end; early exit: STOPPING left +end;
				none left: STOPPED`,
		},
	},
}

// stoppedFailing is what meets a program that is ended because it did not
// become ready: a stop turns that into a stop.
const stoppedFailing = `start: !stopping; spawned: !; unspawnable: !; exit 0: STOPPING left failing +end;
	exit 3: STOPPING left failing +end; early exit: STOPPING left failing +end`

const backoff = transitional + `; retry: STARTING left 1 +spawn; stop: STOPPED; spawned: !; unspawnable: !;
	exit 0: !; exit 3: !; early exit: !`

// checkedTables are of programs that are running only when they are ready.
var checkedTables = map[string]struct {
	rules rules
	table map[string]string
}{
	"a program with checks": {
		rules{hasStartSecs: true, hasChecks: true, retries: 3, restart: config.RestartUnexpected, exitCodes: []int{0}},
		map[string]string{
			"STARTING": transitional + `; spawned: STARTING +settle +ready; unspawnable: BACKOFF 1 +retry; settled: STARTING settled;
				readied: STARTING ready; unready: STOPPING failing +signal +grace; exit 0: BACKOFF 1 +retry;
				exit 3: BACKOFF 1 +retry; early exit: BACKOFF 1 +retry; left: STARTING left descendants; stop: STOPPING +signal +grace`,
			"STARTING settled": transitional + `; spawned: STARTING +settle +ready; unspawnable: BACKOFF 1 +retry;
				readied: RUNNING; unready: STOPPING failing +signal +grace; exit 0: BACKOFF 1 +retry;
				exit 3: BACKOFF 1 +retry; early exit: BACKOFF 1 +retry; left: STARTING left settled descendants;
				stop: STOPPING +signal +grace`,
			"STARTING ready": transitional + `; spawned: STARTING +settle +ready; unspawnable: BACKOFF 1 +retry; settled: RUNNING;
				unready: STOPPING failing +signal +grace; exit 0: EXITED;
				exit 3: STARTING left +spawn; early exit: BACKOFF 1 +retry; left: RUNNING left; stop: STOPPING +signal +grace`,
			"BACKOFF":               backoff,
			"STOPPING failing":      stoppedFailing + `; overdue: STOPPING failing +kill; stop: STOPPING`,
			"STOPPING left failing": stoppedFailing + `; none left: BACKOFF 1 +retry; stop: STOPPING left`,
		},
	},
	"a start with checks": {
		rules{hasStartSecs: true, hasChecks: true, kind: protocol.KindStart, restart: config.RestartAlways, retries: 3},
		map[string]string{
			"STARTING": transitional + `; spawned: STARTING +settle +ready; unspawnable: FATAL; settled: STARTING settled;
				readied: STARTING ready; unready: STOPPING failing +signal +grace; exit 0: STARTING left +look;
				exit 3: EXITED; early exit: EXITED; left: STARTING left descendants; stop: STOPPING +signal +grace`,
			"STARTING settled": transitional + `; spawned: STARTING +settle +ready; unspawnable: FATAL;
				readied: RUNNING; unready: STOPPING failing +signal +grace; exit 0: STARTING left settled +look;
				exit 3: EXITED; early exit: EXITED; left: STARTING left settled descendants; stop: STOPPING +signal +grace`,
			"STARTING ready": transitional + `; spawned: STARTING +settle +ready; unspawnable: FATAL; settled: RUNNING;
				unready: STOPPING failing +signal +grace; exit 0: STARTING left ready +look;
				exit 3: EXITED; early exit: EXITED; left: RUNNING left; stop: STOPPING +signal +grace`,
			"STARTING left descendants": transitional + `; spawned: STARTING +settle +ready; unspawnable: FATAL;
				readied: RUNNING left; unready: STOPPING left failing +grace +end; exit 0: STARTING left descendants +look;
				exit 3: EXITED; early exit: EXITED; none left: FATAL; stop: STOPPING left +grace +end`,
			"STARTING left ready": transitional + `; spawned: STARTING +settle +ready; unspawnable: FATAL;
				unready: STOPPING left failing +grace +end; exit 0: STARTING left ready +look;
				exit 3: EXITED; early exit: EXITED; left: RUNNING left; none left: EXITED; stop: STOPPING left +grace +end`,
			"STOPPING failing":      stoppedFailing + `; overdue: STOPPING failing +kill; stop: STOPPING`,
			"STOPPING left failing": stoppedFailing + `; none left: FATAL; stop: STOPPING left`,
		},
	},
}

var effectNames = map[effect]string{
	spawn: "spawn", awaitSettle: "settle", awaitReady: "ready", awaitRetry: "retry", signalMain: "signal", awaitGrace: "grace",
	lookForDescendants: "look", endDescendants: "end", killAll: "kill",
}

func describeMachine(m machine, effects []effect) string {
	text := m.process.String()
	if !m.main && slices.Contains([]wire.ProcessState{wire.Starting, wire.Running, wire.Stopping}, m.process) {
		text += " left"
	}
	for _, flag := range []struct {
		set  bool
		name string
	}{{m.settled, "settled"}, {m.ready, "ready"}, {m.descendants, "descendants"}, {m.failing, "failing"}} {
		if flag.set {
			text += " " + flag.name
		}
	}
	if m.failures > 0 {
		text += fmt.Sprintf(" %d", m.failures)
	}
	for _, e := range effects {
		text += " +" + effectNames[e]
	}
	return text
}

func describeStep(r rules, s machine, e event) string {
	after, effects, err := next(r, s, e)
	switch {
	case errors.Is(err, ErrAlreadyStarted):
		return "!started"
	case errors.Is(err, ErrNotRunning):
		return "!running"
	case errors.Is(err, ErrStopping):
		return "!stopping"
	case err != nil:
		return "!"
	}
	return describeMachine(after, effects)
}

func TestEveryStateMeetsEveryEvent(t *testing.T) {
	t.Parallel()
	for name, program := range machineTables {
		for stateName, s := range machineStates {
			meetEveryEvent(t, name, stateName, program.rules, s, program.table[stateName])
		}
	}
	states := maps.Clone(machineStates)
	maps.Copy(states, checkedStates)
	for name, program := range checkedTables {
		for stateName, table := range program.table {
			meetEveryEvent(t, name, stateName, program.rules, states[stateName], table)
		}
	}
}

func meetEveryEvent(t *testing.T, name, stateName string, r rules, s machine, table string) {
	t.Helper()
	s.failures = 0
	want := map[string]string{}
	for _, cell := range strings.Split(table, ";") {
		eventName, result, _ := strings.Cut(strings.TrimSpace(cell), ": ")
		want[eventName] = strings.Join(strings.Fields(result), " ")
	}
	if stateName == "BACKOFF" {
		s.failures = 1
	}
	for eventName, e := range machineEvents {
		expected, ok := want[eventName]
		if !ok {
			expected = describeMachine(s, nil)
		}
		if got := describeStep(r, s, e); got != expected {
			t.Errorf("%s: %s × %s gives %q, want %q", name, stateName, eventName, got, expected)
		}
	}
}

func TestAProgramIsRunningOnlyWhenItIsReadyAndHasLivedForStartsecs(t *testing.T) {
	t.Parallel()
	for want, events := range map[string][]event{
		"STARTING STARTING STARTING RUNNING":                   {{kind: startAsked}, {kind: spawned}, {kind: checksPassed}, {kind: settled}},
		"STARTING STARTING STARTING RUNNING RUNNING":           {{kind: startAsked}, {kind: spawned}, {kind: settled}, {kind: checksPassed}, {kind: checksFailed}},
		"STARTING STARTING STOPPING STOPPING BACKOFF":          {{kind: startAsked}, {kind: spawned}, {kind: checksFailed}, {kind: exited}, {kind: noDescendants}},
		"STARTING STARTING STOPPING STOPPING STOPPING STOPPED": {{kind: startAsked}, {kind: spawned}, {kind: checksFailed}, {kind: stopAsked}, {kind: exited}, {kind: noDescendants}},
	} {
		if got := play(t, rules{hasStartSecs: true, hasChecks: true, retries: 1}, events...); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// play steps a machine from STOPPED through events, and gives the states.
func play(t *testing.T, r rules, events ...event) string {
	t.Helper()
	s := machine{process: wire.Stopped}
	var states []string
	for _, e := range events {
		after, _, err := next(r, s, e)
		if err != nil {
			t.Fatalf("%s × %s: %v", s.process, e.kind, err)
		}
		s = after
		states = append(states, s.process.String())
	}
	return strings.Join(states, " ")
}

func TestAProgramThatKeepsFailingIsGivenUpAfterItsRetries(t *testing.T) {
	t.Parallel()
	fail := event{kind: exited, code: 1, early: true}
	got := play(t, rules{hasStartSecs: true, retries: 2},
		event{kind: startAsked}, event{kind: spawned}, fail, event{kind: retryDue}, event{kind: spawned}, fail,
		event{kind: retryDue}, event{kind: spawned}, fail)
	const want = "STARTING STARTING BACKOFF STARTING STARTING BACKOFF STARTING STARTING FATAL"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestWithoutStartsecsAProgramIsRunningAtOnceWhateverItsCode(t *testing.T) {
	t.Parallel()
	got := play(t, rules{retries: 3}, event{kind: startAsked}, event{kind: spawned}, event{kind: exited, code: 1})
	if want := "STARTING RUNNING EXITED"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestASuccessfulStartForgetsEarlierFailures(t *testing.T) {
	t.Parallel()
	r := rules{hasStartSecs: true, retries: 3}
	s, _, _ := next(r, machine{process: wire.Starting, main: true, failures: 2}, event{kind: settled})
	if s.failures != 0 {
		t.Errorf("failures: %d", s.failures)
	}
}
