package goal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/toskose/toskose/spec/plan"
)

// route is a plan, and each replica's progress along it. It remains valid while the goal and the set of replicas
// stay the same, and each component's state is on its path. A route is immutable; following it returns a new one.
type route struct {
	document *Document
	targets  map[string]string
	notes    []string
	plan     *plan.Plan
	blocked  []Obstacle // targets that no plan reaches
	members  []member   // the replicas, by number
	paths    []elementPath
	steps    []planned // in a valid order
	byID     []int     // the index in steps, by step id
	at       [][]int   // the number of completed steps, by path and replica of its class
}

// member is the part of a replica's state that affects the plan, besides its components' states.
type member struct {
	node, instance, name          string
	unavailable, unknown, failing bool
}

// elementPath is the path of one element.
type elementPath struct {
	part
	replicas  []int      // of its class; none: the element is not a component, or has no container
	positions []position // the initial position, and the one after each step
}

// position is the position of an element: two steps may lead to one state.
type position struct {
	state string
	open  bool
}

// planned is a step of the plan, and its position on its element's path.
type planned struct {
	plan.Step
	path, number int
	level        int // from 1
}

// newRoute plans from the current situation. A component that requires something of another container waits for
// all its replicas; with anyReplica, for one that offers it now.
func (t *decider) newRoute(ctx context.Context, anyReplica bool) *route {
	p := t.problem(t.s, t.doc, t.targets, anyReplica)
	made, blocked := p.bestPlan(ctx)
	w := &route{document: t.doc, targets: t.targets, notes: t.decision.Notes, plan: made, members: t.members()}
	for _, name := range slices.Sorted(maps.Keys(blocked)) {
		of := p.of[name]
		reason, final := t.whyBlocked(blocked[name])
		w.blocked = append(w.blocked, Obstacle{Node: of.class.node, Component: of.component, Reason: reason, Final: final})
	}
	pathOf := map[string]int{}
	for n, e := range p.Elements {
		l := elementPath{part: p.of[e.Name], positions: []position{{state: p.From[e.Name]}}}
		if l.class != nil {
			l.replicas, l.positions[0].open = l.class.operated(), !p.Closed[e.Name]
		}
		pathOf[e.Name], w.paths, w.at = n, append(w.paths, l), append(w.at, make([]int, max(1, len(l.replicas))))
	}
	w.byID = make([]int, len(made.Steps())+1)
	for level, steps := range made.Levels {
		for _, st := range steps {
			l := &w.paths[pathOf[st.Component]]
			w.byID[st.ID] = len(w.steps)
			w.steps = append(w.steps, planned{st, pathOf[st.Component], len(l.positions) - 1, level + 1})
			open := l.class != nil && t.opens(l.component, st.Operation.Operation, l.positions[len(l.positions)-1].open)
			l.positions = append(l.positions, position{st.Target, open})
		}
	}
	return w
}

// whyBlocked returns why no plan reaches a target, and whether that is final. It is not while containers cannot be operated:
// their components stay as they are until then, so that there may be a plan later.
func (t *decider) whyBlocked(err error) (reason string, final bool) {
	without := t.inoperable()
	if len(without) > 0 && errors.Is(err, plan.ErrImpossible) {
		return fmt.Sprintf("no plan is possible while %s cannot be operated", strings.Join(without, ", ")), false
	}
	return oneLine(err), len(without) == 0
}

