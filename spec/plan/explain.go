package plan

import (
	"fmt"
	"slices"
	"strings"
)

// impossibleError is why a goal cannot be reached, one sentence a line.
type impossibleError struct {
	lines []string
	named []demand // that the lines blame
}

func (e *impossibleError) Error() string {
	return ErrImpossible.Error() + ":\n" + strings.Join(e.lines, "\n")
}

func (e *impossibleError) add(line string) *impossibleError {
	e.lines = append(e.lines, line)
	return e
}

func (e *impossibleError) Unwrap() error { return ErrImpossible }

func impossibleBecause(format string, args ...any) *impossibleError {
	return &impossibleError{lines: []string{fmt.Sprintf(format, args...)}}
}

// obstacle returns a reason for the absence of a plan that is found without a search: the goal
// contradicts itself, or an element could not reach its goal even if capabilities were never
// withdrawn. It returns nil otherwise.
func (w *world) obstacle() *impossibleError {
	for i := range w.elements {
		e := &w.elements[i]
		goals := e.goals()
		if len(goals) == 0 || len(goals) == len(e.states) {
			continue
		}
		if w.route(nil, i, e.goal) == nil {
			return impossibleBecause("%q cannot get from state %q to %s: its operations do not lead there",
				e.name, e.states[w.start[i]], e.goalName(goals))
		}
		for _, needs := range goalNeeds(e, goals) {
			for _, l := range e.uses[needs] {
				if e.goal[w.start[i]] && !w.offered(w.start, l) {
					continue // a fault of the start, which may stay
				}
				if y := &w.elements[l.element]; !slices.ContainsFunc(y.goals(), func(s int) bool { return y.offers[s]&l.names != 0 }) {
					return impossibleBecause("in the goal %q %s, and that %s", e.name, w.requirementText(e, needs, l), w.goalOffers(l))
				}
			}
		}
	}
	r := w.relax()
	for i := range w.elements {
		e := &w.elements[i]
		if !slices.ContainsFunc(e.goals(), func(s int) bool { return r[i][s] >= 0 }) {
			return w.trace(r, i)
		}
	}
	return nil
}

func (w *world) blocked() bool { return w.obstacle() != nil }

// goals returns the states that are the goal.
func (k *kind) goals() []int {
	var states []int
	for s, is := range k.goal {
		if is {
			states = append(states, s)
		}
	}
	return states
}

func (e *element) goalName(goals []int) string {
	if e.states[goals[0]] == e.states[goals[len(goals)-1]] {
		return fmt.Sprintf("state %q", e.states[goals[0]])
	}
	return "where the operations that must run have run"
}

// goalNeeds returns the requirements that all goal states of an element have.
func goalNeeds(e *element, goals []int) []int {
	needs := e.requires[goals[0]]
	for _, s := range goals {
		needs &= e.requires[s]
	}
	var all []int
	needs.each(func(r int) { all = append(all, r) })
	return all
}

func (w *world) goalOffers(l link) string {
	y := &w.elements[l.element]
	states := w.offering(l)
	if len(states) == 0 {
		return "offers it in no state"
	}
	return fmt.Sprintf("does not offer it in %s, only in %s", y.goalName(y.goals()), strings.Join(states, ", "))
}

// hop is a move on a route, with its source.
type hop struct {
	from int
	move
}

// route finds the shortest path of an element from its start to one of a set of states, ignoring
// requirements. It returns the first move or, if r is not nil, the first move from a state that r
// reaches to one that it does not. It returns nil if there is no path.
func (w *world) route(r relaxation, i int, to []bool) *hop {
	e := &w.elements[i]
	start := int(w.start[i])
	before := map[int]hop{start: {from: -1}}
	for queue := []int{start}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		if to[at] {
			var crossing hop
			for s := at; ; s = before[s].from {
				h := before[s]
				if h.from < 0 {
					return &crossing
				}
				if r == nil || r[i][h.from] >= 0 && r[i][s] < 0 {
					crossing = h
				}
			}
		}
		for _, m := range e.useful[at] {
			if _, known := before[m.to]; !known {
				before[m.to] = hop{at, m}
				queue = append(queue, m.to)
			}
		}
	}
	return nil
}

// trace starts at an element that cannot reach its goal and follows the unmet requirements, until
// an element never offers the required capability or the elements form a cycle.
func (w *world) trace(r relaxation, i int) *impossibleError {
	var why impossibleError
	seen := map[int]int{}
	targets := w.elements[i].goal
	for {
		e := &w.elements[i]
		if from, again := seen[i]; again {
			var names []string
			for _, other := range sortedValues(seen, from) {
				names = append(names, fmt.Sprintf("%q", w.elements[other].name))
			}
			return why.add("so they wait for each other: " + strings.Join(names, ", "))
		}
		seen[i] = len(why.lines)
		h := w.route(r, i, targets)
		if h == nil {
			return why.add(fmt.Sprintf("%q never gets from state %q to one that does: its operations do not lead there",
				e.name, e.states[w.start[i]]))
		}
		var need int
		var on link
		for needs := h.needs; needs != 0; needs &= needs - 1 {
			need = lowest(needs)
			if at := slices.IndexFunc(e.uses[need], func(l link) bool { return !w.reachesOffer(r, l, len(w.elements)*maxLevels) }); at >= 0 {
				on = e.uses[need][at]
				break
			}
		}
		why.named = append(why.named, demand{i, need, on})
		y := &w.elements[on.element]
		line := fmt.Sprintf("%q cannot get from state %q to %q: %s %s",
			e.name, e.states[h.from], e.states[h.to], h.Operation, w.requirementText(e, need, on))
		states := w.offering(on)
		if len(states) == 0 {
			return why.add(line + ", which offers it in no state")
		}
		why.lines = append(why.lines, line+", which offers it in "+strings.Join(states, ", "))
		i, targets = on.element, make([]bool, len(y.states))
		for s := range y.states {
			targets[s] = y.offers[s]&on.names != 0
		}
	}
}

// maxLevels is greater than the number of levels in which one element reaches a new state.
const maxLevels = 1 << 16

// sortedValues returns the elements that were seen from a line on, in that order.
func sortedValues(seen map[int]int, from int) []int {
	byLine := map[int]int{}
	last := from
	for element, line := range seen {
		byLine[line] = element
		last = max(last, line)
	}
	var all []int
	for line := from; line <= last; line++ {
		if element, ok := byLine[line]; ok {
			all = append(all, element)
		}
	}
	return all
}
