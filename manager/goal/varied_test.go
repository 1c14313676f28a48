package goal_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/toskose/toskose/internal/dice"
	"github.com/toskose/toskose/manager/goal"
	"github.com/toskose/toskose/spec/plan"
	"github.com/toskose/toskose/spec/protocol"
)

// variedProtocol has two to four states that require and offer some words, operations
// to and fro, starts and stops among them, and fault handlers.
func variedProtocol(r *rand.Rand, words []string) protocol.Protocol {
	requires, offers, needs, back := r.Float64()*0.5, 0.2+r.Float64()*0.6, r.Float64()*0.4, r.Float64()
	some := func(one float64) (all []string) {
		for _, w := range words {
			if r.Float64() < one {
				all = append(all, w)
			}
		}
		return all
	}
	p := protocol.Protocol{Initial: "0"}
	states := 2 + r.IntN(3)
	for s := range states {
		st := protocol.State{Name: fmt.Sprint(s), Offers: some(offers)}
		if s > 0 {
			st.Requires = some(requires)
		}
		p.States = append(p.States, st)
	}
	standard := map[int]string{1 + r.IntN(3): "start", 10 + r.IntN(3): "stop"}
	add := func(from, to, operation int) {
		o := protocol.Operation{Interface: "i", Name: fmt.Sprint("o", operation)}
		if name := standard[operation]; name != "" {
			o = protocol.Operation{Interface: protocol.Standard, Name: name}
		}
		t := protocol.Transition{Source: fmt.Sprint(from), Target: fmt.Sprint(to), Operation: o, Requires: some(needs)}
		if !slices.ContainsFunc(p.Transitions, func(other protocol.Transition) bool { return other.Source == t.Source && other.Operation == o }) {
			p.Transitions = append(p.Transitions, t)
		}
	}
	for s := 1; s < states; s++ {
		add(s-1, s, s)
		if r.Float64() < back {
			add(s, s-1, 10+r.IntN(3))
		}
	}
	for range r.IntN(3) {
		add(r.IntN(states), r.IntN(states), r.IntN(13))
	}
	for s := range states {
		if r.IntN(3) == 0 {
			p.FaultHandlers = append(p.FaultHandlers, protocol.FaultHandler{Source: fmt.Sprint(s), Target: fmt.Sprint(r.IntN(states))})
		}
	}
	return p
}

// variedModel is an application of one to three containers with one to four components,
// which require anything of each other, in circles, too.
func variedModel(t *testing.T, r *rand.Rand) *goal.Model {
	m := goal.Model{Node: map[string]string{}, Policies: map[string]goal.Policy{}, Groups: map[string][]string{}, MaxUnavailable: map[string]int{}}
	words := []string{"x", "y", "z"}[:1+r.IntN(3)]
	nodes, names := 1+r.IntN(3), []string{"a", "b", "c", "d"}[:1+r.IntN(4)]
	bound := 0.3 + r.Float64()*0.7
	for n := range nodes {
		node := fmt.Sprint("n", n)
		m.MaxUnavailable[node] = r.IntN(3)
		m.Elements = append(m.Elements, plan.Element{Name: node, Protocol: protocol.Container().Hosting()})
	}
	for _, name := range names {
		e := plan.Element{Name: name, Protocol: variedProtocol(r, words)}
		if err := e.Protocol.Validate(); err != nil {
			t.Fatal(err)
		}
		m.Node[name] = fmt.Sprint("n", r.IntN(nodes))
		for _, o := range e.Protocol.Operations() {
			if r.IntN(6) == 0 {
				e.Unimplemented = append(e.Unimplemented, o)
			}
		}
		for _, w := range words {
			for _, target := range names {
				if target != name && r.Float64() < bound/float64(len(names)) {
					e.Bindings = append(e.Bindings, plan.Binding{Requirement: w, Target: target, Capability: words[r.IntN(len(words))]})
				}
			}
			if r.IntN(3) == 0 {
				m.Policies[name] = goal.Policy{TakeDown: append(m.Policies[name].TakeDown, w)}
			}
		}
		m.Elements = append(m.Elements, e)
	}
	return goal.NewModel(m)
}

// way asks the planner, which knows no replicas, nothing of what falls and nothing of
// what is under way, whether something can be done: each component of each replica is an
// element of its own, and one that requires something of another container does so of
// all its replicas.
func (w *world) way() (*plan.Plan, error) {
	p := plan.Problem{From: map[string]string{}, Closed: map[string]bool{}, Goal: map[string]string{}}
	targets := w.targets()
	name := func(component string, i int) string { return component + "@" + w.s.Replicas[i].Instance }
	for i, r := range w.s.Replicas {
		for _, component := range slices.Sorted(maps.Keys(r.Components)) {
			e := w.element(component)
			made := plan.Element{Name: name(component, i), Protocol: e.Protocol, Unimplemented: e.Unimplemented}
			if _, held := w.doc.Holds[component]; held {
				made.Protocol.Transitions = nil
			}
			for _, b := range e.Bindings {
				for j, other := range w.s.Replicas {
					if other.Node == w.m.Node[b.Target] && (other.Node != r.Node || i == j) {
						made.Bindings = append(made.Bindings, plan.Binding{Requirement: b.Requirement, Target: name(b.Target, j), Capability: b.Capability})
					}
				}
			}
			p.Elements = append(p.Elements, made)
			p.From[made.Name], p.Closed[made.Name] = r.Components[component].State, !r.Components[component].Open
			if target := targets[component]; target != "" {
				p.Goal[made.Name] = target
			}
		}
	}
	return plan.Make(w.t.Context(), p, plan.Options{MaxStates: 20_000})
}

