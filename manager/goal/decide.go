package goal

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/toskose/toskose/spec/plan"
	"github.com/toskose/toskose/spec/protocol"
	"github.com/toskose/toskose/unit/wire"
)

// Step is an operation to run now on one replica.
type Step struct {
	Node      string             `json:"node"`
	Instance  string             `json:"instance"`
	Component string             `json:"component"`
	Operation protocol.Operation `json:"operation"`
	From      string             `json:"from"`
	To        string             `json:"to"`
	ID        string             `json:"id"`    // of the execution
	After     uint64             `json:"after"` // the component's last known entry
	Why       string             `json:"why,omitempty"`
	Part      *wire.Part         `json:"part,omitempty"` // of a Task
	Timeout   time.Duration      `json:"-"`              // 0: the operation's own
}

// Obstacle is the reason why part of the goal is not reached yet.
type Obstacle struct {
	Node      string    `json:"node,omitempty"`
	Instance  string    `json:"instance,omitempty"` // empty: any
	Replica   string    `json:"replica,omitempty"`  // its address, if its container has several replicas
	Component string    `json:"component,omitempty"`
	Reason    string    `json:"reason"`
	Until     time.Time `json:"until,omitzero"`    // when it is retried
	Waits     bool      `json:"waits,omitempty"`   // not a failure: other steps come first
	Final     bool      `json:"final,omitempty"`   // nothing is tried again without a person
	Missing   bool      `json:"missing,omitempty"` // no container of the node runs
}

// String returns the subject, the reason, and the time of the next try.
func (o Obstacle) String() string {
	text := o.Reason
	if of := cmp.Or(o.Component, o.Node); of != "" && o.Replica != "" {
		text = fmt.Sprintf("%s on %s: %s", of, o.Replica, o.Reason)
	} else if of != "" {
		text = of + ": " + o.Reason
	}
	if !o.Until.IsZero() && !o.Waits {
		text += "; next try at " + o.Until.UTC().Format("15:04:05 UTC")
	}
	return text
}

// Decision is what to do next, and the goal's progress.
type Decision struct {
	Steps     []Step
	Obstacles []Obstacle
	Holds     map[string]Hold   // to add to the document
	Resumed   map[string]Hold   // ended holds, with the operation that ended them
	Records   map[string]Record // of Tasks, to replace the document's
	Notes     []string          // about requests that cannot be met
	Unknown   []string          // names in the document that the model does not have
	Asked     wire.Revision     // of the document that it is about
	Plan      *plan.Plan        // the remaining steps; replicas in the same state share one element
	Targets   map[string]string
	Reached   int       // components on replicas that are in the desired state
	Wanted    int       // all components on replicas that the goal names
	Wake      time.Time // when to decide again if nothing happens; zero: never
	Stuck     bool      // the goal is not reached, and nothing is tried again without a person
	Settling  []string  // components that have reached the goal, but may still fail: they started less than Policy.Stable ago

	route *route // along Plan
}

// Done reports whether the application has reached the goal.
func (d *Decision) Done() bool { return d.Reached == d.Wanted && len(d.Obstacles) == 0 }

// Decide returns what to do in a situation to reach a goal; nothing without a goal.
func (m *Model) Decide(ctx context.Context, d *Document, s Situation) *Decision {
	return m.Continue(ctx, nil, d, s)
}

// Continue is Decide with an earlier decision: it keeps following that decision's plan while the observed states
// are consistent with it. For very many components, computing a plan takes longer than following it.
//
// A step must be allowed by the component's protocol, have its requirements met, and not withdraw capabilities
// that others require, unless those must stop too. At most one operation at a time runs on a component of a
// replica.
func (m *Model) Continue(ctx context.Context, before *Decision, d *Document, s Situation) *Decision {
	made := &Decision{}
	if d == nil {
		return made
	}
	made.Asked, made.Unknown = d.Asked, m.unknown(d)
	if made.Resumed = m.resumed(d, s); len(made.Resumed) > 0 {
		d = d.Held(nil, made.Resumed)
	}
	var w *route
	if before != nil {
		w = before.route
	}
	if w.serves(d) {
		made.Targets, made.Notes = w.targets, w.notes
	} else {
		made.Targets, made.Notes = m.Targets(d)
	}
	if made.Holds = m.holds(d, s, made.Targets); len(made.Holds) > 0 {
		d = d.Held(made.Holds, nil)
		made.Targets, _ = m.Targets(d)
	}
	t := &decider{Model: m, doc: d, targets: made.Targets, decision: made}
	s.records = d.Tasks
	s, t.tasks = m.settled(s, d, made.Targets)
	t.s = m.clone(m.withCompleted(s, made.Targets))
	t.leaveStates()
	t.advance(ctx, w)
	t.count()
	t.record()
	t.wakeForTasks()
	made.Stuck = !made.Done() && len(made.Steps) == 0 && !t.busy() && onlyFinal(made.Obstacles)
	slices.SortStableFunc(made.Obstacles, func(a, b Obstacle) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Component, b.Component), cmp.Compare(a.Instance, b.Instance))
	})
	return made
}

