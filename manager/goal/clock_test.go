package goal

import (
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toskose/toskose/manager/mirror"
	"github.com/toskose/toskose/spec"
	"github.com/toskose/toskose/spec/plan"
	"github.com/toskose/toskose/spec/protocol"
	"github.com/toskose/toskose/unit/wire"
)

// TestAClockThatJumpsDelaysNoRetry has the machine's clock a day ahead, or behind, while a
// component fails. Its manager follows the unit, or begins after the clock is right again.
func TestAClockThatJumpsDelaysNoRetry(t *testing.T) {
	for name, tt := range map[string]struct {
		jump      time.Duration
		restarted bool
		wait      time.Duration // the shortest and the longest time until the next attempt
		most      time.Duration
	}{
		"a day ahead, the manager follows":       {24 * time.Hour, false, time.Second, 4 * time.Second},
		"a day behind, the manager follows":      {-24 * time.Hour, false, time.Second, 4 * time.Second},
		"a day ahead, the manager begins later":  {24 * time.Hour, true, time.Second, 4 * time.Second},
		"a day behind, the manager begins later": {-24 * time.Hour, true, 0, 4 * time.Second},
		"no jump":                                {0, false, time.Second, 4 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				jump := time.Duration(0)
				wall := func() time.Time { return time.Now().Add(jump) }
				model, observer := webModel(), NewObserver(nil, NewClock(wall))
				if observer.At(webAt()); tt.restarted {
					observer = NewObserver(nil, NewClock(wall))
				}
				time.Sleep(time.Minute)
				jump = tt.jump
				failed := []wire.Execution{failedAt("1", wall()), failedAt("2", wall().Add(time.Second)), failedAt("3", wall().Add(2*time.Second))}
				time.Sleep(2 * time.Second)
				if !tt.restarted {
					observer.At(webAt(failed...))
				}
				jump = 0
				s := observer.At(webAt(failed...)).Situation()
				d := model.Decide(t.Context(), &Document{All: Up, At: s.Now.Add(-time.Hour)}, s)
				wait := time.Duration(0)
				if len(d.Steps) == 0 {
					wait = d.Wake.Sub(s.Now)
				}
				if wait < tt.wait || wait > tt.most {
					t.Errorf("it is tried again after %s: %+v", wait, d.Obstacles)
				}
			})
		})
	}
}

func webModel() *Model {
	model := &spec.Application{
		Name:       "web",
		Nodes:      []spec.Node{{Name: "box", Protocol: protocol.Container().Hosting()}},
		Components: []spec.Component{{Name: "api", Node: "box", Host: "box", Protocol: protocol.Software()}},
	}
	return NewModel(Model{Elements: plan.Elements(model), Node: map[string]string{"api": "box"}})
}

func failedAt(id string, at time.Time) wire.Execution {
	return wire.Execution{
		ID: "goal-1-a-" + id, Interface: "Standard", Operation: "start", From: protocol.Configured, To: protocol.Configured,
		Outcome: wire.OutcomeFailed, Started: at, Ended: at, Seq: 1,
	}
}

func webAt(executed ...wire.Execution) *mirror.Snapshot {
	return &mirror.Snapshot{Nodes: []*mirror.Node{{Name: "box", Known: true, Replicas: []*mirror.Replica{{
		Node: "box", Instance: "i", Resolvable: true, Address: netip.MustParseAddrPort("10.0.0.1:9001"),
		Components: []*mirror.Component{{Component: "api", State: protocol.Configured, Recent: executed}},
	}}}}}
}
