package goal_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/toskose/toskose/manager/goal"
	"github.com/toskose/toskose/spec/plan"
	"github.com/toskose/toskose/spec/protocol"
)

// world is an application of units that do what units do, without time passing
// but when it is told to.
type world struct {
	t     testing.TB
	r     *rand.Rand
	m     *goal.Model
	doc   *goal.Document
	s     goal.Situation
	seq   uint64
	ids   map[string]bool // executions that were ever asked for
	begun int
	along bool // the plan of the decision before is gone on with
	last  *goal.Decision
	seed  uint64
}

// underWay is an operation that has begun.
type underWay struct {
	replica   int
	component string
	step      protocol.Step
}

func (w *world) element(name string) plan.Element {
	for _, e := range w.m.Elements {
		if e.Name == name {
			return e
		}
	}
	panic("no element " + name)
}

func (w *world) implemented(name string) func(protocol.Operation) bool {
	e := w.element(name)
	return func(o protocol.Operation) bool { return !slices.Contains(e.Unimplemented, o) }
}

func (w *world) running() []underWay {
	var all []underWay
	for i, r := range w.s.Replicas {
		for name, c := range r.Components {
			if c.Executing == nil {
				continue
			}
			step, _ := w.element(name).Protocol.Next(c.State, c.Executing.Operation, c.Open, w.implemented(name))
			all = append(all, underWay{i, name, step})
		}
	}
	slices.SortFunc(all, func(a, b underWay) int {
		return slices.Compare([]string{fmt.Sprint(a.replica), a.component}, []string{fmt.Sprint(b.replica), b.component})
	})
	return all
}

// replica returns a fresh container of a node.
func (w *world) replica(node string) goal.Replica {
	w.seq++
	r := goal.Replica{Node: node, Instance: fmt.Sprintf("i%d", w.seq), Components: map[string]goal.Component{}}
	for name, on := range w.m.Node {
		if on == node {
			r.Components[name] = goal.Component{State: w.element(name).Protocol.Initial}
		}
	}
	return r
}

// begin begins an operation on a replica.
func (w *world) begin(i int, component, id, by string, op protocol.Operation) {
	c := w.s.Replicas[i].Components[component]
	w.seq++
	c.Seq = w.seq
	c.Executing = &goal.Run{ID: id, By: by, Operation: op, From: c.State, Started: w.s.Now, Seq: w.seq}
	w.s.Replicas[i].Components[component] = c
	w.begun++
}

// end ends an operation, well or not.
func (w *world) end(u underWay, well bool) {
	c := w.s.Replicas[u.replica].Components[u.component]
	w.seq++
	run := *c.Executing
	run.Ended, run.Seq, run.To, run.Failed = w.s.Now, w.seq, c.State, !well && !run.Cancelled
	c.Seq, c.Executing = w.seq, nil
	c.Runs = slices.Clone(c.Runs)
	if well {
		run.To, c.State = u.step.Target, u.step.Target
		switch kind := u.step.Kind(); {
		case kind == protocol.KindStart && w.implemented(u.component)(u.step.Operation):
			c.Open = true
		case kind == protocol.KindStop && c.Open:
			c.Open = false
			c.Runs = w.gone(c.Runs, true)
		}
	}
	c.Runs = append(c.Runs, run)
	w.s.Replicas[u.replica].Components[u.component] = c
}

// gone marks the last start as ended.
func (w *world) gone(runs []goal.Run, stopped bool) []goal.Run {
	for i := range slices.Backward(runs) {
		if runs[i].Operation.Kind() == protocol.KindStart && !runs[i].Failed {
			runs[i].Gone, runs[i].Stopped = w.s.Now, stopped
			break
		}
	}
	return runs
}

// die ends the processes of a component that is open.
func (w *world) die(i int, component string, stopped bool) {
	c := w.s.Replicas[i].Components[component]
	if !c.Open || c.Executing != nil {
		return
	}
	w.seq++
	c.Seq, c.Open = w.seq, false
	c.Runs = w.gone(slices.Clone(c.Runs), stopped)
	c.State = w.fallen(component, c, stopped)
	w.s.Replicas[i].Components[component] = c
}

