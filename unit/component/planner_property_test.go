package component

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/toskose/toskose/internal/dice"
	"github.com/toskose/toskose/spec/plan"
	"github.com/toskose/toskose/spec/protocol"
	"github.com/toskose/toskose/unit/journal"
	"github.com/toskose/toskose/unit/reaper"
	"github.com/toskose/toskose/unit/wire"
)

// twin is one component in a real ledger and in the planner.
type twin struct {
	t       *testing.T
	random  *rand.Rand
	life    lifecycle
	element plan.Element
	ledger  *ledger
	opening int
	history []plan.Operation // that succeeded
	faulty  bool             // its processes have died once, which is nothing that a plan has
	names   []protocol.Operation
}

// randomProtocol has standard operations and others with the same names, and
// transitions from anywhere to anywhere.
func randomProtocol(r *rand.Rand) protocol.Protocol {
	p := protocol.Protocol{Initial: "0"}
	count := 2 + r.IntN(4)
	for s := range count {
		p.States = append(p.States, protocol.State{Name: fmt.Sprint(s)})
	}
	for range count + r.IntN(3*count) {
		operation := protocol.Operation{
			Interface: []string{"Standard", "Standard", "own"}[r.IntN(3)],
			Name:      []string{"create", "configure", "start", "start", "stop", "delete", "push"}[r.IntN(7)],
		}
		t := protocol.Transition{Source: fmt.Sprint(r.IntN(count)), Target: fmt.Sprint(r.IntN(count)), Operation: operation}
		if !slices.ContainsFunc(p.Transitions, func(o protocol.Transition) bool {
			return o.Source == t.Source && o.Operation == t.Operation
		}) {
			p.Transitions = append(p.Transitions, t)
		}
	}
	for s := range count {
		if r.IntN(3) == 0 {
			p.FaultHandlers = append(p.FaultHandlers, protocol.FaultHandler{Source: fmt.Sprint(s), Target: fmt.Sprint(r.IntN(count))})
		}
	}
	return p
}

// newTwin returns the ledger the protocol as the unit's configuration has it.
func newTwin(t *testing.T, r *rand.Rand) *twin {
	t.Helper()
	p := randomProtocol(r)
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	var configured protocol.Protocol
	if err := json.Unmarshal(text, &configured); err != nil || configured.Validate() != nil {
		t.Fatalf("%s: %v, %v", text, err, configured.Validate())
	}
	w := &twin{
		t: t, random: r, element: plan.Element{Name: "c", Protocol: p},
		life: lifecycle{protocol: &configured, kinds: map[protocol.Operation]protocol.Kind{}},
	}
	rarely := r.Float64()
	for _, tr := range p.Transitions {
		switch {
		case slices.Contains(w.names, tr.Operation):
			continue
		case r.Float64() < rarely:
			w.element.Unimplemented = append(w.element.Unimplemented, tr.Operation)
		default:
			w.life.kinds[tr.Operation] = tr.Kind()
		}
		w.names = append(w.names, tr.Operation)
	}
	w.begin()
	return w
}

// begin returns it a ledger that nothing was done to.
func (w *twin) begin() {
	w.t.Helper()
	w.ledger = newLedger(slog.New(slog.DiscardHandler), time.Now, map[string]lifecycle{"c": w.life})
	opened, replay, err := journal.Open("", journal.Options{Checkpoint: w.ledger.checkpoint, Apply: w.ledger.apply})
	if err != nil {
		w.t.Fatal(err)
	}
	w.ledger.attach(opened, replay.Entries)
	if err := w.ledger.lockedBoot(); err != nil {
		w.t.Fatal(err)
	}
}

// execute runs an operation, which fails or succeeds. A start that is
// implemented leaves processes.
func (w *twin) execute(id string, name protocol.Operation, outcome wire.Outcome) error {
	x, err := w.ledger.try(w.t, id, "c", name.String(), w.life.kind(name))
	if err != nil {
		return err
	}
	left := outcome == wire.OutcomeSucceeded && w.life.implemented(name) && x.kind == protocol.KindStart
	if opening := w.ledger.finish(w.t.Context(), x, executionResult{outcome: outcome, exit: &reaper.Exit{}, left: left}); opening != 0 {
		w.opening = opening
	}
	return nil
}

// planned returns where the planner comes with operations, and whether it
// allows them, from the beginning or from a state.
func (w *twin) planned(from string, operations ...plan.Operation) (state string, ok bool) {
	w.t.Helper()
	p := plan.Problem{Elements: []plan.Element{w.element}}
	if from != "" {
		p.From = map[string]string{"c": from}
	}
	out, err := plan.Check(p, operations)
	if err != nil {
		return "", false
	}
	return out.States["c"], true
}

