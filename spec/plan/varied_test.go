package plan_test

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"testing"

	"github.com/toskose/toskose/spec/plan"
	"github.com/toskose/toskose/spec/protocol"
)

var (
	varied = flag.Int("varied", 1500, "how many random applications plans are compared with an oracle of")
	seed   = flag.Uint64("seed", 0, "the first of them")
)

// variedProblem makes an application of two to four elements. How its protocols
// and bindings are is chosen anew for each: offers that stay or vanish, states
// and transitions that require much or nothing, who is bound to several and who
// to what nobody offers, cycles, operations that are not implemented and ones
// that lead nowhere, starts and goals in any state, and operations that must run.
func variedProblem(r *rand.Rand) plan.Problem {
	p := plan.Problem{From: map[string]string{}, Goal: map[string]string{}}
	names := []string{"a", "b", "c", "d"}[:2+r.IntN(3)]
	if r.IntN(3) == 0 {
		p.Elements = hostedElements(r, names)
	} else {
		p.Elements = ownElements(r, names)
	}
	switch r.IntN(5) {
	case 0: // any start, which may have faults
		for _, e := range p.Elements {
			if r.IntN(2) == 0 {
				p.From[e.Name] = anyState(r, e)
			}
		}
	case 1, 2: // where some operations lead
		wander(r, &p)
	}
	switch down := r.IntN(4) == 0; {
	case down:
		for _, e := range p.Elements {
			p.Goal[e.Name] = e.Protocol.Initial
		}
	default:
		for _, e := range p.Elements {
			if r.IntN(3) > 0 {
				p.Goal[e.Name] = anyState(r, e)
			}
		}
	}
	for range r.IntN(5) / 2 {
		e := p.Elements[r.IntN(len(p.Elements))]
		t := e.Protocol.Transitions[r.IntN(len(e.Protocol.Transitions))]
		op := plan.Operation{Component: e.Name, Operation: t.Operation}
		if !slices.Contains(p.Run, op) {
			p.Run = append(p.Run, op)
		}
	}
	return p
}

func anyState(r *rand.Rand, e plan.Element) string {
	return e.Protocol.States[r.IntN(len(e.Protocol.States))].Name
}

// wander makes a few operations, and begins where they lead.
func wander(r *rand.Rand, p *plan.Problem) {
	o := newOracle(*p)
	s := o.start()
	for range r.IntN(12) {
		if all := o.next(s); len(all) > 0 {
			s = all[r.IntN(len(all))]
		}
	}
	for i, e := range p.Elements {
		p.From[e.Name] = s.states[i]
	}
}

// ownElements have protocols of their own.
func ownElements(r *rand.Rand, names []string) []plan.Element {
	words := []string{"x", "y", "z"}[:1+r.IntN(3)]
	requires, offers, needs := r.Float64()*0.5, 0.2+r.Float64()*0.6, r.Float64()*0.5
	back, bound, nothing := r.Float64(), 0.3+r.Float64()*0.7, r.Float64()*0.4
	some := func(one float64) []string {
		var all []string
		for _, w := range words {
			if r.Float64() < one {
				all = append(all, w)
			}
		}
		return all
	}
	all := make([]plan.Element, 0, len(names))
	for _, name := range names {
		e := plan.Element{Name: name, Protocol: protocol.Protocol{Initial: "0"}}
		states := 2 + r.IntN(3)
		for s := range states {
			st := protocol.State{Name: fmt.Sprint(s), Offers: some(offers)}
			if s > 0 {
				st.Requires = some(requires)
			}
			e.Protocol.States = append(e.Protocol.States, st)
		}
		add := func(from, to, operation int) {
			t := protocol.Transition{
				Source: fmt.Sprint(from), Target: fmt.Sprint(to), Operation: protocol.Operation{Interface: "i", Name: fmt.Sprintf("o%d", operation)}, Requires: some(needs),
			}
			if !slices.ContainsFunc(e.Protocol.Transitions, func(o protocol.Transition) bool { return o.Source == t.Source && o.Operation == t.Operation }) {
				e.Protocol.Transitions = append(e.Protocol.Transitions, t)
			}
		}
		for s := 1; s < states; s++ {
			add(s-1, s, s)
			if r.Float64() < back {
				add(s, s-1, 10+r.IntN(3)) // one operation may leave several states
			}
		}
		for range r.IntN(3) {
			add(r.IntN(states), r.IntN(states), r.IntN(13))
		}
		e.Unimplemented = notImplemented(r, e, nothing)
		for _, w := range words {
			for _, target := range names {
				if target != name && r.Float64() < bound/float64(len(names)-1) {
					e.Bindings = append(e.Bindings, plan.Binding{Requirement: w, Target: target, Capability: words[r.IntN(len(words))]})
				}
			}
		}
		all = append(all, e)
	}
	return all
}

