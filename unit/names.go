package unit

import (
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/toskose/toskose/unit/config"
	"github.com/toskose/toskose/unit/events"
	"github.com/toskose/toskose/unit/wire"
)

// group is a group of processes, in the order in which they are started. It
// never changes: another one takes its place.
type group struct {
	name      string
	priority  int
	component *config.Component // of that name; nil: there is none
	listener  *config.Listener  // nil: its processes are no event listeners
	pool      *events.Pool      // of the event listener
	programs  []*program
}

// operations gives the programs of the component's operations by
// "interface.operation", nil for those that are not implemented.
func (g group) operations() map[string]*program {
	operations := map[string]*program{}
	if g.component.Protocol != nil {
		for _, t := range g.component.Protocol.Transitions {
			operations[t.Operation] = nil
		}
	}
	for _, p := range g.programs {
		if p.cfg.Kind != wire.OperationNone {
			operations[p.cfg.Qualified()] = p
		}
	}
	return operations
}

// lifecycle gives the component's.
func (g group) lifecycle() lifecycle {
	life := lifecycle{protocol: g.component.Protocol, has: map[string]bool{}}
	for operation, p := range g.operations() {
		if p != nil {
			life.has[operation] = true
		}
	}
	return life
}

// directory finds processes and operations by the names that clients use. What
// it has given stays as it was when a reload changes it.
type directory struct {
	mu         sync.RWMutex
	groups     []group                        // replaced as a whole
	components map[string]map[string]*program // by component, then "interface.operation"; nil: not implemented
}

// replace puts other groups in the place of all.
func (d *directory) replace(groups []group) {
	components := map[string]map[string]*program{}
	for _, g := range groups {
		if g.component != nil {
			components[g.name] = g.operations()
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.groups, d.components = groups, components
}

// every gives all groups in the order in which they are started.
func (d *directory) every() []group {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.groups
}

// openers gives the programs of a component whose kind is start.
func (d *directory) openers(component string) []*program {
	g, err := d.whole(component)
	if err != nil {
		return nil
	}
	var openers []*program
	for _, p := range g.programs {
		if p.cfg.Component == component && p.cfg.Kind == wire.OperationStart {
			openers = append(openers, p)
		}
	}
	return openers
}

// namespec finds what a name means: `p` is process p of group p, `g:p` a
// member, `g:*` and `g:` the whole group (p is nil then). A member is also
// found by its "interface.operation".
func (d *directory) namespec(name string) (*group, *program, error) {
	groupName, processName, ok := strings.Cut(name, ":")
	if !ok {
		processName = name
	}
	g, err := d.whole(groupName)
	if err != nil {
		return nil, nil, wire.NewFault(wire.BadName, name)
	}
	if processName == "" || processName == "*" {
		return g, nil, nil
	}
	for _, p := range g.programs {
		if p.cfg.Name == processName {
			return g, p, nil
		}
	}
	for _, p := range g.programs {
		if p.cfg.Operation != "" && p.cfg.Qualified() == processName {
			return g, p, nil
		}
	}
	return nil, nil, wire.NewFault(wire.BadName, name)
}

// hosts tells whether a component is in use.
func (d *directory) hosts(component string) bool {
	d.mu.RLock()
	defer d.mu.RUnlock()
	_, ok := d.components[component]
	return ok
}

// one finds a single process; the name of a whole group is a fault.
func (d *directory) one(name string) (*program, error) {
	_, p, err := d.namespec(name)
	if err == nil && p == nil {
		err = wire.NewFault(wire.BadName, name)
	}
	return p, err
}

// whole finds a group by its bare name.
func (d *directory) whole(name string) (*group, error) {
	groups := d.every()
	for i := range groups {
		if groups[i].name == name {
			return &groups[i], nil
		}
	}
	return nil, wire.NewFault(wire.BadName, name)
}

// all gives every process by group and name.
func (d *directory) all() []*program {
	var all []*program
	for _, g := range d.every() {
		all = append(all, g.programs...)
	}
	sort.SliceStable(all, func(i, j int) bool {
		a, b := all[i].cfg, all[j].cfg
		return a.Group < b.Group || a.Group == b.Group && a.Name < b.Name
	})
	return all
}

// inOrder gives every process in the order in which they are started.
func (d *directory) inOrder() []*program {
	var all []*program
	for _, g := range d.every() {
		all = append(all, g.programs...)
	}
	return all
}

// operation finds an operation by "interface.operation", or by its bare name
// where only one interface of the component has it.
func (d *directory) operation(component, name string) (qualified string, p *program, err error) {
	d.mu.RLock()
	operations, ok := d.components[component]
	d.mu.RUnlock()
	if !ok {
		return "", nil, wire.NewFault(wire.BadName, fmt.Sprintf("no component is named %q", component))
	}
	if p, ok := operations[name]; ok {
		return name, p, nil
	}
	var found []string
	for _, qualified := range slices.Sorted(maps.Keys(operations)) {
		if bare(qualified) == name {
			found = append(found, qualified)
		}
	}
	switch len(found) {
	case 0:
		return "", nil, wire.NewFault(wire.BadName, fmt.Sprintf("%s has no operation %q", component, name))
	case 1:
		return found[0], operations[found[0]], nil
	}
	return "", nil, wire.NewFault(wire.BadName, fmt.Sprintf(
		"%q is an operation of several interfaces of %s: %s", name, component, strings.Join(found, ", ")))
}

// split takes "interface.operation" apart.
func split(operation string) (interfaceName, name string) {
	interfaceName, name, ok := strings.Cut(operation, ".")
	if !ok {
		return "", operation
	}
	return interfaceName, name
}

// names gives a map's keys, sorted.
func names(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

// qualify gives an execution's operation as "interface.operation".
func qualify(x wire.Execution) string {
	if x.Interface == "" {
		return x.Operation
	}
	return x.Interface + "." + x.Operation
}