// fallen returns where a component falls to that was open: where a stop or its fault
// handler leads, or where it was started from.
func (w *world) fallen(component string, c goal.Component, stopped bool) string {
	p := w.element(component).Protocol
	for _, t := range p.Transitions {
		if stopped && t.Source == c.State && t.Kind() == protocol.KindStop {
			return t.Target
		}
	}
	for _, f := range p.FaultHandlers {
		if !stopped && f.Source == c.State {
			return f.Target
		}
	}
	for _, run := range slices.Backward(c.Runs) {
		if run.Operation.Kind() == protocol.KindStart && !run.Failed && !run.Cancelled {
			return run.From
		}
	}
	return c.State
}

// decide asks for the next steps, holds them against the rules, and begins them.
func (w *world) decide() *goal.Decision {
	d := w.think()
	again := w.think()
	if !reflect.DeepEqual(d.Steps, again.Steps) {
		w.t.Fatalf("the same situation gives %v and %v", d.Steps, again.Steps)
	}
	if len(d.Holds)+len(d.Resumed) > 0 {
		w.doc = w.doc.Held(d.Holds, d.Resumed)
		w.doc.Revision.Counter++
	}
	for _, step := range d.Steps {
		i := w.at(step.Instance)
		w.check(i, step)
		w.begin(i, step.Component, step.ID, "goal", step.Operation)
		w.s.Replicas[i].Components[step.Component].Executing.Part = step.Part
	}
	if len(d.Records) > 0 {
		w.doc = w.doc.Recorded(d.Records)
		w.doc.Revision.Counter++
	}
	w.last = d
	return d
}

// think asks for the next steps.
func (w *world) think() *goal.Decision {
	if w.along {
		return w.m.Continue(w.t.Context(), w.last, w.doc, w.s)
	}
	return w.m.Decide(w.t.Context(), w.doc, w.s)
}

// check holds a step against the rules, which it knows by itself.
func (w *world) check(i int, step goal.Step) {
	w.t.Helper()
	r := w.s.Replicas[i]
	c := r.Components[step.Component]
	e := w.element(step.Component)
	switch {
	case r.Problem != "":
		w.t.Fatalf("%+v on a replica that %s", step, r.Problem)
	case c.Executing != nil:
		w.t.Fatalf("%+v while %s executes", step, c.Executing.Operation)
	case c.Seq != step.After:
		w.t.Fatalf("%+v is after %d, not %d", step, step.After, c.Seq)
	case w.ids[step.ID]:
		w.t.Fatalf("%+v asks for the same execution again", step)
	}
	w.ids[step.ID] = true
	made, ok := e.Protocol.Next(c.State, step.Operation, c.Open, w.implemented(step.Component))
	if !ok {
		w.t.Fatalf("%+v is not allowed in state %q", step, c.State)
	}
	if step.Why != "" {
		return // it is taken down, whatever it requires
	}
	target, _ := e.Protocol.State(made.Target)
	needs := slices.Concat(made.Requires, target.Requires)
	for _, b := range e.Bindings {
		if slices.Contains(needs, b.Requirement) && !w.offers(i, b, nil) {
			w.t.Fatalf("%+v requires %s of %s, which nobody offers\n%s", step, b.Requirement, b.Target, w)
		}
	}
	w.checkCrowd(i, step, target)
	w.checkUnderWay(i, step, needs, target)
	for j, other := range w.s.Replicas {
		for name, oc := range other.Components {
			oe := w.element(name)
			state, _ := oe.Protocol.State(oc.State)
			for _, b := range oe.Bindings {
				if b.Target != step.Component || !slices.Contains(state.Requires, b.Requirement) || slices.Contains(target.Offers, b.Capability) {
					continue
				}
				if w.offers(j, b, nil) && !w.offers(j, b, &i) {
					w.t.Fatalf("%+v takes %s from %s on %s\n%s", step, b.Capability, name, other.Instance, w)
				}
			}
		}
	}
}

