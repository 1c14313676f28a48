package manager

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/toskose/toskose/manager/goal"
	"github.com/toskose/toskose/manager/mirror"
	"github.com/toskose/toskose/tosca/protocol"
)

// rules say what the components of the application require of each other.
type rules struct {
	model   *goal.Model
	digests map[string]string // of the configuration that each node's unit should have

	mu    sync.Mutex
	last  *mirror.Snapshot // that was translated last
	now   goal.Situation
	index map[*mirror.Replica]int // in now.Replicas
}

func newRules(model *goal.Model, digests map[string]string) *rules {
	return &rules{model: model, digests: digests}
}

// situation returns a snapshot as the rules know it, and where each replica is in it.
// Replicas that have not changed are not translated again.
func (r *rules) situation(now *mirror.Snapshot) (goal.Situation, map[*mirror.Replica]int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last == now {
		return r.now, r.index
	}
	next, index := goal.Situation{Standalone: map[string]bool{}}, map[*mirror.Replica]int{}
	for _, n := range now.Nodes {
		next.Standalone[n.Name] = len(n.Running) > 0
		for _, at := range n.Replicas {
			if !at.Gone.IsZero() {
				continue
			}
			index[at] = len(next.Replicas)
			if i, known := r.index[at]; known {
				next.Replicas = append(next.Replicas, r.now.Replicas[i])
			} else {
				next.Replicas = append(next.Replicas, r.seen(at))
			}
		}
	}
	r.last, r.now, r.index = now, next, index
	return next, index
}

// Lack is a requirement of a component that nothing fulfils.
type Lack struct {
	Component   string `json:"component"`
	Requirement string `json:"requirement"`
	Provider    string `json:"provider"`   // the component, container or volume that it is bound to
	Capability  string `json:"capability"` // which that does not offer
	Why         string `json:"why"`        // how the provider is instead
}

// String reads after "requires".
func (l Lack) String() string {
	what := fmt.Sprintf("%s of %q", l.Requirement, l.Provider)
	if l.Capability != l.Requirement {
		what = fmt.Sprintf("%s, which is %s of %q", l.Requirement, l.Capability, l.Provider)
	}
	return what + ", and " + l.Why
}

func sentences(all []Lack) string {
	texts := make([]string, len(all))
	for i, l := range all {
		texts[i] = l.String()
	}
	return strings.Join(texts, "; ")
}

// explain says of each lack how the provider is.
func (r *rules) explain(s goal.Situation, found []goal.Lack) []Lack {
	var all []Lack
	for _, l := range found {
		all = append(all, Lack{l.Component, l.Requirement, l.Provider, l.Capability, r.why(s, l)})
	}
	return all
}

func (r *rules) why(s goal.Situation, l goal.Lack) string {
	node, isComponent := r.model.Node[l.Provider]
	if !isComponent {
		return fmt.Sprintf("%q does not run", l.Provider)
	}
	var states []string
	for i := range s.Replicas {
		at := &s.Replicas[i]
		if at.Node != node {
			continue
		}
		state := fmt.Sprintf("in state %q", at.Components[l.Provider].State)
		if at.Unknown || at.Components[l.Provider].State == "" {
			state = "unknown, because its unit cannot be heard"
		}
		if !slices.Contains(states, state) {
			states = append(states, state)
		}
	}
	if states == nil {
		return fmt.Sprintf("its container %q has no replica", node)
	}
	return fmt.Sprintf("%q is %s", l.Provider, strings.Join(states, " and "))
}

// look is what is known at one moment, with what the rules make of it.
type look struct {
	*mirror.Snapshot
	rules     *rules
	situation goal.Situation
	index     map[*mirror.Replica]int
}

func (a *App) look(now *mirror.Snapshot) look {
	s, index := a.rules.situation(now)
	return look{now, a.rules, s, index}
}

// of is a replica as the rules know it.
func (l look) of(at *mirror.Replica) *goal.Replica { return &l.situation.Replicas[l.index[at]] }

