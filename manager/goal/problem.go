package goal

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/toskose/toskose/spec/plan"
	"github.com/toskose/toskose/spec/protocol"
)

// class is a group of replicas of one node in the same state: one plan serves all of them.
type class struct {
	node     string
	replicas []int  // by number; none: the node has no container
	suffix   string // of the names of its elements
	frozen   bool   // it cannot be operated
	failing  bool   // the last operation of some component failed
}

// operated returns the replicas whose states count.
func (c *class) operated() []int {
	if c.frozen && len(c.replicas) > 0 {
		return c.replicas[:1]
	}
	return c.replicas
}

func (c *class) element(component string) string { return component + c.suffix }

// classes groups the replicas of a node by state. Replicas that cannot be operated count only if there are no
// others.
func (m *Model) classes(s Situation, node string) []*class {
	var all []*class
	byState := map[string]*class{}
	unavailable := &class{node: node, frozen: true}
	for _, i := range s.of(node) {
		r := &s.Replicas[i]
		if r.Problem != "" {
			unavailable.replicas = append(unavailable.replicas, i)
			continue
		}
		sign := m.stateKey(r)
		if byState[sign] == nil {
			byState[sign] = &class{node: node, failing: m.failing(r)}
			all = append(all, byState[sign])
		}
		byState[sign].replicas = append(byState[sign].replicas, i)
	}
	switch {
	case len(all) == 0 && len(unavailable.replicas) > 0:
		all = append(all, unavailable)
	case len(all) == 0:
		all = append(all, &class{node: node})
	}
	for i, c := range all[1:] {
		c.suffix = "@" + strconv.Itoa(i+2)
	}
	return all
}

// stateKey returns a value that is equal for replicas in the same state.
func (m *Model) stateKey(r *Replica) string {
	var b strings.Builder
	for _, name := range m.hosted[r.Node] {
		c := r.Components[name]
		fmt.Fprintf(&b, "%s\x00%t\x00%t\x00", c.State, c.Open, m.failed(name, c))
	}
	return b.String()
}

// failing reports whether the last operation of any component of a replica failed.
func (m *Model) failing(r *Replica) bool {
	return slices.ContainsFunc(m.hosted[r.Node], func(name string) bool { return m.failed(name, r.Components[name]) })
}

// failed reports whether a component's last operation failed, or its processes exited unexpectedly. A task's runs
// are ignored: its progress does not depend on one replica.
func (m *Model) failed(name string, c Component) bool {
	if len(c.Runs) == 0 {
		return false
	}
	last := c.Runs[len(c.Runs)-1]
	if _, is := m.Tasks[name]; is && last.Operation == protocol.TaskRun {
		return false
	}
	return last.Failed || last.died()
}

// problem is the input of the planner, and what its elements represent.
type problem struct {
	plan.Problem
	of map[string]part // by element
}

// part is a component of a class, or a container or volume.
type part struct {
	class     *class // nil: a container or volume
	component string
}

// problem returns the planning problem from a situation to the targets. Containers and volumes are included only
// to be waited for: the orchestrator handles their own requirements.
func (m *Model) problem(s Situation, d *Document, targets map[string]string, anyReplica bool) *problem {
	p := &problem{of: map[string]part{}, Problem: plan.Problem{From: map[string]string{}, Closed: map[string]bool{}, Goal: map[string]string{}}}
	classes := map[string][]*class{}
	for i := range m.Elements {
		e := &m.Elements[i]
		if m.Node[e.Name] != "" {
			continue
		}
		state := m.elementState(s, e.Name)
		pr := e.Protocol
		if m.runs[e.Name] == state {
			pr.Transitions = nil
		}
		p.add(plan.Element{Name: e.Name, Protocol: pr, Unimplemented: e.Unimplemented}, state, part{component: e.Name})
		if len(m.hosted[e.Name]) > 0 {
			classes[e.Name] = m.classes(s, e.Name)
		}
	}
	for i := range m.Elements {
		e := &m.Elements[i]
		for _, c := range classes[m.Node[e.Name]] {
			m.addComponent(p, s, e, c, classes, d, targets, anyReplica)
		}
	}
	return p
}

func (p *problem) add(e plan.Element, state string, of part) {
	p.Elements = append(p.Elements, e)
	p.From[e.Name], p.of[e.Name] = state, of
}