// onlyFinal reports whether all obstacles are final or wait for final ones.
func onlyFinal(all []Obstacle) bool {
	final := false
	for _, o := range all {
		if final = final || o.Final; !o.Final && (!o.Waits || !o.Until.IsZero()) {
			return false
		}
	}
	return final
}

// clone copies the parts of replicas that a decider changes, and derives the target states of running operations.
func (m *Model) clone(s Situation) Situation {
	s.Replicas = slices.Clone(s.Replicas)
	for i := range s.Replicas {
		r := &s.Replicas[i]
		copied := false
		for name, c := range r.Components {
			if c.Executing == nil || m.index[name] == nil {
				continue
			}
			if !copied {
				r.Components, copied = maps.Clone(r.Components), true
			}
			x := *c.Executing
			if step, ok := m.index[name].Protocol.Next(c.State, x.Operation, c.Open, m.implemented(name)); ok {
				x.To, x.needs = step.Target, m.Needed(name, step)
			}
			c.Executing = &x
			r.Components[name] = c
		}
	}
	return s.Indexed()
}

// decider makes one decision. Steps that it decides on count as running from then on.
type decider struct {
	*Model
	doc      *Document
	s        Situation
	targets  map[string]string
	decision *Decision
	tasks    map[string]*progress
	leaving  map[*Replica]bool // replicas whose components leave their states
	blocked  int               // how many steps of the plan wait for other replicas
	lenient  bool              // steps of replicas that are unavailable themselves need not wait
}

// leaveStates stops components that cannot stay in their state, dependents first.
func (t *decider) leaveStates() {
	t.leaving = map[*Replica]bool{}
	for i := range t.s.Replicas {
		r := &t.s.Replicas[i]
		if r.Problem != "" {
			continue
		}
		leaving := t.mustLeave(t.s, r, t.targets)
		for _, name := range slices.Sorted(maps.Keys(leaving)) {
			step, ok := t.exitStep(t.s, r, name, leaving)
			if !ok {
				t.obstacle(r, name, leaving[name]+", and no operation leads out of it", time.Time{})
				continue // the plan may meet the requirement
			}
			t.leaving[r] = true
			under := slices.ContainsFunc(t.Withdrawn(t.s, r, name, step), func(l Lack) bool {
				_, leaves := leaving[l.Component]
				return leaves
			})
			if !under {
				t.begin(r, name, step, leaving[name])
			}
		}
	}
}

func (t *decider) plannedStep(r *Replica, component string, planned plan.Step) {
	c := r.Components[component]
	if t.leaving[r] || c.Executing != nil {
		return
	}
	step, ok := t.index[component].Protocol.Next(c.State, planned.Operation.Operation, c.Open, t.implemented(component))
	if !ok {
		t.obstacle(r, component, fmt.Sprintf("%s is not allowed in state %q", planned.Operation.Operation, c.State), time.Time{})
		return
	}
	switch refused := t.Permits(t.s, r, component, step); {
	case len(refused.Lacks) > 0:
		t.waits(r, component, fmt.Sprintf("%s waits for %s", step.Operation, refused.Lacks[0]), time.Time{})
	case len(refused.Takes) > 0:
		t.waits(r, component, fmt.Sprintf("%s waits until %q no longer requires %s", step.Operation, refused.Takes[0].Component, refused.Takes[0]), time.Time{})
	default:
		if wait := t.tooManyUnavailable(r, component, step); wait != "" {
			t.waits(r, component, wait, time.Time{})
			t.blocked++
			return
		}
		if provider, until := t.unresolvableProvider(t.s, r, component, step); until.After(t.s.Now) {
			t.waits(r, component, fmt.Sprintf("%s waits until the network leads to %q", step.Operation, provider), until)
			return
		}
		if t.tasks[component] != nil && step.Operation == protocol.TaskRun {
			t.runTask(r, component, step)
			return
		}
		t.begin(r, component, step, "")
	}
}

// begin decides on a step, unless its next attempt must wait.
func (t *decider) begin(r *Replica, component string, step protocol.Step, why string) {
	c := r.Components[component]
	if c.Executing != nil {
		return
	}
	tried := retries(t.Policies[component], t.doc, c, step.Operation, t.index[component].Protocol.KindOf(step.Operation))
	if tried.never || tried.since.After(t.s.Now) {
		t.obstacle(r, component, tried.why(step.Operation), tried.since)
		t.decision.Obstacles[len(t.decision.Obstacles)-1].Final = tried.never
		return
	}
	t.commit(r, t.step(r, component, step, why), step)
}

