package unit

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"syscall"

	"github.com/toskose/toskose/unit/process"
	"github.com/toskose/toskose/unit/wire"
)

// ProcessInfo implements supervisor.getProcessInfo.
func (u *Processes) ProcessInfo(_ context.Context, name string) (wire.ProcessInfo, error) {
	if err := u.serving(); err != nil {
		return wire.ProcessInfo{}, err
	}
	p, err := u.names.single(name)
	if err != nil {
		return wire.ProcessInfo{}, err
	}
	return p.Info(u.now()), nil
}

// AllProcessInfo implements supervisor.getAllProcessInfo, by group and name.
func (u *Processes) AllProcessInfo(_ context.Context) ([]wire.ProcessInfo, error) {
	if err := u.serving(); err != nil {
		return nil, err
	}
	now := u.now()
	infos := []wire.ProcessInfo{}
	for _, p := range u.names.all() {
		infos = append(infos, p.Info(now))
	}
	return infos, nil
}

// AllConfigInfo implements supervisor.getAllConfigInfo, by name. It returns the configuration as
// last read, including processes that are not in use yet.
func (u *Groups) AllConfigInfo() ([]wire.ConfigInfo, error) {
	if err := u.serving(); err != nil {
		return nil, err
	}
	u.changing.RLock()
	available := u.available
	u.changing.RUnlock()
	inUse := map[string]*process.Program{}
	for _, p := range u.names.inOrder() {
		inUse[p.Name()] = p
	}
	infos := []wire.ConfigInfo{}
	for _, a := range available {
		for i := range a.group.Programs {
			c := &a.group.Programs[i]
			infos = append(infos, inUse[c.Group+":"+c.Name].ConfigInfo(c, a.group.Priority))
		}
	}
	slices.SortStableFunc(infos, func(a, b wire.ConfigInfo) int { return cmp.Compare(a.Name, b.Name) })
	return infos, nil
}

// SendProcessStdin writes to a process's standard input until all is written or ctx ends.
func (u *Processes) SendProcessStdin(ctx context.Context, name, chars string) error {
	if err := u.serving(); err != nil {
		return err
	}
	p, err := u.names.single(name)
	if err != nil {
		return err
	}
	err = p.WriteStdin(ctx, chars)
	switch {
	case errors.Is(err, process.ErrNotRunning):
		return wire.NewFault(wire.NotRunning, name)
	case errors.Is(err, syscall.EPIPE):
		return wire.NewFault(wire.NoFile, name)
	}
	return err
}
