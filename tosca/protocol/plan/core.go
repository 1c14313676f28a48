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
	maxCore      = 10 // demands that explain something: nobody reads more
	coreSearches = 4  // so many times the situations of one search may be looked at for them
)

// demands gives all that is bound.
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

// demanding is the world with some of its demands only.
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

// core gives demands that are together why there is no plan: there is one as
// soon as any of them is given up, whatever becomes of all others. It leaves out
// what it can, in large parts first. It is nil where one search takes more than so
// many situations, or all of them take much more.
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

// provenImpossible tells whether there is no plan, and how many situations it
// looked at. The error says that this is not known.
func (w *world) provenImpossible(ctx context.Context, limit int) (impossible bool, looked int, err error) {
	if w.isHopeless() {
		return true, 0, nil
	}
	s := &search{world: w, limit: limit, greedy: true}
	_, found, err := s.run(ctx)
	return !found, len(s.found), err
}

func (w *world) isHopeless() bool { return w.hopeless() != nil }

// exhausted says that every situation was tried, and what is why: the demands
// that it takes, or else steps that stand in each other's way on the direct
// path, where that is known.
func (w *world) exhausted(ctx context.Context, limit int, cycle []step) *impossible {
	why := because("no order of operations leads there: all situations that can be reached were tried")
	core := w.coreLines(ctx, limit)
	switch {
	case core != nil:
		why.lines = append(why.lines, core...)
	case len(cycle) > 0:
		var names []string
		for _, s := range slices.Backward(cycle) {
			e := &w.elements[s.element]
			names = append(names, fmt.Sprintf("%s:%s (%s to %s)", e.name, s.Qualified(), e.states[s.from], e.states[s.to]))
		}
		why.lines = append(why.lines, "on the direct path each of these would have to be made before the next, and the last before the first: "+strings.Join(names, ", "))
	}
	return why
}

// complete gives the whole reason: what was found on one way is part of it only,
// where there are other ways that are barred by something else.
func (w *world) complete(ctx context.Context, limit int, why *impossible) *impossible {
	if len(why.named) > 0 && !w.demanding(why.named).isHopeless() {
		if core := w.coreLines(ctx, limit); core != nil {
			return &impossible{lines: core}
		}
	}
	return why
}

// coreLines tells the core; nil where there is none, or none that can be read.
func (w *world) coreLines(ctx context.Context, limit int) []string {
	core := w.core(ctx, limit)
	if len(core) == 0 || len(core) > maxCore {
		return nil
	}
	lines := []string{"these requirements are why; without any one of them there is an order:"}
	for _, d := range core {
		e := &w.elements[d.element]
		lines = append(lines, fmt.Sprintf("%q %s%s", e.name, w.demanded(e, d.requirement, d.on), e.when(d.requirement)))
	}
	return lines
}

// when says in which states and for which operations something is required.
func (k *kind) when(requirement int) string {
	var states, operations []string
	for s, name := range k.states {
		if k.requires[s].has(requirement) {
			states = append(states, fmt.Sprintf("%q", name))
		}
		for _, m := range k.moves[s] {
			if slices.Contains(m.Requires, k.reqs[requirement]) {
				operations = append(operations, m.Qualified())
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
