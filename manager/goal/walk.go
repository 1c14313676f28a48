package goal

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/toskose/toskose/spec/plan"
)

// walk is a plan, and each replica's progress along it. It remains valid while the goal and the set of replicas
// stay the same, and each component's state is on its path. A walk is immutable; following it returns a new one.
type walk struct {
	asked   *Document
	targets map[string]string
	notes   []string
	plan    *plan.Plan
	blocked []Obstacle // targets that no plan reaches
	members []member   // the replicas, by number
	legs    []leg
	steps   []planned // in a valid order
	byID    []int     // the index in steps, by step id
	at      [][]int   // the number of completed steps, by leg and replica of its class
}

// member is the part of a replica's state that affects the plan, besides its components' states.
type member struct {
	node, instance, name   string
	away, unknown, failing bool
}

// leg is the path of one element.
type leg struct {
	part
	replicas []int   // of its class; none: the element is not a component, or has no container
	stands   []stand // the initial position, and the one after each step
}

// stand is the position of an element: two steps may lead to one state.
type stand struct {
	state string
	open  bool
}

// planned is a step of the plan, and its position on its element's path.
type planned struct {
	plan.Step
	leg, number int
	level       int // from 1
}

// newWalk plans from the situation of a turn. A component that requires something of another container waits for
// all its replicas; with anyReplica, for one that offers it now.
func (t *turn) newWalk(ctx context.Context, anyReplica bool) *walk {
	p := t.problem(t.s, t.doc, t.targets, anyReplica)
	made, blocked := p.way(ctx)
	w := &walk{asked: t.doc, targets: t.targets, notes: t.made.Notes, plan: made, members: t.members()}
	for _, name := range slices.Sorted(maps.Keys(blocked)) {
		of := p.of[name]
		w.blocked = append(w.blocked, Obstacle{Node: of.class.node, Component: of.component, Reason: blocked[name]})
	}
	legOf := map[string]int{}
	for n, e := range p.Elements {
		l := leg{part: p.of[e.Name], stands: []stand{{state: p.From[e.Name]}}}
		if l.class != nil {
			l.replicas, l.stands[0].open = l.class.operated(), !p.Closed[e.Name]
		}
		legOf[e.Name], w.legs, w.at = n, append(w.legs, l), append(w.at, make([]int, max(1, len(l.replicas))))
	}
	w.byID = make([]int, len(made.Steps())+1)
	for level, steps := range made.Levels {
		for _, st := range steps {
			l := &w.legs[legOf[st.Component]]
			w.byID[st.ID] = len(w.steps)
			w.steps = append(w.steps, planned{st, legOf[st.Component], len(l.stands) - 1, level + 1})
			open := l.class != nil && t.opens(l.component, st.Operation.Operation, l.stands[len(l.stands)-1].open)
			l.stands = append(l.stands, stand{st.Target, open})
		}
	}
	return w
}

// members returns the state that affects the plan. A replica's failures affect it only if there are other
// replicas, which consumers then wait for instead.
func (t *turn) members() []member {
	all := make([]member, len(t.s.Replicas))
	well := map[string]int{}
	for i := range t.s.Replicas {
		r := &t.s.Replicas[i]
		if r.Problem == "" {
			well[r.Node]++
		}
	}
	for i := range t.s.Replicas {
		r := &t.s.Replicas[i]
		all[i] = member{
			node: r.Node, instance: r.Instance, name: r.Name, away: r.Problem != "", unknown: r.Unknown,
			failing: r.Problem == "" && well[r.Node] > 1 && t.failing(r),
		}
	}
	return all
}

// serves reports whether a walk leads to the goal of a document.
func (w *walk) serves(d *Document) bool {
	return w != nil && w.asked.All == d.All && maps.Equal(w.asked.States, d.States) &&
		maps.EqualFunc(w.asked.Holds, d.Holds, func(Hold, Hold) bool { return true })
}