func notImplemented(r *rand.Rand, e plan.Element, one float64) []protocol.Operation {
	var all []protocol.Operation
	for _, t := range e.Protocol.Transitions {
		if !slices.Contains(all, t.Operation) && r.Float64() < one {
			all = append(all, t.Operation)
		}
	}
	return all
}

// hostedElements have the usual protocols: the first is a container, others are
// volumes, containers, or components in any that comes before them.
func hostedElements(r *rand.Rand, names []string) []plan.Element {
	var all []plan.Element
	var hosts []string
	for i, name := range names {
		e := plan.Element{Name: name}
		usual := func(requirement, target string) {
			e.Bindings = append(e.Bindings, plan.Binding{Requirement: requirement, Target: target, Capability: protocol.Offering(requirement)})
		}
		kind := r.IntN(5)
		switch {
		case i > 0 && kind > 1:
			e.Protocol = protocol.Software()
			host := hosts[r.IntN(len(hosts))]
			usual("host", host)
			usual("alive", host)
			e.Unimplemented = notImplemented(r, e, 0.2)
			hosts = append(hosts, name)
		case i > 0 && kind == 1:
			e.Protocol = protocol.Volume()
		default:
			e.Protocol = protocol.Container()
			hosts = append(hosts, name)
		}
		for _, other := range names {
			if other == name || r.IntN(3) > 0 {
				continue
			}
			usual([]string{"connection", "dependency", "storage"}[r.IntN(3)], other)
		}
		all = append(all, e)
	}
	return all
}

// startAndStop gives operations of elements with protocols of their own the
// names that start and stop processes, so that elements are open.
func startAndStop(r *rand.Rand, p *plan.Problem) {
	standard := map[string]string{fmt.Sprintf("o%d", 1+r.IntN(3)): "start", fmt.Sprintf("o%d", 10+r.IntN(3)): "stop"}
	rename := func(op *protocol.Operation) {
		if name := standard[op.Name]; name != "" {
			*op = protocol.Operation{Interface: "Standard", Name: name}
		}
	}
	for i := range p.Elements {
		e := &p.Elements[i]
		for t := range e.Protocol.Transitions {
			rename(&e.Protocol.Transitions[t].Operation)
		}
		for u := range e.Unimplemented {
			rename(&e.Unimplemented[u])
		}
	}
	for i := range p.Run {
		rename(&p.Run[i].Operation)
	}
}

// choices are rare: the journeys that come first make a plan with as few operations
// as can be, and others, as short, one with fewer levels.
var choices = []uint64{3738, 5409, 6001, 16773, 18838, 34510, 84065, 90354}

// ring is an application in which each needs two others in states that they
// leave: its situations are as many as there are combinations of states.
func ring(n int) plan.Problem {
	of := custom("home offers key", "lent offers pass", "open requires key offers pass", "sat offers key",
		"home -lend-> lent", "lent -back-> home", "home -open requires key-> open", "open -close-> home", "open -sit requires pass-> sat")
	p := plan.Problem{Goal: map[string]string{}}
	for i := range n {
		name := fmt.Sprintf("k%d", i)
		p.Elements = append(p.Elements, element(name, of, fmt.Sprintf("key>k%d.key", (i+1)%n), fmt.Sprintf("pass>k%d.pass", (i+3)%n)))
		p.Goal[name] = "sat"
	}
	return p
}

