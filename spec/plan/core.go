package plan

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// demand is a requirement of an element that is bound to another.
type demand struct {
	element, requirement int
	on                   link
}

const (
	maxCore      = 10 // demands in a readable explanation
	coreSearches = 4  // bounds the situations that are visited for them, in multiples of one search's limit
)

// demands returns all bound requirements.
func (w *world) demands() []demand {
	var all []demand
	for i := range w.elements {
		for r, links := range w.elements[i].uses {
			for _, l := range links {
				all = append(all, demand{i, r, l})
			}
		}
	}
	return all
}

// demanding returns the world with some of its demands only.
func (w *world) demanding(kept []demand) *world {
	less := &world{elements: slices.Clone(w.elements), index: w.index, start: w.start}
	for i := range less.elements {
		e := &less.elements[i]
		e.uses, e.usedBy = make([][]link, len(e.uses)), make([][]link, len(e.usedBy))
	}
	for _, d := range kept {
		e := &less.elements[d.element]
		e.uses[d.requirement] = append(e.uses[d.requirement], d.on)
		d.on.names.each(func(c int) {
			y := &less.elements[d.on.element]
			y.usedBy[c] = append(y.usedBy[c], link{element: d.element, names: 1 << d.requirement, name: e.reqs[d.requirement]})
		})
	}
	return less
}

// core returns a minimal set of demands that rule out every plan: if any one of them is removed,
// these demands allow a plan. It removes demands in halving chunks. It returns nil if one search
// visits more situations than the limit, or all searches together exceed a multiple of it.
func (w *world) core(ctx context.Context, limit int) []demand {
	kept, left := w.demands(), coreSearches*limit
	for size := max(1, len(kept)/2); ; size /= 2 {
		for at := 0; at < len(kept); {
			fewer := slices.Concat(kept[:at], kept[min(at+size, len(kept)):])
			impossible, looked, err := w.demanding(fewer).provenImpossible(ctx, limit)
			if left -= looked + len(w.elements); err != nil || left <= 0 {
				return nil
			}
			if impossible {
				kept = fewer
			} else {
				at += size
			}
		}
		if size <= 1 {
			return kept
		}
	}
}

// provenImpossible reports whether there is no plan, and how many situations it visited. It
// returns an error if the search was inconclusive.
func (w *world) provenImpossible(ctx context.Context, limit int) (impossible bool, looked int, err error) {
	if w.blocked() {
		return true, 0, nil
	}
	s := &search{world: w, limit: limit, greedy: true}
	_, found, err := s.run(ctx)
	return !found, len(s.nodes), err
}

// exhausted returns the error for a search that tried every situation. It names
// the demands that are the reason or, where they are not known, the steps that
// wait for each other on the direct path.
func (w *world) exhausted(ctx context.Context, limit int, cycle []step) *impossibleError {
	why := impossibleBecause("no order of operations reaches it: all reachable situations were tried")
	core := w.coreLines(ctx, limit)
	switch {
	case core != nil:
		why.lines = append(why.lines, core...)
	case len(cycle) > 0:
		var names []string
		for _, s := range slices.Backward(cycle) {
			e := &w.elements[s.element]
			names = append(names, fmt.Sprintf("%s:%s (%s to %s)", e.name, s.Operation, e.states[s.from], e.states[s.to]))
		}
		why.lines = append(why.lines, "on the direct path each of these steps has to come before the next, and the last before the first: "+strings.Join(names, ", "))
	}
	return why
}

// complete returns the full reason: the reason found on one path is incomplete if other paths fail
// for other reasons.
func (w *world) complete(ctx context.Context, limit int, why *impossibleError) *impossibleError {
	if len(why.named) > 0 && w.demanding(why.named).obstacle() == nil {
		if core := w.coreLines(ctx, limit); core != nil {
			return &impossibleError{lines: core}
		}
	}
	return why
}

// coreLines describes the core; it returns nil if there is none or if it is too long to be read.
func (w *world) coreLines(ctx context.Context, limit int) []string {
	core := w.core(ctx, limit)
	if len(core) == 0 || len(core) > maxCore {
		return nil
	}
	lines := []string{"together these requirements rule it out; without any one of them there is a plan:"}
	for _, d := range core {
		e := &w.elements[d.element]
		lines = append(lines, fmt.Sprintf("%q %s%s", e.name, w.requirementText(e, d.requirement, d.on), e.when(d.requirement)))
	}
	return lines
}

// when describes in which states and for which operations something is required.
func (k *kind) when(requirement int) string {
	var states, operations []string
	for s, name := range k.states {
		if k.requires[s].has(requirement) {
			states = append(states, fmt.Sprintf("%q", name))
		}
		for _, m := range k.moves[s] {
			if slices.Contains(m.Requires, k.reqs[requirement]) {
				operations = append(operations, m.Operation.String())
			}
		}
	}
	said := ""
	for _, part := range []struct {
		in    string
		names []string
	}{{"in state", states}, {"for", operations}} {
		slices.Sort(part.names)
		if names := slices.Compact(part.names); len(names) > 0 {
			if said != "" {
				said += " and"
			}
			said += " " + part.in + " " + strings.Join(names, ", ")
		}
	}
	return said
}