// follow returns the walk with the progress in the situation of a turn; false if a component has left its path.
func (w *walk) follow(t *turn) (*walk, bool) {
	if !w.serves(t.doc) || !slices.Equal(w.members, t.members()) {
		return nil, false
	}
	next := *w
	next.at = slices.Clone(w.at)
	for n := range w.legs {
		l := &w.legs[n]
		for i := range w.at[n] {
			before := w.at[n][i]
			to, ok := l.position(before, t.standOn(l, i))
			if !ok {
				return nil, false
			}
			if to == before {
				continue
			}
			if &next.at[n][0] == &w.at[n][0] {
				next.at[n] = slices.Clone(w.at[n])
			}
			next.at[n][i] = to
		}
	}
	return &next, true
}

// standOn returns the position of a leg's element on one of its replicas.
func (t *turn) standOn(l *leg, i int) stand {
	switch {
	case l.class == nil:
		return stand{state: t.elementState(t.s, l.component)}
	case len(l.replicas) == 0:
		return l.stands[0]
	}
	r := &t.s.Replicas[l.replicas[i]]
	return stand{t.stateOf(l.component, r), t.openOn(l.component, r)}
}

// position returns how many steps lead to an element's position: the number before if it fits, otherwise a higher
// one, otherwise a lower one. Positions that also match in whether
// processes of the start are running take precedence.
func (l *leg) position(before int, is stand) (at int, ok bool) {
	for _, same := range []func(stand) bool{
		func(s stand) bool { return s == is },
		func(s stand) bool { return s.state == is.state },
	} {
		if at := slices.IndexFunc(l.stands[before:], same); at >= 0 {
			return before + at, true
		}
		for at := before - 1; at >= 0; at-- {
			if same(l.stands[at]) {
				return at, true
			}
		}
	}
	return 0, false
}

// made reports whether a step has completed on all its replicas.
func (w *walk) made(s *planned) bool {
	for _, at := range w.at[s.leg] {
		if at <= s.number {
			return false
		}
	}
	return true
}

// ended reports whether there is nothing left to do.
func (w *walk) ended() bool {
	for n, l := range w.legs {
		for _, at := range w.at[n] {
			if at < len(l.stands)-1 {
				return false
			}
		}
	}
	return len(w.blocked) == 0
}

// advance starts the next steps of the plan on all their replicas. It follows the previous decision's walk if that
// is still valid and makes progress, and computes a new plan otherwise.
func (t *turn) advance(ctx context.Context, before *walk) {
	if w, ok := before.follow(t); ok {
		undo := t.tried(w)
		if w.ended() || t.busy() {
			return
		}
		undo()
	}
	for _, relaxed := range []struct{ anyReplica, lenient bool }{{false, false}, {true, false}, {true, true}} {
		t.lenient = relaxed.lenient
		undo := t.tried(t.newWalk(ctx, relaxed.anyReplica))
		if relaxed.lenient || !t.stuck() {
			return
		}
		undo()
	}
}

// tried follows a walk, and returns a function that reverts it if no step was started.
func (t *turn) tried(w *walk) (undo func()) {
	obstacles, wake := len(t.made.Obstacles), t.made.Wake
	t.along(w)
	return func() { t.made.Obstacles, t.made.Wake, t.crowded = t.made.Obstacles[:obstacles], wake, 0 }
}

// busy reports whether any operation is running.
func (t *turn) busy() bool {
	for i := range t.s.Replicas {
		for _, c := range t.s.Replicas[i].Components {
			if c.Executing != nil {
				return true
			}
		}
	}
	return false
}

// along starts the next steps of a walk.
func (t *turn) along(w *walk) {
	t.made.walk, t.made.Plan = w, w.plan
	t.made.Obstacles = append(t.made.Obstacles, w.blocked...)
	for n := range w.steps {
		st := &w.steps[n]
		if w.made(st) || slices.ContainsFunc(st.After, func(id int) bool { return !w.made(&w.steps[w.byID[id]]) }) {
			continue
		}
		l := &w.legs[st.leg]
		if l.class == nil {
			t.made.Obstacles = append(t.made.Obstacles, Obstacle{Node: l.component, Reason: fmt.Sprintf("%q does not run; whether it does is the orchestrator's affair", l.component)})
			continue
		}
		for i, r := range l.replicas {
			if w.at[st.leg][i] == st.number {
				t.plannedStep(&t.s.Replicas[r], l.component, st.Step)
			}
		}
	}
}
