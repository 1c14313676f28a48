package unit

import (
	"strings"
	"testing"

	"github.com/toskose/toskose/unit/wire"
)

func protocolWith(states ...string) lifecycle {
	return lifecycle{protocol: &wire.Protocol{Initial: states[0], States: states}}
}

func fault(t *testing.T, err error, want wire.FaultCode) {
	t.Helper()
	if code, _ := wire.FaultCodeOf(err); code != want {
		t.Errorf("the answer is %v, want fault %s", err, want)
	}
}

func TestAComponentKeepsItsStateUnderAnotherProtocol(t *testing.T) {
	t.Parallel()
	l, _ := testLedger(t)
	l.must(t, "1", "api", "Standard.create", wire.OperationRun, false)
	for _, life := range []lifecycle{protocolWith("new", "created"), {}, protocolWith("created")} {
		if err := l.adopt("api", life); err != nil || l.state("api") != "created" {
			t.Errorf("%+v: %v, state %s", life.protocol, err, l.state("api"))
		}
	}
	if err := l.adopt("api", protocolWith("new")); err == nil || !strings.Contains(err.Error(), `"created"`) {
		t.Errorf("a protocol without its state: %v", err)
	}
	if err := l.adopt("gui", protocolWith("new")); err != nil || l.state("gui") != "new" {
		t.Errorf("nothing was done to gui: %v, state %s", err, l.state("gui"))
	}
}

func TestAnOpenComponentHasToKnowWhereItFallsBackTo(t *testing.T) {
	t.Parallel()
	l, _ := testLedger(t)
	l.must(t, "1", "api", "Standard.create", wire.OperationRun, false)
	l.must(t, "2", "api", "Standard.configure", wire.OperationRun, false)
	l.must(t, "3", "api", "Standard.start", wire.OperationStart, true)
	if err := l.adopt("api", protocolWith("running")); err == nil || !strings.Contains(err.Error(), `started from the state "configured"`) {
		t.Errorf("got %v", err)
	}
	if err := l.adopt("api", protocolWith("running", "configured")); err != nil {
		t.Error(err)
	}
	fault(t, l.abandon("api"), wire.StillRunning)
}

func TestAComponentThatComesBackIsWhereItWas(t *testing.T) {
	t.Parallel()
	l, _ := testLedger(t)
	l.must(t, "1", "api", "Standard.create", wire.OperationRun, false)
	before := l.lifecycles["api"]
	if err := l.abandon("api"); err != nil {
		t.Fatal(err)
	}
	if _, components := l.components(); len(components) != 1 {
		t.Errorf("got %+v", components)
	}
	if err := l.fits("api", protocolWith("other")); err == nil {
		t.Error("a protocol without its state fits")
	}
	if err := l.adopt("api", before); err != nil || l.state("api") != "created" {
		t.Errorf("%v, state %s", err, l.state("api"))
	}
}

func TestAComponentWithAnExecutionIsNotIdle(t *testing.T) {
	t.Parallel()
	l, _ := testLedger(t)
	x, err := l.try(t, "1", "api", "Standard.create", wire.OperationRun)
	if err != nil {
		t.Fatal(err)
	}
	fault(t, l.idle("api", nil), wire.StillRunning)
	if err := l.idle("api", func(other *execution) bool { return other == x }); err != nil {
		t.Error(err)
	}
	if err := l.idle("gui", nil); err != nil {
		t.Error(err)
	}
	l.finish(t.Context(), x, ending{outcome: wire.OutcomeSucceeded})
	if err := l.idle("api", nil); err != nil {
		t.Error(err)
	}
	l.halting("api")
	fault(t, l.idle("api", nil), wire.StillRunning)
	l.halted(t.Context(), "api", "", false)
}