// checkUnderWay fails where a step needs what an operation under way is about to take
// away, or takes away what one needs.
func (w *world) checkUnderWay(i int, step goal.Step, needs []string, after protocol.State) {
	w.t.Helper()
	e := w.element(step.Component)
	for _, u := range w.running() {
		same := u.replica == i || w.m.Node[u.component] != step.Node
		to, _ := w.element(u.component).Protocol.State(u.step.Target)
		for _, b := range e.Bindings {
			if same && b.Target == u.component && slices.Contains(needs, b.Requirement) && !slices.Contains(to.Offers, b.Capability) && !w.others(i, b, u.replica) {
				w.t.Fatalf("seed %d: %+v requires %s of %s, which %s takes away\n%s", w.seed, step, b.Capability, b.Target, u.step.Operation, w)
			}
		}
		for _, b := range w.element(u.component).Bindings {
			if same && b.Target == step.Component && slices.Contains(slices.Concat(u.step.Requires, to.Requires), b.Requirement) &&
				!slices.Contains(after.Offers, b.Capability) && w.offers(u.replica, b, nil) && !w.others(u.replica, b, i) {
				w.t.Fatalf("seed %d: %+v takes away %s, which %s of %s requires\n%s", w.seed, step, b.Capability, u.step.Operation, u.component, w)
			}
		}
	}
}

// others reports whether a binding of a component on a replica is fulfilled by others
// than one.
func (w *world) others(i int, b plan.Binding, but int) bool { return w.offers(i, b, &but) }

// checkCrowd fails where a step takes away what it is to offer in the end while as many
// other replicas as may be are without it.
func (w *world) checkCrowd(i int, step goal.Step, after protocol.State) {
	w.t.Helper()
	e := w.element(step.Component)
	wanted, _ := e.Protocol.State(w.targets()[step.Component])
	offered := func(r goal.Replica) []string {
		s, _ := e.Protocol.State(r.Components[step.Component].State)
		return s.Offers
	}
	for _, c := range wanted.Offers {
		if !slices.Contains(offered(w.s.Replicas[i]), c) || slices.Contains(after.Offers, c) {
			continue
		}
		without := 0
		if w.away(i) {
			continue // it is none more
		}
		for j, other := range w.s.Replicas {
			if j != i && other.Node == step.Node && (other.Problem != "" || !slices.Contains(offered(other), c)) {
				without++
			}
		}
		if without >= max(1, w.m.MaxUnavailable[step.Node]) {
			w.t.Fatalf("seed %d: %+v takes %s away while %d others are without\n%s", w.seed, step, c, without, w)
		}
	}
}

// isUnavailable reports whether a replica lacks anything that it is to offer.
func (w *world) away(i int) bool {
	for name, target := range w.targets() {
		p := w.element(name).Protocol
		wanted, _ := p.State(target)
		now, _ := p.State(w.s.Replicas[i].Components[name].State)
		if w.m.Node[name] == w.s.Replicas[i].Node && slices.ContainsFunc(wanted.Offers, func(c string) bool { return !slices.Contains(now.Offers, c) }) {
			return true
		}
	}
	return false
}

// targets returns the state that each component is to have.
func (w *world) targets() map[string]string {
	targets, _ := w.m.Targets(w.doc)
	return targets
}

// offers reports whether a binding of a component on a replica is fulfilled, by
// anyone but a replica that is left out.
func (w *world) offers(i int, b plan.Binding, but *int) bool {
	node, component := w.m.Node[b.Target]
	if !component {
		return slices.ContainsFunc(w.s.Replicas, func(r goal.Replica) bool { return r.Node == b.Target })
	}
	if _, task := w.m.Tasks[b.Target]; task {
		return w.m.TaskStatuses(w.doc, w.s)[b.Target].Phase == goal.TaskCompleted
	}
	state := func(j int) bool {
		r := w.s.Replicas[j]
		s, _ := w.element(b.Target).Protocol.State(r.Components[b.Target].State)
		return !r.Unknown && (but == nil || *but != j) && slices.Contains(s.Offers, b.Capability)
	}
	if w.s.Replicas[i].Node == node {
		return state(i)
	}
	for j := range w.s.Replicas {
		if w.s.Replicas[j].Node == node && state(j) {
			return true
		}
	}
	return false
}

