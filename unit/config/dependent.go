package config

import (
	"slices"
	"strings"
)

// The keys of supervisord-dependent-startup, a plugin that starts programs in the order of their
// dependencies. The unit reads them as toskose_after, and does not run the plugin.
const (
	keyDependent     = "dependent_startup"
	keyWaitFor       = "dependent_startup_wait_for"
	keyInherit       = "dependent_startup_inherit_priority"
	dependentStartup = "supervisord_dependent_startup" // the module of its event listener
)

// dependent holds the plugin's keys of a program. The names in them are resolved when all sections
// are read.
type dependent struct {
	scope   scope
	program string // its full name
	after   []waitFor
}

// waitFor is a program or group that another one waits for.
type waitFor struct {
	name   string
	exited bool // until it has exited; else until it is RUNNING
}

// dependent reads the plugin's keys.
func (s *scope) dependent(p *Program) {
	s.accept(keyInherit)
	text := s.textOr(keyWaitFor, "")
	if !s.boolean(keyDependent, false) {
		return
	}
	d := dependent{scope: *s, program: p.FullName()}
	for _, word := range strings.Fields(text) {
		w := waitFor{name: word}
		if at := strings.LastIndexByte(word, ':'); at > 0 {
			states := strings.Split(strings.ToLower(word[at+1:]), ",")
			w = waitFor{name: word[:at], exited: slices.Contains(states, "exited") && !slices.Contains(states, "running")}
		}
		d.after = append(d.after, w)
	}
	s.dependents = append(s.dependents, d)
}

// resolveDependent makes programs with the plugin's keys start automatically, each after those that
// it waits for, if an event listener runs the plugin. As in supervisord, no error in these keys
// prevents the start of the unit.
func (p *parser) resolveDependent() {
	if len(p.dependents) == 0 {
		return
	}
	if !p.replaceDependentStartup() {
		d := p.dependents[0]
		d.scope.warn(keyDependent, "%s has no effect: no [eventlistener:x] runs the plugin %s", keyDependent, dependentStartup)
		return
	}
	names, graph := p.processNames(), Graph{}
	for i := range p.dependents {
		d := &p.dependents[i]
		program := names.programs[d.program]
		if program == nil {
			continue // its name is a problem already
		}
		program.Autostart = true
		for _, w := range d.after {
			processes, ok := names.find(w.name)
			if !ok {
				d.scope.warn(keyWaitFor, "%s names %q, which is not a program or a group", keyWaitFor, w.name)
			}
			program.After = append(program.After, processes...)
			if w.exited {
				program.AfterExit = append(program.AfterExit, processes...)
			}
		}
		slices.Sort(program.After)
		program.After = slices.Compact(program.After)
		graph[d.program] = program.After
		if cycle := graph.Cycle(); cycle != nil {
			d.scope.warn(keyWaitFor, "%s makes a cycle, so the program does not wait: %s", keyWaitFor, strings.Join(cycle, " after "))
			delete(graph, d.program)
			program.After, program.AfterExit = nil, nil
		}
	}
}

// replaceDependentStartup makes the event listeners that run the plugin start on request only, and
// reports whether there are any.
func (p *parser) replaceDependentStartup() (found bool) {
	for i := range p.config.Listeners {
		l := &p.config.Listeners[i]
		for j := range l.Programs {
			if program := &l.Programs[j]; strings.Contains(program.Command, dependentStartup) {
				found, program.Autostart = true, false
				if sec := p.doc.sections["eventlistener:"+program.Section]; sec != nil {
					p.report.warn(sec.file, sec.line, "[%s] is not started: the unit itself starts the programs with %s in their order", sec.name, keyDependent)
				}
			}
		}
	}
	return found
}
