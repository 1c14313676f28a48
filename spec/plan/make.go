package plan

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// Make finds a plan. The error wraps ErrProblem if the problem is invalid, ErrImpossible if there
// is no plan, with the reasons, or ErrLimit if no plan was found within the limits; if the context
// was cancelled, it wraps the context's error. The plan states whether it is proven minimal.
func Make(ctx context.Context, p Problem, opts Options) (*Plan, error) {
	w, err := compile(p)
	if err != nil {
		return nil, err
	}
	minimal, limit := Minimal{Operations: true, Levels: true}, ""
	var all partialOrder
	var none impossibleError
	var unknown error
	for _, group := range w.groups() {
		part := w.part(group)
		m := &maker{world: part, limit: opts.states(len(group)), bound: part.bound(part.start)}
		err := m.operations(ctx)
		why := (*impossibleError)(nil)
		switch {
		case errors.As(err, &why):
			none.lines = append(none.lines, why.lines...) // all reasons
			continue
		case errors.Is(err, ErrLimit): // another group may be proven impossible
			unknown = err
			continue
		case err != nil:
			return nil, err
		}
		if err := m.levels(ctx); err != nil {
			return nil, err
		}
		all.add(m.best, group)
		minimal.Operations = minimal.Operations && m.minimal.Operations
		minimal.Levels = minimal.Levels && m.minimal.Levels
		if limit == "" {
			limit = m.limitMet
		}
	}
	if len(none.lines) > 0 {
		return nil, &none
	}
	if unknown != nil {
		return nil, unknown
	}
	result := w.plan(all)
	result.Minimal, result.Limit, result.Notes = minimal, limit, slices.Concat(p.Notes, w.faults())
	return result, nil
}

// maker is Make for one group of elements.
type maker struct {
	*world
	limit   int
	bound   bound // of the start
	best    partialOrder
	minimal Minimal
	inOrder bool // best is the direct path, whose order is not a choice

	limitMet string
}

// operations finds the plan with the fewest operations.
func (m *maker) operations(ctx context.Context) error {
	steps, cycle, ok := m.direct()
	ok = ok && m.leads(steps)
	direct := ok
	if !ok {
		if why := m.obstacle(); why != nil {
			return m.complete(ctx, m.limit, why)
		}
		var err error
		steps, ok, err = (&search{world: m.world, limit: m.limit, greedy: true}).run(ctx)
		switch {
		case err == nil && !ok:
			return m.exhausted(ctx, m.limit, cycle)
		case err != nil && !errors.Is(err, errFull):
			return fmt.Errorf("cannot plan: %w", err)
		}
	}
	if m.inOrder = ok && direct; ok && len(steps) == m.bound.operations {
		m.best, m.minimal.Operations = m.loosen(steps), true
		return nil
	}
	fewer, found, err := (&search{world: m.world, limit: m.limit, below: len(steps)}).run(ctx)
	switch {
	case err != nil && !errors.Is(err, errFull):
		return fmt.Errorf("cannot plan: %w", err)
	case err != nil && !ok:
		return fmt.Errorf("%w: %w; a plan may still exist", ErrLimit, err)
	case err != nil:
		m.limitMet = err.Error()
		steps = m.shorter(ctx, steps)
	case !found && !ok:
		return m.exhausted(ctx, m.limit, cycle)
	case found:
		steps, m.inOrder = fewer, false
	}
	m.best, m.minimal.Operations = m.loosen(steps), err == nil
	return nil
}

// shorter searches for plans with fewer operations if no minimal plan was found: the greater the
// weight of the bound, the sooner a search ends.
func (m *maker) shorter(ctx context.Context, steps []step) []step {
	for _, weight := range []int32{5, 3, 2} {
		fewer, found, err := (&search{world: m.world, limit: max(1, m.limit/4), below: len(steps), weight: weight}).run(ctx)
		if err == nil && found {
			steps, m.inOrder = fewer, false
		}
	}
	return steps
}

// levels finds the plan with the fewest levels among those with as few
// operations.
func (m *maker) levels(ctx context.Context) error {
	if !m.minimal.Operations {
		return nil
	}
	least := max(m.bound.levels, m.relax().levels(m.world))
	if m.best.levels() <= least || (m.inOrder && len(m.best.steps) == m.bound.operations && m.forced(m.bound)) {
		m.minimal.Levels = true
		return nil
	}
	fewer, err := (&levelSearch{
		world: m.world, operations: len(m.best.steps), below: m.best.levels(), limit: m.limit,
	}).run(ctx)
	switch {
	case errors.Is(err, errFull):
		m.limitMet = err.Error()
		return nil
	case err != nil:
		return fmt.Errorf("cannot plan: %w", err)
	case fewer != nil:
		m.best = m.loosen(slices.Concat(fewer...))
	}
	m.minimal.Levels = true
	return nil
}
