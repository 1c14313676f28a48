package goal_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/toskose/toskose/manager/goal"
	"github.com/toskose/toskose/spec/plan"
	"github.com/toskose/toskose/spec/protocol"
	"github.com/toskose/toskose/unit/wire"
)

var (
	varied = flag.Int("varied", 6, "how many random applications are driven to a goal")
	seed   = flag.Uint64("seed", 0, "the first of them")
)

// model makes a random application: components with default protocols or their
// own, on each other and on containers, and requirements that lead to those
// before them, so that a plan exists.
func model(r *rand.Rand) *goal.Model {
	m := goal.Model{Node: map[string]string{}, Policies: map[string]goal.Policy{}, Groups: map[string][]string{}}
	var all []string
	nodes := 1 + r.IntN(3)
	for n := range nodes {
		node := fmt.Sprintf("node%d", n)
		m.Elements = append(m.Elements, plan.Element{Name: node, Protocol: protocol.Container().Hosting()})
		host := node
		for c := range 1 + r.IntN(3) {
			name := fmt.Sprintf("c%d%d", n, c)
			e := plan.Element{Name: name, Protocol: protocol.Software()}
			if r.IntN(3) == 0 {
				e.Protocol = own()
			}
			for _, t := range e.Protocol.Transitions {
				if t.Kind() == protocol.KindRun && r.IntN(4) == 0 {
					e.Unimplemented = append(e.Unimplemented, t.Operation)
				}
			}
			for _, requirement := range []string{protocol.Host, protocol.Alive} {
				e.Bindings = append(e.Bindings, plan.Binding{Requirement: requirement, Target: host, Capability: requirement})
			}
			if len(all) > 0 && r.IntN(2) == 0 {
				e.Bindings = append(e.Bindings, plan.Binding{
					Requirement: protocol.Connection, Target: all[r.IntN(len(all))], Capability: protocol.Endpoint,
				})
			}
			m.Node[name] = node
			if r.IntN(4) == 0 {
				m.Policies[name] = goal.Policy{TakeDown: []string{protocol.Connection}}
			}
			m.Elements = append(m.Elements, e)
			all = append(all, name)
			if r.IntN(3) == 0 {
				host = name
			}
		}
	}
	return goal.NewModel(m)
}

// own is a protocol with a state more, which a custom operation leads to and from, and
// another one that only a stop and another start lead to.
func own() protocol.Protocol {
	p := protocol.Software()
	running, _ := p.State(protocol.Running)
	busy := protocol.State{Name: "busy", Requires: running.Requires, Offers: running.Offers}
	p.States = append(p.States, busy, protocol.State{Name: "safe", Requires: running.Requires, Offers: running.Offers})
	p.Transitions = append(p.Transitions,
		protocol.Transition{Source: protocol.Running, Target: "busy", Operation: protocol.Operation{Interface: "own", Name: "load"}, Requires: []string{protocol.Host}},
		protocol.Transition{Source: "busy", Target: protocol.Running, Operation: protocol.Operation{Interface: "own", Name: "unload"}, Requires: []string{protocol.Host}},
		protocol.Transition{Source: "busy", Target: protocol.Configured, Operation: protocol.Operation{Interface: protocol.Standard, Name: "stop"}, Requires: []string{protocol.Host}},
		protocol.Transition{Source: "safe", Target: protocol.Configured, Operation: protocol.Operation{Interface: protocol.Standard, Name: "stop"}, Requires: []string{protocol.Host}},
		protocol.Transition{Source: protocol.Configured, Target: "safe", Operation: protocol.Operation{Interface: "own", Name: "start"}, Requires: []string{protocol.Host}},
	)
	return p
}

func newWorld(t *testing.T, s uint64) *world {
	r := rand.New(rand.NewPCG(s, 1))
	w := &world{t: t, seed: s, r: r, m: model(r), ids: map[string]bool{}}
	w.s.Now = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, e := range w.m.Elements {
		if w.m.Node[e.Name] == "" {
			for range 1 + r.IntN(3) {
				w.s.Replicas = append(w.s.Replicas, w.replica(e.Name))
			}
		}
	}
	return w
}

func (w *world) goal(all string, states map[string]string) {
	w.seq++
	rev := wire.Revision{Counter: w.seq, ID: "x"}
	w.doc = &goal.Document{Revision: rev, Asked: rev, At: w.s.Now, All: all, States: states}
	w.s.Now = w.s.Now.Add(time.Second)
}

// towards returns the goal of a state: of the components that have it, with the others
// up.
func (w *world) towards(state string) (all string, states map[string]string) {
	if state != "safe" {
		return state, nil
	}
	states = map[string]string{}
	for _, e := range w.m.Elements {
		if e.Protocol.Has(state) {
			states[e.Name] = state
		}
	}
	return goal.Up, states
}

// reached fails unless everything is as the goal says.
func (w *world) reached(d *goal.Decision, s uint64) {
	w.t.Helper()
	if !d.Done() {
		w.t.Fatalf("seed %d: %d of %d reached, obstacles %+v\n%s", s, d.Reached, d.Wanted, d.Obstacles, w)
	}
}

func TestEveryGoalIsReachedThroughWhateverHappens(t *testing.T) {
	t.Parallel()
	for _, along := range []bool{true, false} {
		t.Run(fmt.Sprintf("along=%t", along), func(t *testing.T) {
			t.Parallel()
			disturbed(t, along)
		})
	}
}

func disturbed(t *testing.T, along bool) {
	begun := 0
	for s := *seed; s < *seed+uint64(*varied); s++ {
		w := newWorld(t, s)
		w.along = along
		for _, all := range []string{goal.Up, "safe", goal.Down, goal.Up} {
			w.goal(w.towards(all))
			for range 60 {
				w.decide()
				if running := w.running(); len(running) > 0 && w.r.IntN(3) > 0 {
					w.end(running[w.r.IntN(len(running))], w.r.IntN(5) > 0)
				}
				if w.r.IntN(4) == 0 {
					w.disturb()
				}
				w.s.Now = w.s.Now.Add(100 * time.Millisecond)
			}
			w.resume()
			w.reached(w.settle(), s)
		}
		begun += w.begun
	}
	t.Logf("%d operations", begun)
	if begun < 20**varied {
		t.Errorf("only %d operations were begun", begun)
	}
}

func TestAPlanThatIsGoneOnWithLeadsWherePlanningAnewDoes(t *testing.T) {
	t.Parallel()
	for s := *seed; s < *seed+uint64(*varied); s++ {
		var ends [2]string
		for i := range ends {
			w := newWorld(t, s)
			w.along = i == 1
			for _, state := range []string{goal.Up, protocol.Configured, goal.Up} {
				states := map[string]string{}
				for _, e := range w.m.Elements {
					if w.m.Node[e.Name] != "" && rand.New(rand.NewPCG(s, w.seq)).IntN(2) == 0 {
						states[e.Name] = state
					}
				}
				w.goal("", states)
				w.settle()
				ends[i] += w.states()
			}
		}
		if ends[0] != ends[1] {
			t.Errorf("seed %d ends in\n%snot in\n%s", s, ends[1], ends[0])
		}
	}
}

// resume ends all holds and all that keeps replicas from being operated.
func (w *world) resume() {
	for i := range w.s.Replicas {
		w.s.Replicas[i].Problem, w.s.Replicas[i].Unknown = "", false
	}
	for _, u := range w.running() {
		w.end(u, true)
	}
	w.goal(w.doc.All, w.doc.States)
}
