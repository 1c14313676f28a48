package goal

import (
	"cmp"
	"maps"
	"slices"

	"github.com/toskose/toskose/spec/plan"
	"github.com/toskose/toskose/spec/protocol"
)

// Awaited returns, by container, the components that must reach their targets before the container counts as
// ready.
//
// Only components whose targets are up states count; tasks serve no clients. A component that cannot start before
// its own container receives clients is left out, since both would wait forever: the container becomes ready
// without it.
func (m *Model) Awaited(targets map[string]string) map[string]map[string]string {
	w := &waiting{Model: m, awaited: map[string]map[string]string{}}
	var wanted []string
	needs := map[string]int{}
	for name, target := range targets {
		if _, task := m.Tasks[name]; !task && m.isUp(name, target) {
			wanted = append(wanted, name)
			needs[name] = len(m.needing(name))
		}
	}
	slices.SortFunc(wanted, func(a, b string) int { return cmp.Or(cmp.Compare(needs[a], needs[b]), cmp.Compare(a, b)) })
	for _, name := range wanted {
		node := m.Node[name]
		if w.reaches(name, node) {
			continue
		}
		if w.awaited[node] == nil {
			w.awaited[node] = map[string]string{}
		}
		w.awaited[node][name] = targets[name]
	}
	return w.awaited
}

// isUp reports whether a component in this state offers all capabilities that it offers in its up state.
func (m *Model) isUp(component, state string) bool {
	up, ok := m.up[component]
	if !ok {
		return false
	}
	offers := m.offers(component, state)
	return state == up || !slices.ContainsFunc(m.offers(component, up), func(c string) bool { return !slices.Contains(offers, c) })
}

// needing returns the components that a component requires, directly or transitively.
func (m *Model) needing(component string) map[string]bool {
	found := map[string]bool{}
	for queue := []string{component}; len(queue) > 0; queue = queue[1:] {
		for _, b := range m.index[queue[0]].Bindings {
			if m.Node[b.Target] != "" && !found[b.Target] {
				found[b.Target] = true
				queue = append(queue, b.Target)
			}
		}
	}
	return found
}

// waiting is the graph of what waits for what: a component waits for the components that it requires and, if it
// reaches them through the network, for their containers; a container waits for the components awaited in it.
type waiting struct {
	*Model
	awaited map[string]map[string]string
}

// reaches reports whether a component waits, directly or transitively, for a container.
func (w *waiting) reaches(component, container string) bool {
	seen := map[string]bool{}
	for queue := []string{component}; len(queue) > 0; queue = queue[1:] {
		for _, next := range w.next(queue[0]) {
			if next == container {
				return true
			}
			if !seen[next] {
				seen[next] = true
				queue = append(queue, next)
			}
		}
	}
	return false
}

// next returns the names for which a component or a container directly waits.
func (w *waiting) next(name string) (all []string) {
	node, isComponent := w.Node[name]
	if !isComponent {
		return slices.Collect(maps.Keys(w.awaited[name]))
	}
	for _, b := range w.index[name].Bindings {
		target, hosted := w.Node[b.Target]
		if hosted {
			all = append(all, b.Target)
		} else {
			target = b.Target
		}
		if viaNetwork(b, node, target) {
			all = append(all, target)
		}
	}
	return all
}

// viaNetwork reports whether a component in one container reaches the target of a binding through the network name of
// another, or of its own.
func viaNetwork(b plan.Binding, from, to string) bool {
	switch b.Requirement {
	case protocol.Connection:
		return true
	case protocol.Host, protocol.Alive, protocol.Storage:
		return false
	}
	return from != to
}
