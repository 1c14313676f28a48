package config

import (
	"slices"
	"strings"

	"github.com/toskose/toskose/spec/protocol"
)

const (
	keyAfter    = "toskose_after"
	keyRequires = "toskose_requires"
)

// tie holds the ordering keys of a program. The names in them are resolved when all sections are
// read.
type tie struct {
	scope           scope
	program         string // its full name
	after, requires []string
}

// tie reads the keys of a program's order.
func (s *scope) tie(p *Program) {
	t := tie{*s, p.FullName(), s.list(keyAfter), s.list(keyRequires)}
	if len(t.after)+len(t.requires) == 0 {
		return
	}
	if p.Kind != protocol.KindNone {
		s.problem(t.key(), "%s cannot be combined with toskose_operation: operations run on request only", t.key())
		return
	}
	s.ties = append(s.ties, t)
}

// key is the one that a message about both is about.
func (t *tie) key() string {
	if len(t.after) > 0 {
		return keyAfter
	}
	return keyRequires
}

// resolveOrder finds the processes that programs are to be started after.
func (p *parser) resolveOrder() {
	if len(p.ties) == 0 {
		return
	}
	names, graph := p.processNames(), Graph{}
	for i := range p.ties {
		t := &p.ties[i]
		program := names.programs[t.program]
		if program == nil {
			continue // its name is a problem already
		}
		program.Requires = t.find(keyRequires, t.requires, names)
		program.After = slices.Concat(program.Requires, t.find(keyAfter, t.after, names))
		slices.Sort(program.After)
		program.After = slices.Compact(program.After)
		graph[t.program] = program.After
	}
	p.refuseCycles(graph)
}

// processNames are the names by which keys refer to processes.
type processNames struct {
	programs map[string]*Program // by full name
	named    map[string][]string // full names, by any name
}

// find returns the full names of the processes with a name: of a process, a program or a group.
func (n processNames) find(name string) ([]string, bool) {
	found, ok := n.named[name]
	return found, ok
}

func (p *parser) processNames() processNames {
	n := processNames{map[string]*Program{}, map[string][]string{}}
	sections := map[string][]string{}
	for _, g := range p.config.everyGroup() {
		for i := range g.Programs {
			program := &g.Programs[i]
			name := program.FullName()
			n.programs[name] = program
			n.named[name] = []string{name}
			sections[program.Section] = append(sections[program.Section], name)
			for _, all := range []string{g.Name, g.Name + ":", g.Name + ":*"} {
				n.named[all] = append(n.named[all], name)
			}
		}
	}
	for section, names := range sections {
		if _, isGroup := n.named[section]; !isGroup {
			n.named[section] = names
		}
	}
	return n
}

// everyGroup returns all groups, including the groups of event listeners.
func (c *Config) everyGroup() []*Group {
	var all []*Group
	for i := range c.Groups {
		all = append(all, &c.Groups[i])
	}
	for i := range c.Listeners {
		all = append(all, &c.Listeners[i].Group)
	}
	return all
}

// find returns the processes that a key names.
func (t *tie) find(key string, names []string, all processNames) []string {
	var found []string
	for _, name := range names {
		processes, ok := all.find(name)
		if !ok {
			t.scope.problem(key, "%s names %q, which is not a program or a group", key, name)
			continue
		}
		for _, process := range processes {
			if all.programs[process].Kind != protocol.KindNone {
				t.scope.problem(key, "%s names %q, but %s is an operation, which runs on request only", key, name, process)
				continue
			}
			found = append(found, process)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// refuseCycles reports programs that would wait for each other.
func (p *parser) refuseCycles(graph Graph) {
	for cycle := graph.Cycle(); cycle != nil; cycle = graph.Cycle() {
		for i := range p.ties {
			if t := &p.ties[i]; t.program == cycle[0] {
				t.scope.problem(t.key(), "%s makes a cycle: %s", t.key(), strings.Join(cycle, " after "))
			}
		}
		delete(graph, cycle[0]) // and look for others
	}
}
