package plan

import (
	"cmp"
	"slices"
)

// partialOrder holds steps with their dependencies only.
type partialOrder struct {
	steps []step
	after [][]int // indices of the steps that it waits for
	level []int
}

// loosen keeps only the necessary order in a sequence of steps: a step waits for the steps that
// offer its requirements, for those whose requirements it withdraws, and for the previous step of
// its element. Thus each step runs as early as the sequence allows.
func (w *world) loosen(steps []step) partialOrder {
	p := partialOrder{steps: steps, after: make([][]int, len(steps)), level: make([]int, len(steps))}
	made := make([][]int, len(w.elements)) // the steps of each element so far
	last := func(of int, which func(step) bool) int {
		for _, s := range slices.Backward(made[of]) {
			if which(steps[s]) {
				return s
			}
		}
		return -1
	}
	for s, st := range steps {
		wait := func(before int) {
			if before >= 0 && !slices.Contains(p.after[s], before) {
				p.after[s] = append(p.after[s], before)
				p.level[s] = max(p.level[s], p.level[before]+1)
			}
		}
		e := &w.elements[st.element]
		wait(last(st.element, func(step) bool { return true }))
		st.needs.each(func(r int) {
			for _, l := range e.uses[r] {
				wait(last(l.element, func(o step) bool { return w.changes(o)&l.names != 0 }))
			}
		})
		w.withdraws(st).each(func(c int) {
			for _, l := range e.usedBy[c] {
				wait(last(l.element, func(o step) bool { return w.needed(o)&l.names != 0 }))
			}
		})
		made[st.element] = append(made[st.element], s)
	}
	return p
}

// levels returns the number of levels.
func (p partialOrder) levels() int {
	if len(p.level) == 0 {
		return 0
	}
	return slices.Max(p.level) + 1
}

// sequence returns the indices of the steps by level, then element.
func (p partialOrder) sequence() []int {
	order := make([]int, len(p.steps))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(p.level[a], p.level[b]), cmp.Compare(p.steps[a].element, p.steps[b].element))
	})
	return order
}

// plan returns the order as a Plan.
func (w *world) plan(p partialOrder) *Plan {
	result := &Plan{Operations: len(p.steps), Levels: make([][]Step, p.levels())}
	order := p.sequence()
	id := make([]int, len(order))
	before := map[int]int{} // each element's latest step
	for n, s := range order {
		id[s] = n + 1
		st := p.steps[s]
		e := &w.elements[st.element]
		own, follows := before[st.element]
		var after []int
		for _, o := range p.after[s] {
			if follows && o != own && slices.Contains(p.after[own], o) {
				continue // the element has waited for it already
			}
			after = append(after, id[o])
		}
		slices.Sort(after)
		before[st.element] = s
		result.Levels[p.level[s]] = append(result.Levels[p.level[s]], Step{
			ID: n + 1, Operation: Operation{e.name, st.Operation},
			Source: e.states[st.from], Target: e.states[st.to], Implemented: st.implemented, After: after,
		})
	}
	return result
}

// leads reports whether a sequence of steps is allowed and reaches the goal.
func (w *world) leads(steps []step) bool {
	at := slices.Clone(w.start)
	for _, s := range steps {
		if int(at[s.element]) != s.from || !w.allows(at, s) {
			return false
		}
		at[s.element] = uint16(s.to)
	}
	return w.reached(at)
}
