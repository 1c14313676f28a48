package component

import (
	"strings"
	"testing"

	"github.com/toskose/toskose/spec/protocol"
	"github.com/toskose/toskose/unit/wire"
)

func protocolWith(names ...string) lifecycle {
	return lifecycle{protocol: &protocol.Protocol{Initial: names[0], States: states(names...)}}
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
	l.must(t, "1", "api", "Standard.create", protocol.KindRun, false)
	for _, life := range []lifecycle{protocolWith("new", "created"), {}, protocolWith("created")} {
		if err := l.redefine("api", life); err != nil || l.state("api") != "created" {
			t.Errorf("%+v: %v, state %s", life.protocol, err, l.state("api"))
		}
	}
	if err := l.redefine("api", protocolWith("new")); err == nil || !strings.Contains(err.Error(), `"created"`) {
		t.Errorf("a protocol without its state: %v", err)
	}
	if err := l.redefine("gui", protocolWith("new")); err != nil || l.state("gui") != "new" {
		t.Errorf("nothing was done to gui: %v, state %s", err, l.state("gui"))
	}
}

func TestAReloadIsInTheJournal(t *testing.T) {
	t.Parallel()
	l, f := testLedger(t)
	if err := l.redefine("new", protocolWith("created")); err != nil {
		t.Fatal(err)
	}
	if err := l.Withdraw("gui"); err != nil {
		t.Fatal(err)
	}
	page, err := f.Read("", 0)
	if err != nil {
		t.Fatal(err)
	}
	var whys []string
	for _, e := range page.Entries {
		if e.Kind == wire.EntryReload {
			whys = append(whys, e.Why)
		}
	}
	if got := strings.Join(whys, ", "); got != "new has another definition, gui is no longer in use" {
		t.Errorf("the journal has %q", got)
	}
	s := &Set{ledger: l}
	hello, err := s.Hello(wire.Identity{})
	if err != nil || hello.Seq != f.Seq() || len(hello.Components) != 2 || hello.Components[0].Component != "api" || hello.Components[1].State != "created" {
		t.Errorf("hello: %+v, %v", hello, err)
	}
	l.booted = false
	_, err = s.Hello(wire.Identity{})
	fault(t, err, wire.JournalUnavailable)
}

func TestAnOpenComponentHasToKnowWhereItFallsBackTo(t *testing.T) {
	t.Parallel()
	l, _ := testLedger(t)
	l.must(t, "1", "api", "Standard.create", protocol.KindRun, false)
	l.must(t, "2", "api", "Standard.configure", protocol.KindRun, false)
	l.must(t, "3", "api", "Standard.start", protocol.KindStart, true)
	if err := l.redefine("api", protocolWith("running")); err == nil || !strings.Contains(err.Error(), `started from the state "configured"`) {
		t.Errorf("got %v", err)
	}
	if err := l.redefine("api", protocolWith("running", "configured")); err != nil {
		t.Error(err)
	}
	fault(t, l.Withdraw("api"), wire.StillRunning)
}

func TestAComponentThatComesBackIsWhereItWas(t *testing.T) {
	t.Parallel()
	l, _ := testLedger(t)
	l.must(t, "1", "api", "Standard.create", protocol.KindRun, false)
	before := l.lifecycles["api"]
	if err := l.Withdraw("api"); err != nil {
		t.Fatal(err)
	}
	if _, components := l.Components(); len(components) != 1 {
		t.Errorf("got %+v", components)
	}
	if err := l.fits("api", protocolWith("other")); err == nil {
		t.Error("a protocol without its state fits")
	}
	if err := l.redefine("api", before); err != nil || l.state("api") != "created" {
		t.Errorf("%v, state %s", err, l.state("api"))
	}
}

func TestAComponentWithAnExecutionIsNotIdle(t *testing.T) {
	t.Parallel()
	l, _ := testLedger(t)
	x, err := l.try(t, "1", "api", "Standard.create", protocol.KindRun)
	if err != nil {
		t.Fatal(err)
	}
	fault(t, l.Idle("api"), wire.StillRunning)
	if err := l.Idle("api", x.program); err != nil {
		t.Error(err)
	}
	if err := l.Idle("gui"); err != nil {
		t.Error(err)
	}
	l.finish(t.Context(), x, executionResult{outcome: wire.OutcomeSucceeded})
	if err := l.Idle("api"); err != nil {
		t.Error(err)
	}
	l.BeginStop("api")
	fault(t, l.Idle("api"), wire.StillRunning)
	l.endStop(t.Context(), "api", "", false, nil)
}