// inoperable returns the sorted names of the containers without a replica, and of the replicas that cannot be operated: by
// their container if it has no other.
func (t *decider) inoperable() []string {
	names := slices.Clone(t.s.Missing)
	for node := range t.hosted {
		if len(t.s.of(node)) == 0 {
			names = append(names, node)
		}
	}
	for i := range t.s.Replicas {
		if r := &t.s.Replicas[i]; r.Problem != "" {
			names = append(names, cmp.Or(t.replicaName(r), r.Node))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// members returns the state that affects the plan. A replica's failures affect it only if there are other
// replicas, which consumers then wait for instead.
func (t *decider) members() []member {
	all := make([]member, len(t.s.Replicas))
	healthy := map[string]int{}
	for i := range t.s.Replicas {
		r := &t.s.Replicas[i]
		if r.Problem == "" {
			healthy[r.Node]++
		}
	}
	for i := range t.s.Replicas {
		r := &t.s.Replicas[i]
		all[i] = member{
			node: r.Node, instance: r.Instance, name: r.Name, unavailable: r.Problem != "", unknown: r.Unknown,
			failing: r.Problem == "" && healthy[r.Node] > 1 && t.failing(r),
		}
	}
	return all
}

// serves reports whether a route leads to the goal of a document.
func (w *route) serves(d *Document) bool {
	return w != nil && w.document.All == d.All && maps.Equal(w.document.States, d.States) &&
		maps.EqualFunc(w.document.Holds, d.Holds, func(Hold, Hold) bool { return true })
}

// follow returns the route with the progress in the current situation; false if a component has left its path.
func (w *route) follow(t *decider) (*route, bool) {
	if !w.serves(t.doc) || !slices.Equal(w.members, t.members()) {
		return nil, false
	}
	next := *w
	next.at = slices.Clone(w.at)
	for n := range w.paths {
		l := &w.paths[n]
		for i := range w.at[n] {
			before := w.at[n][i]
			to, ok := l.completedSteps(before, t.positionOn(l, i))
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

// positionOn returns the position of the element of a path on one of its replicas.
func (t *decider) positionOn(l *elementPath, i int) position {
	switch {
	case l.class == nil:
		return position{state: t.elementState(t.s, l.component)}
	case len(l.replicas) == 0:
		return l.positions[0]
	}
	r := &t.s.Replicas[l.replicas[i]]
	return position{t.stateOf(l.component, r), t.openOn(l.component, r)}
}

// completedSteps returns how many steps lead to an element's position: the number before if it fits, otherwise a higher
// one, otherwise a lower one. Positions that also match in whether
// processes of the start are running take precedence.
func (l *elementPath) completedSteps(before int, is position) (at int, ok bool) {
	for _, same := range []func(position) bool{
		func(s position) bool { return s == is },
		func(s position) bool { return s.state == is.state },
	} {
		if at := slices.IndexFunc(l.positions[before:], same); at >= 0 {
			return before + at, true
		}
		for at := before - 1; at >= 0; at-- {
			if same(l.positions[at]) {
				return at, true
			}
		}
	}
	return 0, false
}

// completed reports whether a step has completed on all its replicas.
func (w *route) completed(s *planned) bool {
	for _, at := range w.at[s.path] {
		if at <= s.number {
			return false
		}
	}
	return true
}

// ended reports whether there is nothing left to do.
func (w *route) ended() bool {
	for n, l := range w.paths {
		for _, at := range w.at[n] {
			if at < len(l.positions)-1 {
				return false
			}
		}
	}
	return len(w.blocked) == 0
}

// advance starts the next steps of the plan on all their replicas. It follows the previous decision's route if that
// is still valid and makes progress, and computes a new plan otherwise.
func (t *decider) advance(ctx context.Context, before *route) {
	if w, ok := before.follow(t); ok {
		undo := t.tryRoute(w)
		if w.ended() || t.busy() {
			return
		}
		undo()
	}
	for _, relaxed := range []struct{ anyReplica, lenient bool }{{false, false}, {true, false}, {true, true}} {
		t.lenient = relaxed.lenient
		undo := t.tryRoute(t.newRoute(ctx, relaxed.anyReplica))
		if relaxed.lenient || !t.stuck() {
			return
		}
		undo()
	}
}

// tryRoute follows a route, and returns a function that reverts it if no step was started.
func (t *decider) tryRoute(w *route) (undo func()) {
	obstacles, wake := len(t.decision.Obstacles), t.decision.Wake
	t.startNext(w)
	return func() { t.decision.Obstacles, t.decision.Wake, t.blocked = t.decision.Obstacles[:obstacles], wake, 0 }
}

// busy reports whether any operation is running.
func (t *decider) busy() bool {
	for i := range t.s.Replicas {
		for _, c := range t.s.Replicas[i].Components {
			if c.Executing != nil {
				return true
			}
		}
	}
	return false
}

// startNext starts the next steps of a route.
func (t *decider) startNext(w *route) {
	t.decision.route, t.decision.Plan = w, w.plan
	t.decision.Obstacles = append(t.decision.Obstacles, w.blocked...)
	for n := range w.steps {
		st := &w.steps[n]
		if w.completed(st) || slices.ContainsFunc(st.After, func(id int) bool { return !w.completed(&w.steps[w.byID[id]]) }) {
			continue
		}
		l := &w.paths[st.path]
		if l.class == nil {
			t.decision.Obstacles = append(t.decision.Obstacles, Obstacle{Node: l.component, Reason: "no running container is found", Missing: true})
			continue
		}
		for i, r := range l.replicas {
			if w.at[st.path][i] == st.number {
				t.plannedStep(&t.s.Replicas[r], l.component, st.Step)
			}
		}
	}
}