// compare asks both for every operation.
func (w *twin) compare() {
	w.t.Helper()
	_, components := w.ledger.Components()
	at := components[0]
	for _, name := range w.names {
		op := plan.Operation{Component: "c", Operation: name}
		allowed := slices.Contains(at.Allowed, name.String())
		x := &execution{component: "c", operation: name, kind: w.life.kind(name)}
		if err := w.ledger.admit(x, w.ledger.statuses["c"]); (err == nil) != allowed {
			w.t.Fatalf("%s in state %s: it is shown as allowed is %v, and the ledger says: %v", name, at.State, allowed, err)
		}
		if _, ok := w.planned("", append(slices.Clone(w.history), op)...); !w.faulty && ok != allowed {
			w.t.Fatalf("%s in state %s after %v: the ledger allows it is %v, the planner %v; protocol %+v, not implemented %v",
				name, at.State, w.history, allowed, ok, w.element.Protocol.Transitions, w.element.Unimplemented)
		}
		if _, ok := w.planned(at.State, op); ok && !allowed {
			w.t.Fatalf("%s from state %s: the planner allows what the ledger refuses; protocol %+v, not implemented %v",
				name, at.State, w.element.Protocol.Transitions, w.element.Unimplemented)
		}
	}
}

// move executes any operation, which may fail.
func (w *twin) move(number int) {
	w.t.Helper()
	name := w.names[w.random.IntN(len(w.names))]
	op := plan.Operation{Component: "c", Operation: name}
	before := w.ledger.state("c")
	outcome := wire.OutcomeSucceeded
	if w.random.IntN(6) == 0 {
		outcome = wire.OutcomeFailed
	}
	if err := w.execute(fmt.Sprint(number), name, outcome); err != nil {
		return // compare has seen that the planner refuses it, too
	}
	after := w.ledger.state("c")
	if outcome == wire.OutcomeFailed {
		if after != before {
			w.t.Fatalf("a failed %s leads from %s to %s", name, before, after)
		}
		return
	}
	w.history = append(w.history, op)
	if state, ok := w.planned("", w.history...); !w.faulty && (!ok || state != after) {
		w.t.Fatalf("%v leads the ledger to %s, the planner to %s (%v); protocol %+v, not implemented %v",
			w.history, after, state, ok, w.element.Protocol.Transitions, w.element.Unimplemented)
	}
	if state, ok := w.planned(before, op); ok && state != after {
		w.t.Fatalf("%s leads the ledger from %s to %s, the planner to %s", name, before, after, state)
	}
}

// follow makes plans from the beginning, to the state that operations led to and
// to any other, and has a new ledger execute them.
func (w *twin) follow(reached string) (steps int) {
	w.t.Helper()
	for _, goal := range []string{reached, w.element.Protocol.States[w.random.IntN(len(w.element.Protocol.States))].Name} {
		made, err := plan.Make(w.t.Context(), plan.Problem{
			Elements: []plan.Element{w.element}, Goal: map[string]string{"c": goal},
		}, plan.Options{})
		if goal == reached && !w.faulty && (err != nil || made.Operations > len(w.history)) {
			w.t.Fatalf("the ledger came to %s by %v, and the planner says: %+v, %v", goal, w.history, made, err)
		}
		if err != nil {
			continue
		}
		w.begin()
		for _, step := range made.Steps() {
			if err := w.execute(fmt.Sprint(step.ID), step.Operation.Operation, wire.OutcomeSucceeded); err != nil {
				w.t.Fatalf("step %s of a plan to %s: %v", step.Operation, goal, err)
			}
			if state := w.ledger.state("c"); state != step.Target {
				w.t.Fatalf("step %s of a plan leads to %s instead of %s", step.Operation, state, step.Target)
			}
			steps++
		}
		if state := w.ledger.state("c"); state != goal {
			w.t.Fatalf("a plan to %s ends in %s", goal, state)
		}
	}
	return steps
}

// TestTheLedgerAndThePlannerAgree holds for random protocols, whatever is
// implemented, what both say of every operation in every state that they come to.
func TestTheLedgerAndThePlannerAgree(t *testing.T) {
	t.Parallel()
	seed := dice.Seed()
	t.Logf("seed %d", seed) // shown when it fails
	var open, skipped, faults, followed int
	const count = 150
	for n := range uint64(count) {
		w := newTwin(t, rand.New(rand.NewPCG(seed, n)))
		for number := range 2 + w.random.IntN(12) {
			w.compare()
			w.move(number)
			s := w.ledger.statuses["c"]
			if s.open() {
				open++
			}
			for _, step := range w.life.protocol.Allowed(s.state, s.open(), w.life.implemented) {
				skipped += len(step.Skipped)
			}
			if s.open() && w.random.IntN(8) == 0 {
				w.ledger.recordGone(t.Context(), "c", w.opening, "it died", testDeath)
				w.faulty = true
				faults++
			}
		}
		w.compare()
		followed += w.follow(w.ledger.state("c"))
	}
	t.Logf("open %d times, %d operations skipped, %d faults, %d steps of plans", open, skipped, faults, followed)
	if open < count/4 || skipped < count/4 || faults < count/50 || followed < count/4 {
		t.Error("the protocols are not the mixture that this test is for")
	}
}