// lacks returns what a component requires in its state on a replica, and lacks.
func (r *rules) lacks(s goal.Situation, at *goal.Replica, c *component) []Lack {
	return r.missing(s, at, c, r.model.Requires(c.name(), at.Components[c.name()].State))
}

func (r *rules) missing(s goal.Situation, at *goal.Replica, c *component, requirements []string) []Lack {
	if len(requirements) == 0 || at.Unknown {
		return nil
	}
	return r.explain(s, r.model.Lacking(s, at, c.name(), requirements))
}

// left returns what the users of a component lack, on any replica.
func (a *App) left(s goal.Situation, c *component) []Lack {
	var all []Lack
	for _, name := range a.goals.Users(c.name()) {
		user := a.byName[name]
		for i := range s.Replicas {
			if at := &s.Replicas[i]; at.Node == user.node.name() {
				for _, l := range a.rules.lacks(s, at, user) {
					if !slices.ContainsFunc(all, l.same) {
						all = append(all, l)
					}
				}
			}
		}
	}
	return all
}

func (l Lack) same(o Lack) bool {
	return l.Component == o.Component && l.Requirement == o.Requirement && l.Provider == o.Provider
}

// added returns the lacks that were not there before.
func added(before, after []Lack) []Lack {
	return slices.DeleteFunc(after, func(l Lack) bool { return slices.ContainsFunc(before, l.same) })
}

// check refuses an operation that requires what nothing offers or, if the caller
// is strict, takes from others what they require. It returns what its users lacked
// before. What the component's own protocol does not allow is left to the unit.
func (a *App) check(ctx context.Context, op operation, targets []replica, req *RunRequest) ([]Lack, error) {
	now := a.complete(ctx)
	s, after := now.situation, now.situation
	after.Replicas = slices.Clone(s.Replicas)
	var lacks []Lack
	for _, target := range targets {
		at := now.Node(target.node.name()).At(target.addr)
		if at == nil || !at.Reachable() || at.Component(op.component.name()) == nil {
			continue // the execution says why
		}
		choice := op.component.choice(at.Component(op.component.name()))
		step := slices.IndexFunc(choice.steps, func(s protocol.Step) bool { return s.Operation == op.name })
		if step < 0 {
			continue
		}
		i := now.index[at]
		for _, l := range a.rules.missing(s, &s.Replicas[i], op.component, a.goals.Needed(op.component.name(), choice.steps[step])) {
			if !slices.ContainsFunc(lacks, l.same) {
				lacks = append(lacks, l)
			}
		}
		moved := maps.Clone(s.Replicas[i].Components)
		moved[op.component.name()] = goal.Component{State: choice.steps[step].Target}
		after.Replicas[i].Components = moved
	}
	before := a.left(s, op.component)
	if lacks != nil && !req.Force {
		return nil, unmet(now, op, lacks, targets)
	}
	if lacks != nil {
		req.forced = true
	}
	if taken := added(before, a.left(after, op.component)); req.Strict && taken != nil {
		return nil, &Error{Kind: ErrTakesAway, Lacks: taken, Detail: fmt.Sprintf(
			"operation %s of component %q would take from others what they require: %s", op.name, op.component.name(), blame(taken))}
	}
	return before, nil
}

func blame(all []Lack) string {
	texts := make([]string, len(all))
	for i, l := range all {
		texts[i] = fmt.Sprintf("%q requires %s of %q", l.Component, l.Requirement, l.Provider)
	}
	return strings.Join(texts, "; ")
}

// unmet is the error of an operation that requires what nothing offers.
func unmet(now look, op operation, lacks []Lack, targets []replica) *Error {
	e := &Error{Kind: ErrUnmet, Lacks: lacks, Allowed: []string{}}
	for _, target := range targets {
		if at := now.Node(target.node.name()).At(target.addr); at != nil && at.Component(op.component.name()) != nil {
			view := op.component.replicaView(now, at)
			e.State, e.Allowed = view.State, view.Allowed
		}
	}
	e.Detail = fmt.Sprintf("operation %s of component %q requires %s; in state %q it may now run %s",
		op.name, op.component.name(), sentences(lacks), e.State, oneOf(e.Allowed))
	return e
}