func (w *world) String() string {
	text := fmt.Sprintf("goal %+v holds %v\n", w.doc.States, w.doc.Holds)
	for _, r := range w.s.Replicas {
		text += fmt.Sprintf("%s %s %s:", r.Node, r.Instance, r.Problem)
		for name, c := range r.Components {
			text += fmt.Sprintf(" %s=%s(open %v, %d runs)", name, c.State, c.Open, len(c.Runs))
			if c.Executing != nil {
				text += " executing " + c.Executing.Operation.String()
			}
		}
		text += "\n"
	}
	return text
}

// states returns where every component is.
func (w *world) states() (text string) {
	for _, r := range w.s.Replicas {
		for _, name := range slices.Sorted(maps.Keys(r.Components)) {
			text += fmt.Sprintf("%s of %s is %s\n", name, r.Node, r.Components[name].State)
		}
	}
	return text
}

// disturb does one thing that happens to applications.
func (w *world) disturb() {
	if len(w.s.Replicas) == 0 {
		return
	}
	i := w.r.IntN(len(w.s.Replicas))
	r := &w.s.Replicas[i]
	var names []string
	for name := range r.Components {
		names = append(names, name)
	}
	slices.Sort(names)
	name := names[w.r.IntN(len(names))]
	switch w.r.IntN(7) {
	case 0:
		w.die(i, name, false)
	case 1: // the container is replaced
		*r = w.replica(r.Node)
	case 2: // one more, or one fewer
		if w.r.IntN(2) == 0 && len(w.s.Replicas) < 8 {
			w.s.Replicas = append(w.s.Replicas, w.replica(r.Node))
		} else if others := slices.DeleteFunc(slices.Clone(w.s.Replicas), func(o goal.Replica) bool { return o.Node != r.Node }); len(others) > 1 {
			w.s.Replicas = slices.Delete(w.s.Replicas, i, i+1)
		}
	case 3: // unreachable, or again reachable
		if r.Problem == "" {
			r.Problem, r.Unknown = "does not answer", true
		} else {
			r.Problem, r.Unknown = "", false
		}
	case 4: // a person's operation
		c := r.Components[name]
		steps := w.element(name).Protocol.Allowed(c.State, c.Open, w.implemented(name))
		if c.Executing == nil && len(steps) > 0 && r.Problem == "" {
			w.seq++
			w.begin(i, name, fmt.Sprintf("person-%d", w.seq), "jo", steps[w.r.IntN(len(steps))].Operation)
		}
	case 5:
		w.die(i, name, true) // by supervisorctl
	case 6:
		w.s.Now = w.s.Now.Add(time.Duration(w.r.IntN(100)) * time.Second)
	}
}

// settle lets everything end well until the goal is reached or nothing happens.
func (w *world) settle() *goal.Decision {
	for range 2000 {
		d := w.decide()
		all := w.running()
		switch {
		case len(all) > 0:
			w.s.Now = w.s.Now.Add(time.Second)
			w.end(all[w.r.IntN(len(all))], true)
		case !d.Wake.IsZero():
			w.s.Now = d.Wake
		default:
			return d
		}
	}
	w.t.Fatalf("seed %d does not come to rest, %+v\n%s\n%v\n%s", w.seed, w.last, w, w.last.Plan.Steps(), w.protocols())
	return nil
}

// at returns which replica an instance is.
func (w *world) at(instance string) int {
	return slices.IndexFunc(w.s.Replicas, func(r goal.Replica) bool { return r.Instance == instance })
}
