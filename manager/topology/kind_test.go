package topology

import (
	"slices"
	"testing"

	"github.com/toskose/toskose/spec"
	"github.com/toskose/toskose/spec/protocol"
	"github.com/toskose/toskose/unit/wire"
)

// TestAKindOfItsOwnCountsWhileItExecutes: the protocol says which operations are starts
// and stops, whatever their names are.
func TestAKindOfItsOwnCountsWhileItExecutes(t *testing.T) {
	t.Parallel()
	op := func(name string) protocol.Operation { return protocol.Operation{Interface: "own", Name: name} }
	c := &Component{Model: &spec.Component{Name: "api", Protocol: protocol.Protocol{
		Initial: "down", States: []protocol.State{{Name: "down"}, {Name: "up"}},
		Transitions: []protocol.Transition{
			{Source: "down", Target: "up", Operation: op("serve")},
			{Source: "up", Target: "down", Operation: op("end")},
			{Source: "up", Target: "up", Operation: op("stop")},
		},
		Kinds: map[string]protocol.Kind{"own.serve": protocol.KindStart, "own.end": protocol.KindStop, "own.stop": protocol.KindRun},
	}}}
	for _, name := range []string{"serve", "end", "stop"} {
		c.Operations = append(c.Operations, Operation{Component: c, Name: op(name), Model: spec.Operation{Name: name, Script: name}})
	}
	executing := func(name string) *wire.Checkpointed {
		return &wire.Checkpointed{State: "down", Recent: []wire.Execution{{Interface: "own", Operation: name, Outcome: wire.OutcomeRunning}}}
	}
	if got := c.Choice(executing("serve")).Names; !slices.Equal(got, []string{"own.end"}) {
		t.Errorf("while what is a start executes, allowed are %q", got)
	}
	if got := c.Choice(executing("stop")).Names; len(got) > 0 {
		t.Errorf("while what is none executes, allowed are %q", got)
	}
}
