package machine

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os/exec"
	"strings"
)

// IP is the network of this machine, which the command ip changes.
type IP struct {
	Path    string // of the command
	Environ []string
}

// Addresses reads the addresses of all interfaces.
func (IP) Addresses() (map[string][]netip.Prefix, error) {
	interfaces, err := net.Interfaces()
	if err != nil {
		return nil, err
	}
	all := map[string][]netip.Prefix{}
	for _, one := range interfaces {
		all[one.Name] = nil
		addresses, err := one.Addrs()
		if err != nil {
			return nil, fmt.Errorf("interface %s: %w", one.Name, err)
		}
		for _, a := range addresses {
			if p, err := netip.ParsePrefix(a.String()); err == nil {
				all[one.Name] = append(all[one.Name], p)
			}
		}
	}
	return all, nil
}

// Set sets the interface up, and adds the address.
func (i IP) Set(ctx context.Context, name string, address netip.Prefix) error {
	if err := i.run(ctx, "link", "set", "dev", name, "up"); err != nil {
		return err
	}
	return i.run(ctx, "address", "replace", address.String(), "dev", name)
}

// Remove removes the address from the interface.
func (i IP) Remove(ctx context.Context, name string, address netip.Prefix) error {
	return i.run(ctx, "address", "delete", address.String(), "dev", name)
}

func (i IP) run(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, i.Path, args...)
	cmd.Env = i.Environ
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("`%s`: %w: %s", strings.Join(cmd.Args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}