// TestWhereverAPlanLeadsSoDoesTheGoal: whatever the protocols, whatever happens. Where
// the goal comes to rest without being reached, no plan leads on. The world holds each
// step against the rules.
func TestWhereverAPlanLeadsSoDoesTheGoal(t *testing.T) {
	t.Parallel()
	stories, long := uint64(80), os.Getenv("TOSKOSE_TEST_LONG") != ""
	if long {
		stories = 1 << 40
	}
	begin := time.Now()
	first := max(*seed, dice.Seed())
	n := tally{}
	for s := first; s < first+stories && (!long || time.Since(begin) < 5*time.Minute); s++ {
		n.play(t, s)
	}
	t.Logf("%+v", n)
	if n.reached < 30 || n.resting < 10 || n.fell == 0 || n.held < 10 {
		t.Errorf("too little happens: %+v", n)
	}
}

// tally counts what came of stories.
type tally struct{ reached, resting, fell, held, begun int }

func (n *tally) play(t *testing.T, s uint64) {
	r := rand.New(rand.NewPCG(s, 17))
	w := &world{t: t, seed: s, r: r, m: variedModel(t, r), ids: map[string]bool{}, along: r.IntN(2) == 0}
	w.s.Now = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, e := range w.m.Elements {
		if w.m.Node[e.Name] != "" || !slices.Contains(slices.Collect(maps.Values(w.m.Node)), e.Name) {
			continue
		}
		for range 1 + r.IntN(4)/2 {
			w.s.Replicas = append(w.s.Replicas, w.replica(e.Name))
		}
	}
	for range 3 {
		states := map[string]string{}
		for _, e := range w.m.Elements {
			if w.m.Node[e.Name] != "" && r.IntN(4) > 0 {
				states[e.Name] = e.Protocol.States[r.IntN(len(e.Protocol.States))].Name
			}
		}
		w.goal("", states)
		for range r.IntN(40) {
			for _, step := range w.decide().Steps {
				if step.Why != "" {
					n.fell++
				}
			}
			if running := w.running(); len(running) > 0 && r.IntN(3) > 0 {
				w.end(running[r.IntN(len(running))], r.IntN(5) > 0)
			}
			if r.IntN(4) == 0 {
				w.disturb()
			}
			w.s.Now = w.s.Now.Add(100 * time.Millisecond)
		}
		n.held += len(w.doc.Holds)
		w.recover(r.IntN(2) == 0)
		d := w.settle()
		if d.Reached == d.Wanted {
			n.reached++
			continue
		}
		n.resting++
		if way, err := w.way(); err == nil {
			t.Fatalf("seed %d: %d of %d reached, obstacles %+v, targets %v, but a plan leads on: %v\n%s\n%s", s, d.Reached, d.Wanted, d.Obstacles, w.targets(), way.Steps(), w, w.protocols())
		} else if errors.Is(err, plan.ErrLimit) {
			t.Logf("seed %d: %v", s, err)
		}
	}
	n.begun += w.begun
}

// recover ends what keeps replicas from being operated, and holds where asked to.
func (w *world) recover(resumed bool) {
	for i := range w.s.Replicas {
		w.s.Replicas[i].Problem, w.s.Replicas[i].Unknown = "", false
	}
	for _, u := range w.running() {
		w.end(u, true)
	}
	if resumed {
		w.goal(w.doc.All, w.doc.States)
	} else {
		w.doc.Asked.Counter++ // attempts are made anew
	}
}

func (w *world) protocols() (text string) {
	for _, e := range w.m.Elements {
		if w.m.Node[e.Name] == "" {
			continue
		}
		text += fmt.Sprintf("%s on %s, unimplemented %v, takes down %v, bindings %v\n", e.Name, w.m.Node[e.Name], e.Unimplemented, w.m.Policies[e.Name].TakeDown, e.Bindings)
		for _, s := range e.Protocol.States {
			text += fmt.Sprintf("  %s requires %v offers %v\n", s.Name, s.Requires, s.Offers)
		}
		for _, tr := range e.Protocol.Transitions {
			text += fmt.Sprintf("  %s requires %v\n", tr, tr.Requires)
		}
		text += fmt.Sprintf("  faults %v\n", e.Protocol.FaultHandlers)
	}
	return text
}
