package unit

import (
	"cmp"
	"context"
	"errors"
	"reflect"
	"slices"

	"github.com/toskose/toskose/unit/config"
	"github.com/toskose/toskose/unit/process"
	"github.com/toskose/toskose/unit/wire"
)

// ReloadConfig reads the configuration again and returns the groups that differ from those in use.
// It applies settings that require no restart at once; AddProcessGroup and RemoveProcessGroup apply
// the rest. A configuration with problems, or with a protocol that lacks the current state of its
// component, is the fault CantReread and changes nothing.
func (u *Groups) ReloadConfig(_ context.Context) (Differences, error) {
	if err := u.serving(); err != nil {
		return Differences{}, err
	}
	if u.reread == nil {
		return Differences{}, wire.NewFault(wire.CantReread, "this unit has no configuration file")
	}
	u.rereading.Lock()
	defer u.rereading.Unlock()
	c, warnings, err := u.reread()
	if err != nil {
		return Differences{}, wire.NewFault(wire.CantReread, err.Error())
	}
	after := groupConfigs(c)
	u.changing.Lock()
	defer u.changing.Unlock()
	if err := u.fits(after); err != nil {
		return Differences{}, wire.NewFault(wire.CantReread, err.Error())
	}
	for _, w := range warnings {
		u.log.Warn("configuration", "warning", w.String())
	}
	u.warnOfSections(c)
	u.available = after
	u.applyLiveSettings(after)
	if u.digest.Swap(c.Digest) != c.Digest {
		u.components.Reloaded("the configuration was read again")
	}
	found := differences(u.inUse(), after)
	u.log.Info("configuration read", "added", found.Added, "changed", found.Changed, "removed", found.Removed)
	return found, nil
}

// fits returns all reasons why the components cannot use the new protocols.
func (u *Groups) fits(after []*groupConfig) error {
	var errs []error
	for _, a := range after {
		if a.component != nil {
			errs = append(errs, u.components.Fits(a.component.Name, a.component.Protocol))
		}
	}
	return errors.Join(errs...)
}

// warnOfSections logs changed sections that require a restart of the unit.
func (u *Groups) warnOfSections(c *config.Config) {
	before, after := u.config.Supervisord, c.Supervisord
	before.Environment, after.Environment = nil, nil // part of each program's
	for section, same := range map[string]bool{
		"supervisord":      reflect.DeepEqual(before, after),
		"inet_http_server": reflect.DeepEqual(u.config.Inet, c.Inet),
		"unix_http_server": reflect.DeepEqual(u.config.Unix, c.Unix),
	} {
		if !same {
			u.log.Warn("the section changed, which requires a restart of the unit", "section", section)
		}
	}
}

// inUse returns the configurations of the groups in use.
func (u *Groups) inUse() []*groupConfig {
	var all []*groupConfig
	for _, g := range u.names.allGroups() {
		all = append(all, g.config())
	}
	return all
}

// config returns the group's configuration in use.
func (g *group) config() *groupConfig {
	a := &groupConfig{group: config.Group{Name: g.name, Priority: g.priority}, component: g.component, listener: g.listener}
	for _, p := range g.programs {
		a.group.Programs = append(a.group.Programs, *p.Settings())
	}
	return a
}

// programsNamed returns the group's programs with the given names.
func (g *group) programsNamed(names ...[]string) []*process.Program {
	wanted := slices.Concat(names...)
	return slices.DeleteFunc(slices.Clone(g.programs), func(p *process.Program) bool { return !slices.Contains(wanted, p.Config().Name) })
}

// applyLiveSettings applies settings that require no restart: the priority of groups, and the
// settings of kept processes that are not in restartSettings.
func (u *Groups) applyLiveSettings(after []*groupConfig) {
	groups := slices.Clone(u.names.allGroups())
	for i, g := range groups {
		want := configOf(after, g.name)
		if want == nil {
			continue
		}
		kept := compareGroups(g.config(), want).kept
		for j := range want.group.Programs {
			cfg := &want.group.Programs[j]
			if !slices.Contains(kept, cfg.Name) {
				continue
			}
			for _, p := range g.programsNamed([]string{cfg.Name}) {
				p.Configure(cfg)
			}
		}
		adjusted := *g
		adjusted.priority, adjusted.programs = want.group.Priority, inStartOrder(g.programs)
		groups[i] = &adjusted
	}
	u.names.replace(byPriority(groups))
	u.programs.Notify()
}

func inStartOrder(programs []*process.Program) []*process.Program {
	programs = slices.Clone(programs)
	slices.SortStableFunc(programs, func(a, b *process.Program) int {
		return cmp.Or(cmp.Compare(a.Settings().Priority, b.Settings().Priority), cmp.Compare(a.Config().Name, b.Config().Name))
	})
	return programs
}

func byPriority(groups []*group) []*group {
	slices.SortStableFunc(groups, func(a, b *group) int {
		return cmp.Or(cmp.Compare(a.priority, b.priority), cmp.Compare(a.name, b.name))
	})
	return groups
}
