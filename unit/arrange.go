package unit

import (
	"cmp"
	"reflect"
	"slices"

	"github.com/toskose/toskose/unit/config"
)

// groupConfig is a group as a configuration has it, with the component of that
// name, if there is one: protocol and programs come into use together, so that
// no operation is ever taken for one without an implementation.
type groupConfig struct {
	group     config.Group
	component *config.Component
	listener  *config.Listener // nil: its processes are not event listeners
}

// groupConfigs returns the groups of a configuration in the order in which they
// are started. A component without programs is a group without processes.
func groupConfigs(c *config.Config) []*groupConfig {
	all := make([]*groupConfig, 0, len(c.Groups))
	for _, g := range c.Groups {
		all = append(all, &groupConfig{group: g})
	}
	for i := range c.Listeners {
		all = append(all, &groupConfig{group: c.Listeners[i].Group, listener: &c.Listeners[i]})
	}
	for i := range c.Components {
		component := &c.Components[i]
		if a := configOf(all, component.Name); a != nil {
			a.component = component
			continue
		}
		all = append(all, &groupConfig{group: config.Group{Name: component.Name, Priority: 999}, component: component})
	}
	slices.SortStableFunc(all, func(a, b *groupConfig) int {
		return cmp.Or(cmp.Compare(a.group.Priority, b.group.Priority), cmp.Compare(a.group.Name, b.group.Name))
	})
	return all
}

// configOf finds a group by its name; nil: there is none.
func configOf(all []*groupConfig, name string) *groupConfig {
	for _, a := range all {
		if a.group.Name == name {
			return a
		}
	}
	return nil
}

// program finds a program of the group by its name; nil: there is none.
func (a *groupConfig) program(name string) *config.Program {
	for i := range a.group.Programs {
		if p := &a.group.Programs[i]; p.Name == name {
			return p
		}
	}
	return nil
}

// subscription is what makes the group's processes event listeners, nil: they
// are not.
func (a *groupConfig) subscription() *config.Listener {
	if a.listener == nil {
		return nil
	}
	l := *a.listener
	l.Group = config.Group{}
	return &l
}

// change is what becomes of a group's processes when another configuration of
// it comes into use, by their names.
type change struct {
	kept     []string // run on; what differs, if anything, takes no restart
	replaced []string
	removed  []string
	added    []string
	protocol bool // the component's protocol differs
	pool     bool // what is told to event listeners differs, or whether they are any
}

// between compares two configurations of a group.
func between(before, after *groupConfig) change {
	c := change{
		protocol: !reflect.DeepEqual(before.component, after.component),
		pool:     !reflect.DeepEqual(before.subscription(), after.subscription()),
	}
	for i := range before.group.Programs {
		was := &before.group.Programs[i]
		switch is := after.program(was.Name); {
		case is == nil:
			c.removed = append(c.removed, was.Name)
		case !c.pool && reflect.DeepEqual(rigid(was), rigid(is)):
			c.kept = append(c.kept, was.Name)
		default:
			c.replaced = append(c.replaced, was.Name)
		}
	}
	for i := range after.group.Programs {
		if name := after.group.Programs[i].Name; before.program(name) == nil {
			c.added = append(c.added, name)
		}
	}
	return c
}

// none reports that nothing has to come into use.
func (c change) none() bool {
	return !c.protocol && !c.pool && len(c.replaced)+len(c.removed)+len(c.added) == 0
}

// whole reports that no process of the group could go on.
func (c change) whole() bool { return len(c.kept) == 0 && len(c.replaced)+len(c.removed) > 0 }

// rigid is what of a process's configuration only a start of it can change.
// The rest, which the package documentation lists, is left out: it may change
// while the process runs. What this function does not name is rigid.
func rigid(cfg *config.Program) *config.Program {
	p := *cfg
	p.Section, p.Number, p.Priority = "", 0, 0
	p.Autostart, p.Autorestart, p.ExitCodes = false, "", nil
	p.StartSecs, p.StartRetries = 0, 0
	p.StopSignal, p.StopWaitSecs, p.StopAsGroup, p.KillAsGroup = 0, 0, false, false
	p.After, p.Requires = nil, nil
	p.Inputs, p.SecretInputs, p.SecretEnv, p.Timeout = nil, nil, nil, 0
	for _, l := range []*config.Log{&p.Stdout, &p.Stderr} {
		l.MaxBytes, l.Backups = 0, 0
	}
	return &p
}

// Differences are what a reload found, as names of groups.
type Differences struct {
	Added   []string // to be added; those that are in use already keep the processes that did not change
	Changed []string // to be stopped, removed and added
	Removed []string // to be stopped and removed
}

// differences is what a reload finds. A group that could keep some of its
// processes is not among the changed ones, whose clients stop all of it.
func differences(before, after []*groupConfig) Differences {
	r := Differences{Added: []string{}, Changed: []string{}, Removed: []string{}}
	for _, a := range after {
		b := configOf(before, a.group.Name)
		if b == nil {
			r.Added = append(r.Added, a.group.Name)
			continue
		}
		switch c := between(b, a); {
		case c.none():
		case c.whole():
			r.Changed = append(r.Changed, a.group.Name)
		default:
			r.Added = append(r.Added, a.group.Name)
		}
	}
	for _, b := range before {
		if configOf(after, b.group.Name) == nil {
			r.Removed = append(r.Removed, b.group.Name)
		}
	}
	return r
}