func (m *Model) addComponent(p *problem, s Situation, e *plan.Element, c *class, classes map[string][]*class, d *Document, targets map[string]string, anyReplica bool) {
	pr, state := e.Protocol, e.Protocol.Initial
	frozen := c.frozen
	if len(c.replicas) > 0 {
		state = m.stateOf(e.Name, &s.Replicas[c.replicas[0]])
	}
	absent := len(c.replicas) > 0 && m.without(&s.Replicas[c.replicas[0]], e.Name)
	if _, held := d.Holds[e.Name]; held || frozen || absent {
		pr.Transitions, frozen = nil, true
	}
	name := c.element(e.Name)
	made := plan.Element{Name: name, Protocol: pr, Unimplemented: e.Unimplemented}
	for _, b := range e.Bindings {
		if m.Node[b.Target] == c.node {
			made.Bindings = append(made.Bindings, plan.Binding{Requirement: b.Requirement, Target: c.element(b.Target), Capability: b.Capability})
			continue
		}
		if m.Node[b.Target] == "" {
			made.Bindings = append(made.Bindings, b)
			continue
		}
		if m.keepsProvider(s, targets, e.Name, state, b) {
			continue
		}
		of := providers(classes[m.Node[b.Target]])
		if anyReplica {
			of = m.nearest(s, of, b)
		}
		for _, other := range of {
			made.Bindings = append(made.Bindings, plan.Binding{Requirement: b.Requirement, Target: other.element(b.Target), Capability: b.Capability})
		}
	}
	p.add(made, state, part{c, e.Name})
	p.Closed[name] = len(c.replicas) == 0 || !m.openOn(e.Name, &s.Replicas[c.replicas[0]])
	if target := targets[e.Name]; target != "" && !frozen {
		p.Goal[name] = target
	}
}

// stateOf returns a component's state on a replica; the initial state if unknown.
func (m *Model) stateOf(component string, r *Replica) string {
	p := m.index[component].Protocol
	if seen := r.Components[component].State; !r.Unknown && p.Has(seen) {
		return seen
	}
	return p.Initial
}

// openOn reports whether a component is open on a replica; false if unknown.
func (m *Model) openOn(component string, r *Replica) bool {
	c := r.Components[component]
	return c.Open && !r.Unknown && m.index[component].Protocol.Has(c.State)
}

// providers returns the classes that consumers wait for: all, since a name resolves to any replica, but classes
// with failures only if all classes have them.
func providers(of []*class) []*class {
	well := slices.DeleteFunc(slices.Clone(of), func(c *class) bool { return c.failing })
	if len(well) == 0 {
		return of
	}
	return well
}

// nearest returns the first class that satisfies a binding, or all classes if none does.
func (m *Model) nearest(s Situation, of []*class, b plan.Binding) []*class {
	i := slices.IndexFunc(of, func(c *class) bool {
		return len(c.replicas) > 0 && m.replicaOffers(&s.Replicas[c.replicas[0]], b, nil)
	})
	if i < 0 {
		return of
	}
	return of[i : i+1]
}

// bestPlan plans for as many targets as can be reached, and returns the reasons for the others.
func (p *problem) bestPlan(ctx context.Context) (made *plan.Plan, blocked map[string]error) {
	whole := p.Goal
	made, err := p.try(ctx, whole)
	if err == nil {
		return made, nil
	}
	blocked = map[string]error{}
	accepted := map[string]string{}
	var add func(names []string)
	add = func(names []string) {
		goal := map[string]string{}
		for name, state := range accepted {
			goal[name] = state
		}
		for _, name := range names {
			goal[name] = whole[name]
		}
		found, err := p.try(ctx, goal)
		switch {
		case err == nil:
			made, accepted = found, goal
		case len(names) == 1:
			blocked[names[0]] = err
		default:
			add(names[:len(names)/2])
			add(names[len(names)/2:])
		}
	}
	var names []string
	for _, e := range p.Elements {
		if whole[e.Name] != "" {
			names = append(names, e.Name)
		}
	}
	if len(names) > 0 {
		add(names)
	}
	if made == nil {
		made = &plan.Plan{}
	}
	return made, blocked
}

// oneLine returns an error's text on one line, for obstacles.
func oneLine(err error) string {
	head, reasons, _ := strings.Cut(err.Error(), "\n")
	return strings.TrimSpace(head + " " + strings.ReplaceAll(reasons, "\n", "; "))
}

// maxStates bounds the search for a plan: a decision must not take seconds.
const maxStates = 20_000

func (p *problem) try(ctx context.Context, goal map[string]string) (*plan.Plan, error) {
	asked := p.Problem
	asked.Goal = goal
	return plan.Make(ctx, asked, plan.Options{MaxStates: maxStates})
}
