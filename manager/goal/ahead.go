package goal

import "slices"

// Ahead is a remaining step of the plan.
type Ahead struct {
	Level     int      `json:"level"` // of the plan, from 1: steps of one level do not wait for each other
	Component string   `json:"component"`
	Operation string   `json:"operation"`
	After     []string `json:"after,omitempty"` // for a component's next step: the components and containers that it waits for
}

// Ahead returns the steps of the plan that are neither completed nor running, in a valid order. Identical steps on
// several replicas are merged.
func (d *Decision) Ahead(underway []Step) []Ahead {
	w := d.route
	if w == nil {
		return nil
	}
	type step struct {
		level                int // 0: any
		component, operation string
	}
	seen, next := map[step]bool{}, map[string]bool{}
	for _, s := range underway {
		seen[step{0, s.Component, s.Operation.String()}] = true
	}
	var all []Ahead
	for n := range w.steps {
		st := &w.steps[n]
		l := &w.paths[st.path]
		a := Ahead{Level: st.level, Component: l.component, Operation: st.Operation.Operation.String()}
		same := step{a.Level, a.Component, a.Operation}
		if l.class == nil || seen[same] || seen[step{0, a.Component, a.Operation}] || w.completed(st) {
			continue
		}
		seen[same] = true
		if !next[a.Component] {
			next[a.Component] = true
			a.After = w.awaited(st)
		}
		all = append(all, a)
	}
	return all
}

// awaited returns what else a step is waiting for.
func (w *route) awaited(st *planned) []string {
	var names []string
	for _, id := range st.After {
		before := &w.steps[w.byID[id]]
		if name := w.paths[before.path].component; !w.completed(before) && name != w.paths[st.path].component && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