// step returns a component's step on a replica in the form in which it is run.
func (t *decider) step(r *Replica, component string, step protocol.Step, why string) Step {
	c := r.Components[component]
	return Step{
		Node: r.Node, Instance: r.Instance, Component: component, Operation: step.Operation, From: c.State, To: step.Target,
		ID: t.doc.executionID(r, component, step.Operation, c.Seq), After: c.Seq, Why: why,
	}
}

// commit decides on a step, which counts as running from then on.
func (t *decider) commit(r *Replica, made Step, step protocol.Step) {
	t.decision.Steps = append(t.decision.Steps, made)
	c := r.Components[made.Component]
	c.Executing = &Run{Operation: step.Operation, From: c.State, To: step.Target, needs: t.Needed(made.Component, step), Part: made.Part}
	r.Components = replaced(r.Components, made.Component, c)
}

// replaced returns a copy of the map with one component replaced. It does not change the original.
func replaced(all map[string]Component, name string, c Component) map[string]Component {
	all = maps.Clone(all)
	all[name] = c
	return all
}

func (t *decider) obstacle(r *Replica, component, reason string, until time.Time) {
	t.decision.Obstacles = append(t.decision.Obstacles, Obstacle{
		Node: r.Node, Instance: r.Instance, Replica: t.replicaName(r), Component: component, Reason: reason, Until: until,
	})
	if !until.IsZero() && (t.decision.Wake.IsZero() || until.Before(t.decision.Wake)) {
		t.decision.Wake = until
	}
}

// replicaName returns the name of a replica; empty if its container has no other.
func (t *decider) replicaName(r *Replica) string {
	if len(t.s.of(r.Node)) < 2 {
		return ""
	}
	return r.Name
}

// waits adds an obstacle that disappears once other components have reached their targets.
func (t *decider) waits(r *Replica, component, reason string, until time.Time) {
	t.obstacle(r, component, reason, until)
	t.decision.Obstacles[len(t.decision.Obstacles)-1].Waits = true
}

// count computes the goal's progress and the replicas that block it.
func (t *decider) count() {
	for i := range t.s.Replicas {
		r := &t.s.Replicas[i]
		wanted := 0
		for _, name := range t.hosted[r.Node] {
			target := t.targets[name]
			if target == "" || t.without(r, name) {
				continue
			}
			wanted++
			if c := r.Components[name]; c.State == target && c.Executing == nil && r.Problem == "" {
				t.decision.Reached++
				t.settle(name, c)
			}
		}
		if t.decision.Wanted += wanted; wanted > 0 && r.Problem != "" {
			t.decision.Obstacles = append(t.decision.Obstacles, Obstacle{Node: r.Node, Instance: r.Instance, Replica: t.replicaName(r), Reason: r.Problem})
		}
	}
	t.countUnknown()
	for name, hold := range t.doc.Holds {
		if _, is := t.Node[name]; is {
			t.decision.Obstacles = append(t.decision.Obstacles, Obstacle{Node: t.Node[name], Component: name, Reason: hold.reason(), Final: hold.Lease == ""})
		}
	}
}

// settle records that a component may still fail because its last start is recent.
func (t *decider) settle(name string, c Component) {
	if len(c.Runs) == 0 || !c.Open || slices.Contains(t.decision.Settling, name) {
		return
	}
	last, stable := c.Runs[len(c.Runs)-1], t.Policies[name].stable()
	if t.index[name].Protocol.KindOf(last.Operation) == protocol.KindStart && t.s.Now.Sub(last.Ended) < stable {
		t.decision.Settling = append(t.decision.Settling, name)
	}
}

// countUnknown counts the components of containers without known replicas: nothing shows that they are in the
// desired state.
func (t *decider) countUnknown() {
	for _, node := range slices.Sorted(maps.Keys(t.hosted)) {
		if len(t.s.of(node)) > 0 {
			continue
		}
		wanted := 0
		for _, name := range t.hosted[node] {
			if t.targets[name] != "" {
				wanted++
			}
		}
		reported := slices.ContainsFunc(t.decision.Obstacles, func(o Obstacle) bool { return o.Node == node })
		if t.decision.Wanted += wanted; wanted > 0 && !reported {
			t.decision.Obstacles = append(t.decision.Obstacles, Obstacle{Node: node, Reason: "no running container is found", Missing: true})
		}
	}
}

func (h Hold) reason() string {
	by := h.By
	if by == "" {
		by = "an unknown user"
	}
	return fmt.Sprintf("on hold: %s asked for %s", by, h.Operation)
}
