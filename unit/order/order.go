// Package order says what comes after what: which names are tied by dependencies,
// whether these lead in a circle, and what may be ended at the same time. It knows
// nothing of processes and starts no goroutine.
package order

import (
	"maps"
	"slices"
)

// Graph holds, by its name, what each comes after.
type Graph map[string][]string

// Cycle returns names of which each comes after the next, the first one again at the
// end; nil: there are none.
func (g Graph) Cycle() []string {
	const entered, left = 1, 2
	been := map[string]int{}
	var path []string
	var visit func(name string) []string
	visit = func(name string) []string {
		switch been[name] {
		case entered:
			return append(slices.Clone(path[slices.Index(path, name):]), name)
		case left:
			return nil
		}
		been[name] = entered
		path = append(path, name)
		for _, before := range g[name] {
			if cycle := visit(before); cycle != nil {
				return cycle
			}
		}
		path = path[:len(path)-1]
		been[name] = left
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(g)) {
		if cycle := visit(name); cycle != nil {
			return cycle
		}
	}
	return nil
}

// Reach returns names and everything that they come after, however indirectly.
func (g Graph) Reach(names ...string) map[string]bool {
	reached := map[string]bool{}
	for next := slices.Clone(names); len(next) > 0; {
		name := next[len(next)-1]
		next = next[:len(next)-1]
		if !reached[name] {
			reached[name] = true
			next = append(next, g[name]...)
		}
	}
	return reached
}

// Reversed returns the graph in which each name comes after what came after it.
func (g Graph) Reversed() Graph {
	r := Graph{}
	for _, name := range slices.Sorted(maps.Keys(g)) {
		for _, before := range g[name] {
			r[before] = append(r[before], name)
		}
	}
	return r
}

// Batches splits names into those that come at the same time: each as soon as
// what it comes after, among the names, is in an earlier batch, and of these the
// ones that rank puts first.
func (g Graph) Batches(names []string, rank func(a, b string) int) [][]string {
	var batches [][]string
	for waiting := slices.Clone(names); len(waiting) > 0; {
		pending := map[string]bool{}
		for _, name := range waiting {
			pending[name] = true
		}
		var batch []string
		for _, name := range waiting {
			if slices.ContainsFunc(g[name], func(before string) bool { return pending[before] }) {
				continue
			}
			switch {
			case len(batch) == 0 || rank(name, batch[0]) < 0:
				batch = []string{name}
			case rank(name, batch[0]) == 0:
				batch = append(batch, name)
			}
		}
		if len(batch) == 0 {
			batch = waiting // a cycle, which no configuration has
		}
		batches = append(batches, batch)
		for _, name := range batch {
			pending[name] = false
		}
		waiting = slices.DeleteFunc(slices.Clone(waiting), func(name string) bool { return !pending[name] })
	}
	return batches
}
