package component

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toskose/toskose/spec/protocol"
	"github.com/toskose/toskose/unit/config"
	"github.com/toskose/toskose/unit/process"
	"github.com/toskose/toskose/unit/wire"
)

func states(names ...string) []protocol.State {
	var all []protocol.State
	for _, name := range names {
		all = append(all, protocol.State{Name: name})
	}
	return all
}

func standardProtocol() *protocol.Protocol {
	return &protocol.Protocol{
		Initial: "deleted", States: states("deleted", "created", "configured", "running", "broken"),
		Transitions: []protocol.Transition{
			{Source: "deleted", Target: "created", Operation: op("Standard.create")},
			{Source: "created", Target: "configured", Operation: op("Standard.configure")},
			{Source: "configured", Target: "running", Operation: op("Standard.start")},
			{Source: "running", Target: "configured", Operation: op("Standard.stop")},
			{Source: "configured", Target: "deleted", Operation: op("Standard.delete")},
			{Source: "configured", Target: "configured", Operation: op("api_interface.push_default")},
		},
	}
}

func op(text string) protocol.Operation {
	operation, err := protocol.ParseOperation(text)
	if err != nil {
		panic(err)
	}
	return operation
}

func kindsOf(operations ...string) map[protocol.Operation]protocol.Kind {
	kinds := map[protocol.Operation]protocol.Kind{}
	for _, operation := range operations {
		kinds[op(operation)] = op(operation).Kind()
	}
	return kinds
}

func lifecycleOf(operations ...string) lifecycle {
	return lifecycle{protocol: standardProtocol(), kinds: kindsOf(operations...)}
}

func TestOperationsWithoutAProgramAreSkipped(t *testing.T) {
	t.Parallel()
	all := lifecycleOf("Standard.create", "Standard.configure", "Standard.start", "Standard.stop", "Standard.delete")
	if _, ok := all.step("created", op("Standard.start"), false); ok {
		t.Error("start is allowed before an implemented configure")
	}
	some := lifecycleOf("Standard.create", "Standard.start", "Standard.stop")
	if target, ok := some.step("created", op("Standard.start"), false); !ok || target != "running" {
		t.Errorf("start from created leads to %q, %t", target, ok)
	}
	want := []string{"Standard.configure", "Standard.delete", "Standard.start", "api_interface.push_default"}
	if got := some.allowed("created", false); !slices.Equal(got, want) {
		t.Errorf("allowed in created: %v, want %v", got, want)
	}
}

func TestAnUnimplementedStopIsNotSkippedWhileProcessesLive(t *testing.T) {
	t.Parallel()
	l := lifecycleOf("Standard.start", "Standard.delete")
	if got := l.allowed("running", true); !slices.Equal(got, []string{"Standard.stop"}) {
		t.Errorf("allowed while open: %v", got)
	}
	if _, ok := l.step("running", op("Standard.delete"), false); !ok {
		t.Error("with nothing to stop, delete is not allowed")
	}
}

func TestAFreeOperationRunsInItsStatesOnly(t *testing.T) {
	t.Parallel()
	l := lifecycleOf("Standard.start", "Standard.stop", "own.push")
	free := l.protocol.WithFree(op("own.push"))
	l.protocol = &free
	for _, state := range []string{"created", "running"} {
		if target, ok := l.step(state, op("own.push"), state == "running"); !ok || target != state {
			t.Errorf("from %s it leads to %q, %t", state, target, ok)
		}
	}
	if _, ok := l.step("deleted", op("own.push"), false); ok {
		t.Error("it is allowed before create")
	}
	if !slices.Contains(l.allowed("running", true), "own.push") || slices.Contains(l.allowed("deleted", false), "own.push") {
		t.Errorf("allowed are %v and %v", l.allowed("running", true), l.allowed("deleted", false))
	}
	if operations := l.operations(); !slices.Contains(operations, op("own.push")) {
		t.Errorf("operations are %v", operations)
	}
}

func TestWithoutAProtocolEverythingIsAllowed(t *testing.T) {
	t.Parallel()
	l := lifecycle{kinds: kindsOf("Standard.x")}
	if target, ok := l.step(l.initial(), op("Standard.x"), false); !ok || target != unknownState {
		t.Errorf("got %q, %t", target, ok)
	}
}

func TestAFaultHandlerSaysWhereAComponentFalls(t *testing.T) {
	t.Parallel()
	l := lifecycleOf("Standard.start")
	if got := l.fallback("running", "created"); got != "created" {
		t.Errorf("without a handler: %s", got)
	}
	l.protocol.FaultHandlers = []protocol.FaultHandler{{Source: "running", Target: "broken"}}
	if got := l.fallback("running", "created"); got != "broken" {
		t.Errorf("with one: %s", got)
	}
	if got := l.afterStop("running", "created"); got != "configured" {
		t.Errorf("closed: %s", got)
	}
}

