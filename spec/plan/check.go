package plan

import (
	"fmt"
	"slices"
	"strings"
)

// Refusal is the error for a step of a plan that is not allowed.
type Refusal struct {
	Step      int // counts from 1
	Operation Operation
	Reason    string
}

func (r *Refusal) Error() string {
	return fmt.Sprintf("step %d, %s: %s", r.Step, r.Operation, r.Reason)
}

// Outcome is the result of a plan.
type Outcome struct {
	Steps  []Step            // in the order of the plan
	States map[string]string // by element
	Unmet  []string          // parts of the goal that the plan does not reach, one sentence each
}

// Check makes the steps of a plan one after the other. The error is a *Refusal
// for the first that is not allowed, or wraps ErrProblem.
func Check(p Problem, operations []Operation) (*Outcome, error) {
	w, err := compile(p)
	if err != nil {
		return nil, err
	}
	out := &Outcome{States: map[string]string{}}
	at := slices.Clone(w.start)
	for n, op := range operations {
		st, reason := w.find(at, op)
		if reason == "" {
			reason = w.refuses(at, st)
		}
		if reason != "" {
			return nil, &Refusal{n + 1, op, reason}
		}
		at[st.element] = uint16(st.to)
		e := &w.elements[st.element]
		out.Steps = append(out.Steps, Step{
			ID: n + 1, Operation: op, Source: e.states[st.from], Target: e.states[st.to], Implemented: st.implemented,
		})
	}
	for i := range w.elements {
		e := &w.elements[i]
		out.States[e.name] = e.states[at[i]]
		if want, has := p.Goal[e.name]; has && want != e.states[at[i]] {
			out.Unmet = append(out.Unmet, fmt.Sprintf("%q ends in state %q instead of %q", e.name, e.states[at[i]], want))
		}
	}
	for _, op := range p.Run {
		if !slices.Contains(operations, op) {
			out.Unmet = append(out.Unmet, fmt.Sprintf("%s is not run", op))
		}
	}
	return out, nil
}

// find returns the step that an operation makes in a situation, or why it makes none.
func (w *world) find(at situation, op Operation) (step, string) {
	i, ok := w.index[op.Component]
	if !ok {
		return step{}, fmt.Sprintf("%q is not in the topology%s", op.Component, suggestion(op.Component, sortedKeys(w.index)))
	}
	e := &w.elements[i]
	from := int(at[i])
	var allowed []string
	for _, m := range e.moves[from] {
		if m.Operation == op.Operation {
			return step{element: i, from: from, move: m}, ""
		}
		allowed = append(allowed, m.Operation.String())
	}
	known := map[string]bool{}
	for _, moves := range e.moves {
		for _, m := range moves {
			known[m.Operation.String()] = true
		}
	}
	if name := op.Operation.String(); !known[name] {
		return step{}, fmt.Sprintf("the protocol of %q has no such operation%s", e.name, suggestionOr("its operations are", name, sortedKeys(known)))
	}
	if len(allowed) == 0 {
		return step{}, fmt.Sprintf("not allowed in state %q, which allows no operation", e.states[from])
	}
	return step{}, fmt.Sprintf("not allowed in state %q, which allows %s", e.states[from], strings.Join(allowed, ", "))
}

// refuses returns why a step is not allowed, or "".
func (w *world) refuses(at situation, s step) string {
	e := &w.elements[s.element]
	if r, l, found := w.unmet(at, s.element, s.needs); found {
		return fmt.Sprintf("it requires %s, and %s", e.reqs[r], w.whyNotOffered(at, l))
	}
	if by, c, found := w.broken(at, s); found {
		other := &w.elements[by.element]
		return fmt.Sprintf("it would take %s away from %q, which requires %s in state %q",
			e.caps[c], other.name, by.name, other.states[at[by.element]])
	}
	return ""
}
