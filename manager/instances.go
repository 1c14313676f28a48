package manager

import (
	"context"
	"net/netip"
	"sync"
)

// instances remembers the instance last seen at each address. It may be outdated:
// an execution names its instance, and any other one refuses it.
type instances struct {
	mu sync.Mutex
	at map[netip.AddrPort]string
}

// maxInstances bounds the memory: an orchestrator keeps making up addresses.
const maxInstances = 10_000

func (i *instances) find(addr netip.AddrPort) string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.at[addr]
}

func (i *instances) remember(addr netip.AddrPort, instance string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.at == nil || len(i.at) >= maxInstances {
		i.at = map[netip.AddrPort]string{}
	}
	i.at[addr] = instance
}

func (i *instances) forget(addr netip.AddrPort) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.at, addr)
}

// instance returns the instance that the caller named, or that was last seen at
// the replica's address, or else asks for it.
func (a *App) instance(ctx context.Context, r replica) (string, error) {
	if r.instance != "" {
		return r.instance, nil
	}
	if known := a.instances.find(r.addr); known != "" {
		return known, nil
	}
	id, err := r.unit.Identity(ctx)
	if err != nil {
		return "", unitError(r.String(), err)
	}
	a.instances.remember(r.addr, id.Instance)
	return id.Instance, nil
}
