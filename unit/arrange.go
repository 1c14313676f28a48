package unit

import (
	"cmp"
	"reflect"
	"slices"

	"github.com/toskose/toskose/unit/config"
)

// groupConfig is the configuration of a group and of the component with the same name, if any.
// Protocol and programs are put in use together, so that an operation is never found without its
// implementation.
type groupConfig struct {
	group     config.Group
	component *config.Component
	listener  *config.Listener // nil unless its processes are event listeners
}

// groupConfigs returns the groups of a configuration in starting order. A component without
// programs is a group without processes.
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

// configOf returns the group with a name, or nil.
func configOf(all []*groupConfig, name string) *groupConfig {
	for _, a := range all {
		if a.group.Name == name {
			return a
		}
	}
	return nil
}

// program returns the group's program with a name, or nil.
func (a *groupConfig) program(name string) *config.Program {
	for i := range a.group.Programs {
		if p := &a.group.Programs[i]; p.Name == name {
			return p
		}
	}
	return nil
}

// subscription returns the event listener settings that its processes depend on, or nil.
func (a *groupConfig) subscription() *config.Listener {
	if a.listener == nil {
		return nil
	}
	l := *a.listener
	l.Group = config.Group{}
	return &l
}

// change lists what happens to the processes of a group, by name, when another configuration is put
// in use.
type change struct {
	kept     []string // continue to run; differences, if any, require no restart
	replaced []string
	removed  []string
	added    []string
	protocol bool // the component's protocol differs
	pool     bool // the event listener settings differ
}

// compareGroups compares two configurations of a group.
func compareGroups(before, after *groupConfig) change {
	c := change{
		protocol: !reflect.DeepEqual(before.component, after.component),
		pool:     !reflect.DeepEqual(before.subscription(), after.subscription()),
	}
	for i := range before.group.Programs {
		was := &before.group.Programs[i]
		switch is := after.program(was.Name); {
		case is == nil:
			c.removed = append(c.removed, was.Name)
		case !c.pool && reflect.DeepEqual(restartSettings(was), restartSettings(is)):
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

// isEmpty reports whether there is nothing to change.
func (c change) isEmpty() bool {
	return !c.protocol && !c.pool && len(c.replaced)+len(c.removed)+len(c.added) == 0
}

// affectsAll reports whether no process of the group can continue.
func (c change) affectsAll() bool { return len(c.kept) == 0 && len(c.replaced)+len(c.removed) > 0 }

// restartSettings returns the settings of a process that only a restart applies, by clearing all
// others; the package documentation lists those. A setting that is not named here requires a
// restart.
func restartSettings(cfg *config.Program) *config.Program {
	p := *cfg
	p.Section, p.Number, p.Priority = "", 0, 0
	p.Autostart, p.Autorestart, p.ExitCodes = false, "", nil
	p.StartSecs, p.StartRetries = 0, 0
	p.StopSignal, p.StopWaitSecs, p.StopAsGroup, p.KillAsGroup = 0, 0, false, false
	p.After, p.AfterExit, p.Requires = nil, nil, nil
	p.Inputs, p.SecretInputs, p.SecretEnv, p.Timeout = nil, nil, nil, 0
	for _, l := range []*config.Log{&p.Stdout, &p.Stderr} {
		l.MaxBytes, l.Backups = 0, 0
	}
	return &p
}

// Differences are the results of a reload, as names of groups.
type Differences struct {
	Added   []string // to be added; groups in use keep their unchanged processes
	Changed []string // to be stopped, removed and added
	Removed []string // to be stopped and removed
}

// differences compares all groups. A group that can keep some of its processes is not among the
// changed ones, which clients stop entirely.
func differences(before, after []*groupConfig) Differences {
	r := Differences{Added: []string{}, Changed: []string{}, Removed: []string{}}
	for _, a := range after {
		b := configOf(before, a.group.Name)
		if b == nil {
			r.Added = append(r.Added, a.group.Name)
			continue
		}
		switch c := compareGroups(b, a); {
		case c.isEmpty():
		case c.affectsAll():
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
