package goal

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/toskose/toskose/spec/protocol"
)

// Targets returns the state that a document requests of each component, except for components on hold, and notes
// about requests that cannot be met. A component's name takes precedence over its container's, that over a
// group's, and a smaller group over a larger one. Up is for programs without
// Autostart only by their own name.
func (m *Model) Targets(d *Document) (targets map[string]string, notes []string) {
	return m.targets(d, m.optional)
}

func (m *Model) targets(d *Document, optional func(component string) bool) (targets map[string]string, notes []string) {
	targets = map[string]string{}
	if d == nil {
		return targets, nil
	}
	set := func(asked string, components []string, by string) {
		for _, c := range components {
			if asked == None || asked == Up && optional(c) && by != c {
				delete(targets, c)
				continue
			}
			if state, note := m.state(c, asked, by); note != "" {
				notes = append(notes, note)
			} else {
				targets[c] = state
			}
		}
	}
	if d.All != "" {
		set(d.All, m.components(), "")
	}
	var groups, containers, components []string
	for _, name := range slices.Sorted(maps.Keys(d.States)) {
		switch {
		case m.Node[name] != "":
			components = append(components, name)
		case m.index[name] != nil:
			containers = append(containers, name)
		case m.Groups[name] != nil:
			groups = append(groups, name)
		case m.Jobs[name] != "":
			notes = append(notes, fmt.Sprintf("%q is run by its orchestrator: container %q is a job, which goals leave alone", name, m.Jobs[name]))
		default:
			notes = append(notes, fmt.Sprintf("the application has no component, container or group %q", name))
		}
	}
	slices.SortStableFunc(groups, func(a, b string) int { return len(m.members(b)) - len(m.members(a)) })
	for _, name := range groups {
		set(d.States[name], m.members(name), name)
	}
	for _, name := range containers {
		if len(m.hosted[name]) == 0 {
			notes = append(notes, fmt.Sprintf("%q hosts no components: whether it runs is the orchestrator's affair", name))
		}
		set(d.States[name], m.hosted[name], name)
	}
	for _, name := range components {
		set(d.States[name], []string{name}, name)
	}
	for name := range d.Holds {
		delete(targets, name)
	}
	m.closure(targets, d)
	slices.Sort(notes)
	return targets, slices.Compact(notes)
}

// unknown returns the names in a document that the model does not have, sorted.
func (m *Model) unknown(d *Document) (all []string) {
	for _, name := range slices.Sorted(maps.Keys(d.States)) {
		if m.Node[name] == "" && m.index[name] == nil && m.Groups[name] == nil && m.Jobs[name] == "" {
			all = append(all, name)
		}
	}
	return all
}

// members returns the components of a group.
func (m *Model) members(group string) []string {
	var all []string
	for _, member := range m.Groups[group] {
		if m.Node[member] != "" {
			all = append(all, member)
		}
		all = append(all, m.hosted[member]...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// state returns the state that a request means for a component, or why there is none.
func (m *Model) state(component, asked, by string) (state, note string) {
	p := m.index[component].Protocol
	switch {
	case p.Has(asked):
		return asked, ""
	case asked == Up:
		if state, ok := m.up[component]; ok {
			return state, ""
		}
		return "", fmt.Sprintf("%q is left out of up: its protocol has no operation start and no state that offers anything", component)
	case asked == Down:
		return m.down[component], ""
	}
	of := fmt.Sprintf("%q", component)
	if by != component && by != "" {
		of += " of " + by
	}
	return "", fmt.Sprintf("%s has no state %q; it has %s, and every component has up, down and none", of, asked, strings.Join(p.StateNames(), ", "))
}

// closure adds the components that others require in their targets: each in its up state if that offers the
// capability, otherwise in the first state that does.
func (m *Model) closure(targets map[string]string, d *Document) {
	queue := slices.Sorted(maps.Keys(targets))
	for ; len(queue) > 0; queue = queue[1:] {
		e := m.index[queue[0]]
		requires := m.Requires(e.Name, targets[e.Name])
		for _, b := range e.Bindings {
			_, isComponent := m.Node[b.Target]
			_, named := targets[b.Target]
			_, held := d.Holds[b.Target]
			if !slices.Contains(requires, b.Requirement) || !isComponent || named || held {
				continue
			}
			if state, ok := m.offering(b.Target, b.Capability); ok {
				targets[b.Target] = state
				queue = append(queue, b.Target)
			}
		}
	}
}

// offering returns the state in which a component should offer a capability.
func (m *Model) offering(component, capability string) (state string, ok bool) {
	if up, ok := m.up[component]; ok && slices.Contains(m.offers(component, up), capability) {
		return up, true
	}
	p := m.index[component].Protocol
	return p.FirstOffering(p.Initial, []string{capability})
}

// path is a path found by a search through a protocol.
type path struct {
	state string
	open  bool
	first *protocol.Step // the first step of the path
	steps int
}

// search walks a component's protocol from a state, nearest states first, until found returns true; ok is false if
// it never does.
func (m *Model) search(component, state string, open bool, found func(state string) bool) (p path, ok bool) {
	e := m.index[component]
	type position struct {
		state string
		open  bool
	}
	seen := map[position]bool{{state, open}: true}
	for queue := []path{{state: state, open: open}}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		if found(at.state) {
			return at, true
		}
		for _, step := range e.Protocol.Allowed(at.state, at.open, m.implemented(component)) {
			next := path{state: step.Target, open: m.opens(component, step.Operation, at.open), first: at.first, steps: at.steps + 1}
			if next.first == nil {
				next.first = &step
			}
			if to := (position{next.state, next.open}); !seen[to] {
				seen[to] = true
				queue = append(queue, next)
			}
		}
	}
	return path{}, false
}

// opens reports whether processes of the component's start may be running after an operation.
func (m *Model) opens(component string, op protocol.Operation, before bool) bool {
	switch m.index[component].Protocol.KindOf(op) {
	case protocol.KindStart:
		return before || m.implemented(component)(op)
	case protocol.KindStop:
		return false
	default:
		return before
	}
}