// TestASearchTakesMemoryInProportionToItsLimit is not parallel: it counts what is
// allocated, by everyone.
func TestASearchTakesMemoryInProportionToItsLimit(t *testing.T) {
	const elements, limit = 60, 20_000
	p := ring(elements)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := plan.Make(t.Context(), p, plan.Options{MaxStates: limit})
	runtime.ReadMemStats(&after)
	if !errors.Is(err, plan.ErrLimit) {
		t.Fatalf("it ends with %v", err)
	}
	// Two searches, of situations with a key and an entry in a map each, in slices that double.
	if each := (after.TotalAlloc - before.TotalAlloc) / (2 * limit); each > 1000 {
		t.Errorf("%d bytes are allocated for a situation of %d elements", each, elements)
	}
}

// tally counts what the random applications were.
type tally struct{ faulty, impossible, found, still, long, cyclic, open int }

func TestPlansAreAsShortAsAnOracleSays(t *testing.T) {
	t.Parallel()
	var n tally
	for s := *seed; s < *seed+uint64(*varied); s++ {
		p := variedProblem(rand.New(rand.NewPCG(s, 7)))
		startAndStop(rand.New(rand.NewPCG(s, 13)), &p)
		n.compare(t, s, p)
	}
	for _, s := range choices {
		n.compare(t, s, variedProblem(rand.New(rand.NewPCG(s, 7))))
	}
	t.Logf("%+v", n)
	few := *varied / 50
	if n.faulty < few/4 || n.impossible < few || n.found < few || n.still < few || n.long < few || n.cyclic < few || n.open < few {
		t.Errorf("the applications are not the mixture that this test is for: %+v", n)
	}
}

func (n *tally) compare(t *testing.T, s uint64, p plan.Problem) {
	t.Helper()
	o := newOracle(p)
	made, err := plan.Make(t.Context(), p, plan.Options{})
	if !o.sound(o.start()) {
		n.faulty++
	}
	operations, levels, ok := o.best()
	switch {
	case !ok && errors.Is(err, plan.ErrImpossible):
		n.impossible++
		return
	case !ok || err != nil:
		t.Errorf("seed %d: that there is a plan is %v, and the planner says: %v", s, ok, err)
		return
	}
	if n.found++; operations == 0 {
		n.still++
	}
	if levels > 3 {
		n.long++
	}
	if opened(o, made) {
		n.open++
	}
	if backAndForth(made) {
		n.cyclic++
	}
	if !made.Minimal.Operations || !made.Minimal.Levels || made.Operations != operations || len(made.Levels) != levels {
		t.Errorf("seed %d: %s, %+v, where %d operations in %d levels will do", s, made.Summary(), made.Minimal, operations, levels)
	}
	var steps []plan.Operation
	for _, step := range made.Steps() {
		steps = append(steps, step.Operation)
	}
	if refused, end := o.run(steps); refused > 0 || !o.reached(end) {
		t.Errorf("seed %d: the plan %v is refused at step %d, or ends short of the goal: %v", s, steps, refused, end)
	}
	checkPlan(t, p, made)
	o.checkLevels(t, s, made)
	if again, err := plan.Make(t.Context(), p, plan.Options{}); err != nil || !reflect.DeepEqual(made, again) {
		t.Errorf("seed %d: another time the plan is %v: %v", s, again, err)
	}
}

// checkLevels makes the steps of each level in every order.
func (o *oracle) checkLevels(t *testing.T, seed uint64, made *plan.Plan) {
	t.Helper()
	s := o.start()
	for number, level := range made.Levels {
		chosen := make([]*oracleMove, len(o.p.Elements))
		var which []int
		for _, step := range level {
			i := o.index[step.Component]
			for _, m := range o.options(s, i) {
				if m.operation == step.Operation {
					chosen[i] = &m
				}
			}
			if chosen[i] == nil || slices.Contains(which, i) {
				t.Fatalf("seed %d: level %d cannot have %s", seed, number+1, step.Operation)
			}
			which = append(which, i)
		}
		var ok bool
		if s, ok = o.anyOrder(s, chosen, which); !ok {
			t.Errorf("seed %d: level %d is not allowed in every order: %v", seed, number+1, level)
		}
	}
}

