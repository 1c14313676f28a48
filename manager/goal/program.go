package goal

import (
	"maps"
	"slices"
)

// Program is a component that is a program of an attached container. Its unit keeps to the program's own settings,
// such as autorestart.
type Program struct {
	Autostart bool // otherwise, Up leaves it as it is unless a document names it
}

// optional reports whether Up leaves a component as it is unless a document names it.
func (m *Model) optional(component string) bool {
	p, is := m.Programs[component]
	return is && !p.Autostart
}

// WithRunning returns a document that also names the optional programs for which it requests Up and that run on some
// replica.
func (m *Model) WithRunning(d *Document, s Situation) *Document {
	named, _ := m.Targets(d)
	all, _ := m.targets(d, func(string) bool { return false })
	next := *d
	next.States = maps.Clone(d.States)
	for c := range m.Programs {
		up := all[c]
		if up == "" || named[c] != "" || up != m.up[c] || !s.has(m.Node[c], c, up) {
			continue
		}
		if next.States == nil {
			next.States = map[string]string{}
		}
		next.States[c] = Up
	}
	return &next
}

// has reports whether a component is in a state on a replica of its node.
func (s Situation) has(node, component, state string) bool {
	return slices.ContainsFunc(s.of(node), func(i int) bool { return s.Replicas[i].Components[component].State == state })
}

// without reports whether a replica has no such program: replicas of an attached container may differ.
func (m *Model) without(r *Replica, component string) bool {
	_, is := m.Programs[component]
	_, known := r.Components[component]
	return is && !known && r.Problem == ""
}

// withCompleted returns the situation with each completed program that should be up in its up state: its settings do
// not restart it, and nothing is left to do.
func (m *Model) withCompleted(s Situation, targets map[string]string) Situation {
	if len(m.Programs) == 0 {
		return s
	}
	s.Replicas = slices.Clone(s.Replicas)
	for i := range s.Replicas {
		r, copied := &s.Replicas[i], false
		for _, name := range m.hosted[r.Node] {
			c, up := r.Components[name], m.up[name]
			if !c.Completed || c.Executing != nil || targets[name] != up {
				continue
			}
			if !copied {
				r.Components, copied = maps.Clone(r.Components), true
			}
			c.State = up
			r.Components[name] = c
		}
	}
	return s.Indexed()
}