func TestACheckpointFoldsToWhatItWasMadeOf(t *testing.T) {
	t.Parallel()
	entries := []wire.Entry{
		{Seq: 1, Kind: wire.EntryBoot},
		{Seq: 2, Kind: wire.EntryStart, Component: "api", State: "configured", Execution: &wire.Execution{ID: "a", Outcome: wire.OutcomeRunning}},
		{Seq: 3, Kind: wire.EntryExit, Component: "api", State: "running", StartedFrom: "configured", Why: "start succeeded", Execution: &wire.Execution{ID: "a", Outcome: wire.OutcomeSucceeded}},
		{Seq: 4, Kind: wire.EntryStart, Component: "gui", State: "deleted", Execution: &wire.Execution{ID: "b", Outcome: wire.OutcomeRunning}},
	}
	var folded map[string]componentStatus
	for _, e := range entries {
		folded = fold(folded, e)
	}
	api := folded["api"]
	if api.state != "running" || !api.open() || api.seq != 3 || api.why != "start succeeded" || api.executing() != nil {
		t.Errorf("api: %+v", api)
	}
	if x := folded["gui"].executing(); x == nil || x.ID != "b" {
		t.Errorf("gui executes %+v", x)
	}
	again := fold(nil, wire.Entry{Kind: wire.EntryCheckpoint, Components: checkpoint(folded)})
	if diff := cmp.Diff(folded, again, cmp.AllowUnexported(componentStatus{})); diff != "" {
		t.Error(diff)
	}
	gone := fold(folded, wire.Entry{Seq: 5, Kind: wire.EntryGone, Component: "api", State: "configured", Why: "it died"})["api"]
	if gone.open() || gone.why != "it died" || folded["api"].state != "running" {
		t.Errorf("gone: %+v, before it: %+v", gone, folded["api"])
	}
}

func TestOldExecutionsAreForgottenButNotThoseUnderWay(t *testing.T) {
	t.Parallel()
	s := componentStatus{recent: []wire.Execution{{ID: "under way", Outcome: wire.OutcomeRunning}}}
	for i := range recentExecutions + 10 {
		s = foldOne(s, wire.Entry{Execution: &wire.Execution{ID: string(rune('a' + i)), Outcome: wire.OutcomeSucceeded}})
	}
	if len(s.recent) != 1+recentExecutions || s.recent[0].ID != "under way" {
		t.Errorf("%d are remembered, the first is %q", len(s.recent), s.recent[0].ID)
	}
}

func TestOnlySuccessMovesAComponent(t *testing.T) {
	t.Parallel()
	created := componentStatus{state: "created", recent: []wire.Execution{{ID: "x", From: "created"}}}
	open := componentStatus{state: "running", startedFrom: "created", recent: []wire.Execution{{ID: "x", From: "running"}}}
	fallen := componentStatus{state: "created", recent: []wire.Execution{{ID: "x", From: "running"}}}
	run := &execution{id: "x", target: "t", kind: protocol.KindRun}
	start := &execution{id: "x", target: "t", kind: protocol.KindStart}
	stop := &execution{id: "x", target: "t", kind: protocol.KindStop}
	ok := executionResult{outcome: wire.OutcomeSucceeded}
	left := executionResult{outcome: wire.OutcomeSucceeded, left: true}
	for name, c := range map[string]struct {
		s           componentStatus
		x           *execution
		end         executionResult
		state, from string
	}{
		"run":                          {created, run, ok, "t", ""},
		"failed run":                   {created, run, executionResult{outcome: wire.OutcomeFailed}, "created", ""},
		"start that leaves processes":  {created, start, left, "t", "created"},
		"start that leaves none":       {created, start, ok, "t", ""},
		"stop":                         {open, stop, ok, "t", ""},
		"failed stop":                  {open, stop, executionResult{outcome: wire.OutcomeFailed}, "running", "created"},
		"run while open":               {open, run, ok, "t", "created"},
		"run whose component has died": {fallen, run, ok, "created", ""},
	} {
		if state, from := stateAfter(c.s, c.x, c.end); state != c.state || from != c.from {
			t.Errorf("%s: %s, started from %q; want %s, %q", name, state, from, c.state, c.from)
		}
	}
}

func TestOperationsAreFoundByTheirBareNamesWhereThatIsUnique(t *testing.T) {
	t.Parallel()
	var table process.Table
	none := config.Log{Kind: config.LogNone}
	d := Definition{Protocol: &protocol.Protocol{Transitions: []protocol.Transition{
		{Operation: op("Standard.start")}, {Operation: op("Standard.stop")},
	}}}
	for _, name := range []string{"Standard.start", "Standard.push", "extra.push"} {
		p, err := table.Program(&config.Program{
			Group: "api", Name: name, Operation: op(name), Kind: protocol.KindRun, Stdout: none, Stderr: none,
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		d.Programs = append(d.Programs, p)
	}
	l := newLedger(nil, time.Now, map[string]lifecycle{"api": d.lifecycle()})
	for name, want := range map[string]string{"start": "Standard.start", "stop": "Standard.stop", "extra.push": "extra.push", "push": "", "x": ""} {
		got, p, err := l.implementation("api", name)
		if got.String() != want || (err == nil) != (want != "") {
			t.Errorf("operation %q is %q (%v), want %q", name, got, err, want)
		}
		if implemented := want != "" && want != "Standard.stop"; (p != nil) != implemented {
			t.Errorf("operation %q has a program: %t", name, p != nil)
		}
	}
}
