package unit

import (
	"reflect"
	"slices"
	"sort"

	"github.com/toskose/toskose/unit/config"
)

// arrangement is a group as a configuration has it, with the component of that
// name, if there is one: protocol and programs come into use together, so that
// no operation is ever taken for one without an implementation.
type arrangement struct {
	group     config.Group
	component *config.Component
	listener  *config.Listener // nil: its processes are no event listeners
}

// arrangements gives the groups of a configuration in the order in which they
// are started. A component without programs is a group without processes.
func arrangements(c *config.Config) []arrangement {
	all := make([]arrangement, 0, len(c.Groups))
	for _, g := range c.Groups {
		all = append(all, arrangement{group: g})
	}
	for i := range c.Listeners {
		all = append(all, arrangement{group: c.Listeners[i].Group, listener: &c.Listeners[i]})
	}
	for i := range c.Components {
		component := &c.Components[i]
		at := slices.IndexFunc(all, func(a arrangement) bool { return a.group.Name == component.Name })
		if at < 0 {
			all = append(all, arrangement{group: config.Group{Name: component.Name, Priority: 999}, component: component})
			continue
		}
		all[at].component = component
	}
	sort.SliceStable(all, func(i, j int) bool {
		a, b := &all[i].group, &all[j].group
		return a.Priority < b.Priority || a.Priority == b.Priority && a.Name < b.Name
	})
	return all
}

// arranged finds a group by its name.
func arranged(all []arrangement, name string) (arrangement, bool) {
	i := slices.IndexFunc(all, func(a arrangement) bool { return a.group.Name == name })
	if i < 0 {
		return arrangement{}, false
	}
	return all[i], true
}

// subscription is what makes the group's processes event listeners, nil: they
// are none.
func (a arrangement) subscription() *config.Listener {
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
func between(before, after arrangement) change {
	c := change{
		protocol: !reflect.DeepEqual(before.component, after.component),
		pool:     !reflect.DeepEqual(before.subscription(), after.subscription()),
	}
	for _, p := range before.group.Programs {
		i := slices.IndexFunc(after.group.Programs, func(q config.Program) bool { return q.Name == p.Name })
		switch {
		case i < 0:
			c.removed = append(c.removed, p.Name)
		case !c.pool && reflect.DeepEqual(rigid(p), rigid(after.group.Programs[i])):
			c.kept = append(c.kept, p.Name)
		default:
			c.replaced = append(c.replaced, p.Name)
		}
	}
	for _, p := range after.group.Programs {
		if !slices.ContainsFunc(before.group.Programs, func(q config.Program) bool { return q.Name == p.Name }) {
			c.added = append(c.added, p.Name)
		}
	}
	return c
}

// none tells that nothing has to come into use.
func (c change) none() bool {
	return !c.protocol && !c.pool && len(c.replaced)+len(c.removed)+len(c.added) == 0
}

// whole tells that no process of the group could go on.
func (c change) whole() bool { return len(c.kept) == 0 && len(c.replaced)+len(c.removed) > 0 }

// rigid is what of a process's configuration only a start of it can change.
// The rest, which the package documentation lists, is left out: it may change
// while the process runs. What this function does not name is rigid.
func rigid(p config.Program) config.Program {
	p.Section, p.Number, p.Priority = "", 0, 0
	p.Autostart, p.Autorestart, p.ExitCodes = false, "", nil
	p.StartSecs, p.StartRetries = 0, 0
	p.StopSignal, p.StopWaitSecs, p.StopAsGroup, p.KillAsGroup = 0, 0, false, false
	p.Inputs, p.SecretInputs, p.SecretEnv, p.Timeout = nil, nil, nil, 0
	for _, l := range []*config.Log{&p.Stdout, &p.Stderr} {
		l.MaxBytes, l.Backups, l.CaptureMaxBytes, l.Syslog = 0, 0, 0, false
	}
	return p
}

// Reloaded is what a reload found, as names of groups.
type Reloaded struct {
	Added   []string // to be added; those that are in use already keep the processes that did not change
	Changed []string // to be stopped, removed and added
	Removed []string // to be stopped and removed
}

// differences is what a reload finds. A group that could keep some of its
// processes is not among the changed ones, whose clients stop all of it.
func differences(before, after []arrangement) Reloaded {
	r := Reloaded{Added: []string{}, Changed: []string{}, Removed: []string{}}
	for _, a := range after {
		b, inUse := arranged(before, a.group.Name)
		c := between(b, a)
		switch {
		case !inUse:
			r.Added = append(r.Added, a.group.Name)
		case c.none():
		case c.whole():
			r.Changed = append(r.Changed, a.group.Name)
		default:
			r.Added = append(r.Added, a.group.Name)
		}
	}
	for _, b := range before {
		if _, ok := arranged(after, b.group.Name); !ok {
			r.Removed = append(r.Removed, b.group.Name)
		}
	}
	return r
}
