package unit

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/toskose/toskose/unit/component"
	"github.com/toskose/toskose/unit/config"
	"github.com/toskose/toskose/unit/events"
	"github.com/toskose/toskose/unit/process"
	"github.com/toskose/toskose/unit/wire"
)

// group is a group of processes, in starting order. It is immutable; a change replaces it.
type group struct {
	name      string
	priority  int
	component *config.Component // with the same name; may be nil
	listener  *config.Listener  // nil unless its processes are event listeners
	pool      *events.Pool      // of the event listener
	programs  []*process.Program
}

// definition returns the definition of the group's component.
func (g *group) definition() component.Definition {
	return component.Definition{Protocol: g.component.Protocol, Programs: g.programs}
}

// directory finds processes and operations by the names that clients use. Its results do not change
// when a reload replaces the groups.
type directory struct {
	mu     sync.RWMutex
	groups []*group // replaced as a whole
	byName map[string]*process.Program
}

// replace replaces all groups.
func (d *directory) replace(groups []*group) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.groups = groups
	d.byName = map[string]*process.Program{}
	for _, g := range groups {
		for _, p := range g.programs {
			d.byName[p.Name()] = p
		}
	}
}

// process returns the process with a full name, or nil.
func (d *directory) process(name string) *process.Program {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.byName[name]
}

// allGroups returns all groups in starting order.
func (d *directory) allGroups() []*group {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.groups
}

// namespec resolves a name: `p` is process p of group p, `g:p` a member, `g:*` and `g:` the whole
// group (then p is nil). A member is also found by its "interface.operation".
func (d *directory) namespec(name string) (*group, *process.Program, error) {
	groupName, processName, ok := strings.Cut(name, ":")
	if !ok {
		processName = name
	}
	g, err := d.groupNamed(groupName)
	if err != nil {
		return nil, nil, wire.NewFault(wire.BadName, name)
	}
	if processName == "" || processName == "*" {
		return g, nil, nil
	}
	for _, p := range g.programs {
		if p.Config().Name == processName {
			return g, p, nil
		}
	}
	for _, p := range g.programs {
		if p.Config().Operation.String() == processName {
			return g, p, nil
		}
	}
	return nil, nil, wire.NewFault(wire.BadName, name)
}

// single resolves the name of a single process; the name of a whole group is a fault.
func (d *directory) single(name string) (*process.Program, error) {
	_, p, err := d.namespec(name)
	if err == nil && p == nil {
		err = wire.NewFault(wire.BadName, name)
	}
	return p, err
}

// groupNamed returns the group with a bare name.
func (d *directory) groupNamed(name string) (*group, error) {
	for _, g := range d.allGroups() {
		if g.name == name {
			return g, nil
		}
	}
	return nil, wire.NewFault(wire.BadName, name)
}

// all returns every process by group and name.
func (d *directory) all() []*process.Program {
	var all []*process.Program
	for _, g := range d.allGroups() {
		all = append(all, g.programs...)
	}
	slices.SortFunc(all, func(a, b *process.Program) int {
		return cmp.Or(cmp.Compare(a.Config().Group, b.Config().Group), cmp.Compare(a.Config().Name, b.Config().Name))
	})
	return all
}

// inOrder returns every process in starting order.
func (d *directory) inOrder() []*process.Program {
	var all []*process.Program
	for _, g := range d.allGroups() {
		all = append(all, g.programs...)
	}
	return all
}
