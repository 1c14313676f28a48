package unit

import (
	"cmp"
	"context"
	"errors"
	"reflect"
	"slices"
	"sort"

	"github.com/toskose/toskose/unit/config"
	"github.com/toskose/toskose/unit/logs"
	"github.com/toskose/toskose/unit/wire"
)

// ReloadConfig reads the configuration again and tells which groups differ from
// what is in use. What takes no restart is applied at once to the processes
// that need none; everything else waits for AddProcessGroup and
// RemoveProcessGroup. A configuration with problems, or one whose protocols do
// not know the state that a component is in, is the fault CantReread and
// changes nothing.
func (u *Unit) ReloadConfig(_ context.Context) (Reloaded, error) {
	if err := u.serving(); err != nil {
		return Reloaded{}, err
	}
	if u.reread == nil {
		return Reloaded{}, wire.NewFault(wire.CantReread, "this unit has no configuration file")
	}
	u.rereading.Lock()
	defer u.rereading.Unlock()
	c, warnings, err := u.reread()
	if err != nil {
		return Reloaded{}, wire.NewFault(wire.CantReread, err.Error())
	}
	after := arrangements(c)
	u.arranging.Lock()
	defer u.arranging.Unlock()
	if err := u.fits(after); err != nil {
		return Reloaded{}, wire.NewFault(wire.CantReread, err.Error())
	}
	for _, w := range warnings {
		u.log.Warn("configuration", "warning", w.String())
	}
	u.warnOfRest(c)
	u.available = after
	u.adjust(after)
	found := differences(u.inUse(), after)
	u.log.Info("configuration read", "added", found.Added, "changed", found.Changed, "removed", found.Removed)
	return found, nil
}

// fits gives every reason why the components cannot have these protocols.
func (u *Unit) fits(after []arrangement) error {
	var errs []error
	for _, a := range after {
		if a.component != nil {
			errs = append(errs, u.ledger.fits(a.component.Name, lifecycle{protocol: a.component.Protocol}))
		}
	}
	return errors.Join(errs...)
}

// warnOfRest says what only a restart of the unit applies.
func (u *Unit) warnOfRest(c *config.Config) {
	before, after := u.config.Supervisord, c.Supervisord
	before.Environment, after.Environment = nil, nil // part of each program's
	for section, same := range map[string]bool{
		"supervisord":      reflect.DeepEqual(before, after),
		"inet_http_server": reflect.DeepEqual(u.config.Inet, c.Inet),
		"unix_http_server": reflect.DeepEqual(u.config.Unix, c.Unix),
	} {
		if !same {
			u.log.Warn("the section changed, which takes a restart of the unit", "section", section)
		}
	}
}

// inUse gives the groups as they are in use.
func (u *Unit) inUse() []arrangement {
	var all []arrangement
	for _, g := range u.names.every() {
		all = append(all, g.arrangement())
	}
	return all
}

// arrangement is the group's configuration in use.
func (g group) arrangement() arrangement {
	a := arrangement{group: config.Group{Name: g.name, Priority: g.priority}, component: g.component, listener: g.listener}
	for _, p := range g.programs {
		a.group.Programs = append(a.group.Programs, *p.settings())
	}
	return a
}

// named gives the group's programs of these names.
func (g group) named(names ...[]string) []*program {
	wanted := slices.Concat(names...)
	return slices.DeleteFunc(slices.Clone(g.programs), func(p *program) bool { return !slices.Contains(wanted, p.cfg.Name) })
}

// adjust applies what takes no restart: to groups their priority, to processes
// that are kept what is not rigid.
func (u *Unit) adjust(after []arrangement) {
	groups := slices.Clone(u.names.every())
	for i, g := range groups {
		want, ok := arranged(after, g.name)
		if !ok {
			continue
		}
		kept := between(g.arrangement(), want).kept
		for j := range want.group.Programs {
			cfg := &want.group.Programs[j]
			if !slices.Contains(kept, cfg.Name) {
				continue
			}
			for _, p := range g.named([]string{cfg.Name}) {
				p.live.Store(cfg)
				p.limitLogs()
			}
		}
		groups[i].priority = want.group.Priority
		groups[i].programs = inStartOrder(g.programs)
	}
	u.names.replace(byPriority(groups))
}

func inStartOrder(programs []*program) []*program {
	programs = slices.Clone(programs)
	sort.SliceStable(programs, func(i, j int) bool {
		a, b := programs[i], programs[j]
		return cmp.Or(cmp.Compare(a.settings().Priority, b.settings().Priority), cmp.Compare(a.cfg.Name, b.cfg.Name)) < 0
	})
	return programs
}

func byPriority(groups []group) []group {
	sort.SliceStable(groups, func(i, j int) bool {
		a, b := &groups[i], &groups[j]
		return a.priority < b.priority || a.priority == b.priority && a.name < b.name
	})
	return groups
}

// limitLogs makes the logs rotate as configured. Where both streams share a
// log, stdout's configuration counts.
func (p *program) limitLogs() {
	c := p.settings()
	if p.stderrLog != nil {
		p.stderrLog.Limit(logs.Options{MaxBytes: c.Stderr.MaxBytes, Backups: c.Stderr.Backups})
	}
	if p.stdoutLog != nil {
		p.stdoutLog.Limit(logs.Options{MaxBytes: c.Stdout.MaxBytes, Backups: c.Stdout.Backups})
	}
}
