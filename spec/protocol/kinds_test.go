package protocol_test

import (
	"testing"

	"github.com/toskose/toskose/spec/protocol"
)

func TestAKindOfItsOwnWinsOverTheName(t *testing.T) {
	t.Parallel()
	p := protocol.Protocol{
		Initial: "out",
		States:  []protocol.State{{Name: "job"}, {Name: "out"}, {Name: "serving"}},
		Transitions: []protocol.Transition{
			{Source: "out", Target: "job", Operation: operation(t, "own.start")},
			{Source: "out", Target: "serving", Operation: operation(t, "own.serve")},
		},
	}
	if up, _ := p.Up(nil); up != "job" {
		t.Errorf("it is up in %q, want what own.start leads to", up)
	}
	same := p
	p.Kinds = map[string]protocol.Kind{"own.start": protocol.KindRun, "own.serve": protocol.KindStart}
	if up, _ := p.Up(nil); up != "serving" {
		t.Errorf("it is up in %q, want what the start, own.serve, leads to", up)
	}
	if p.Equal(same) {
		t.Error("protocols with other kinds are equal")
	}
	if got := p.KindOf(operation(t, "other.start")); got != protocol.KindStart {
		t.Errorf("other.start is %q", got)
	}
}