// opened reports whether something could be skipped in a state that a plan leads
// to, if no processes of a start were live there.
func opened(o *oracle, made *plan.Plan) bool {
	s := o.start()
	for _, step := range made.Steps() {
		s, _ = o.make(s, step.Operation)
		i := o.index[step.Component]
		if s.open[i] && len(o.moves[stand{i, s.states[i], false}]) > len(o.options(s, i)) {
			return true
		}
	}
	return false
}

// backAndForth reports whether an element of a plan is in one state twice.
func backAndForth(made *plan.Plan) bool {
	been := map[[2]string]bool{}
	for _, s := range made.Steps() {
		been[[2]string{s.Component, s.Source}] = true
		if been[[2]string{s.Component, s.Target}] {
			return true
		}
	}
	return false
}

// anyOperations makes a plan, most of it of operations that are allowed.
func anyOperations(r *rand.Rand, o *oracle) []plan.Operation {
	var all []plan.Operation
	s := o.start()
	for range 1 + r.IntN(8) {
		i := r.IntN(len(o.p.Elements))
		moves := o.options(s, i)
		if len(moves) == 0 {
			continue
		}
		m := moves[r.IntN(len(moves))]
		if to, ok := o.step(s, i, m); ok {
			s, all = to, append(all, m.operation)
		} else if r.IntN(10) == 0 {
			all = append(all, m.operation)
		}
	}
	return all
}

// mutate drops, doubles, moves or swaps operations of a plan, or puts another
// in their place.
func mutate(r *rand.Rand, p plan.Problem, operations []plan.Operation) []plan.Operation {
	made := slices.Clone(operations)
	if len(made) == 0 {
		return made
	}
	i, j := r.IntN(len(made)), r.IntN(len(made))
	switch r.IntN(5) {
	case 0:
		return slices.Delete(made, i, i+1)
	case 1:
		return slices.Insert(made, j, made[i])
	case 2:
		made[i], made[j] = made[j], made[i]
	case 3:
		op := made[i]
		return slices.Insert(slices.Delete(made, i, i+1), min(j, len(made)-1), op)
	default:
		e := p.Elements[r.IntN(len(p.Elements))]
		of := e.Protocol.Transitions[r.IntN(len(e.Protocol.Transitions))]
		made[i] = plan.Operation{Component: e.Name, Operation: of.Operation}
	}
	return made
}

func TestPlansAreCheckedAsAnOracleDoes(t *testing.T) {
	t.Parallel()
	var allowed, refused, reached int
	for s := *seed; s < *seed+uint64(*varied); s++ {
		r := rand.New(rand.NewPCG(s, 11))
		p := variedProblem(r)
		startAndStop(r, &p)
		o := newOracle(p)
		plans := [][]plan.Operation{anyOperations(r, o)}
		if made, err := plan.Make(t.Context(), p, plan.Options{}); err == nil {
			for _, step := range made.Steps() {
				plans[0] = append(plans[0], step.Operation)
			}
		}
		for range 3 {
			plans = append(plans, mutate(r, p, plans[len(plans)-1]))
		}
		for _, operations := range plans {
			want, end := o.run(operations)
			out, err := plan.Check(p, operations)
			var refusal *plan.Refusal
			switch {
			case errors.As(err, &refusal):
				if refused++; refusal.Step != want {
					t.Errorf("seed %d: of %v step %d is refused, where step %d is the first: %v", s, operations, refusal.Step, want, err)
				}
			case err != nil || want != 0:
				t.Errorf("seed %d: of %v step %d is not allowed, and it is said: %v", s, operations, want, err)
			default:
				allowed++
				if len(out.Unmet) == 0 {
					reached++
				}
				if (len(out.Unmet) == 0) != o.reached(end) {
					t.Errorf("seed %d: that %v reaches the goal is %v, and it is said: %v", s, operations, o.reached(end), out.Unmet)
				}
				for i, e := range p.Elements {
					if out.States[e.Name] != end.states[i] {
						t.Errorf("seed %d: %v leads to %v, and it is said: %v", s, operations, end, out.States)
					}
				}
			}
		}
	}
	t.Logf("%d allowed, %d of them reach the goal; %d refused", allowed, reached, refused)
	if few := *varied / 4; allowed < few || refused < few || reached < few/4 {
		t.Error("the plans are not the mixture that this test is for")
	}
}
