package config

import (
	"maps"
	"slices"
)

// Graph maps each name to the names that it depends on.
type Graph map[string][]string

// Cycle returns a dependency cycle, with its first name repeated at the end, or nil if
// there is none.
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

// Reach returns the names and all their transitive dependencies.
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

// Reversed returns the graph with every edge reversed.
func (g Graph) Reversed() Graph {
	r := Graph{}
	for _, name := range slices.Sorted(maps.Keys(g)) {
		for _, before := range g[name] {
			r[before] = append(r[before], name)
		}
	}
	return r
}

// Batches splits the names into batches to be processed in turn. A batch holds the names
// whose dependencies are all in earlier batches and, of these, the ones that rank puts first.
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
