// Package discovery is the manager's one interface to containers: which
// replicas of a node there are, and whether a container without a unit runs. It
// asks DNS and nothing else, in the one way that the manifest says, because
// trying names that may not exist would ask a stranger's DNS and send its
// answer a password. It starts goroutines only within a call.
package discovery

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Mode says which name stands for all replicas of a node.
type Mode string

// The modes of TOSKOSE_DISCOVERY.
const (
	Tasks Mode = "tasks" // Swarm: tasks.<alias>
	Alias Mode = "alias" // one engine: <alias>; Kubernetes: a headless Service, <alias>.<domain>
)

// ParseMode reads a value of TOSKOSE_DISCOVERY.
func ParseMode(s string) (Mode, error) {
	switch m := Mode(s); m {
	case Tasks, Alias:
		return m, nil
	}
	return "", fmt.Errorf("discovery mode %q is neither %q nor %q", s, Tasks, Alias)
}

// Resolver finds the addresses of a name; *net.Resolver is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Dialer opens connections; *net.Dialer is one.
type Dialer interface {
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
}

// ErrNone is in the chain of an error that says that a name has no address:
// the node has no container that is ready.
var ErrNone = errors.New("no container")

// Options are what a DNS needs beside the mode. A zero field means its default.
type Options struct {
	Resolver Resolver      // the system's
	Dialer   Dialer        // a plain one
	Timeout  time.Duration // of one lookup and of one dial; 3 s

	// Domain is what aliases are below: on Kubernetes NAMESPACE.svc.cluster.local,
	// because names are asked for as they are, without a search domain.
	Domain string
	// Names are aliases that go by another name there.
	Names map[string]string
}

// DNS finds containers by name.
type DNS struct {
	mode     Mode
	resolver Resolver
	dialer   Dialer
	timeout  time.Duration
	domain   string
	names    map[string]string
}

// New makes a DNS that asks in one way only.
func New(mode Mode, opts Options) *DNS {
	d := &DNS{
		mode: mode, resolver: opts.Resolver, dialer: opts.Dialer, timeout: opts.Timeout,
		domain: strings.Trim(opts.Domain, "."), names: opts.Names,
	}
	if d.resolver == nil {
		d.resolver = &net.Resolver{PreferGo: true}
	}
	if d.dialer == nil {
		d.dialer = &net.Dialer{}
	}
	if d.timeout <= 0 {
		d.timeout = 3 * time.Second
	}
	return d
}

// name is what is resolved for an alias. It ends in a dot, so that no search
// domain is ever tried after it; nor is /etc/hosts, which net does not search
// for such names.
func (d *DNS) name(alias string) string {
	if other, ok := d.names[alias]; ok {
		alias = other
	}
	name := strings.TrimSuffix(alias, ".") + "."
	if d.domain != "" {
		name += d.domain + "."
	}
	if d.mode == Tasks {
		name = "tasks." + name
	}
	return name
}

// Replicas gives the address of each replica of the node with this alias,
// sorted. ErrNone is in the error's chain where there is none.
func (d *DNS) Replicas(ctx context.Context, alias string, port int) ([]netip.AddrPort, error) {
	if addr, err := netip.ParseAddr(alias); err == nil { // a manager outside of the containers' network
		return []netip.AddrPort{netip.AddrPortFrom(addr, uint16(port))}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	name := d.name(alias)
	addrs, err := d.resolver.LookupNetIP(ctx, "ip", name)
	var dnsErr *net.DNSError
	if errors.As(err, &dnsErr) && dnsErr.IsNotFound || err == nil && len(addrs) == 0 {
		return nil, fmt.Errorf("%w has the name %q", ErrNone, strings.TrimSuffix(name, "."))
	}
	if err != nil {
		return nil, fmt.Errorf("cannot resolve %q: %w", strings.TrimSuffix(name, "."), err)
	}
	replicas := make([]netip.AddrPort, 0, len(addrs))
	for _, addr := range oneFamily(addrs) {
		replicas = append(replicas, netip.AddrPortFrom(addr, uint16(port)))
	}
	slices.SortFunc(replicas, netip.AddrPort.Compare)
	return slices.Compact(replicas), nil
}

// oneFamily keeps the IPv4 addresses where there are any: a container on a
// network of both families has one of each, and must not count twice.
func oneFamily(addrs []netip.Addr) []netip.Addr {
	var v4, v6 []netip.Addr
	for _, addr := range addrs {
		if addr = addr.Unmap(); addr.Is4() {
			v4 = append(v4, addr)
		} else {
			v6 = append(v6, addr)
		}
	}
	if len(v4) > 0 {
		return v4
	}
	return v6
}

// Running gives the addresses of a container without a unit that runs: its name
// resolves and each of the TCP ports accepts. The error says what does not.
func (d *DNS) Running(ctx context.Context, alias string, ports []int) ([]netip.Addr, error) {
	found, err := d.Replicas(ctx, alias, 0)
	if err != nil {
		return nil, err
	}
	type answer struct {
		addr netip.Addr
		err  error
	}
	answers := make(chan answer, len(found))
	for _, replica := range found {
		go func() { answers <- answer{replica.Addr(), d.accepts(ctx, replica.Addr(), ports)} }()
	}
	var running []netip.Addr
	for range found {
		a := <-answers
		if a.err != nil {
			err = a.err
			continue
		}
		running = append(running, a.addr)
	}
	if len(running) == 0 {
		return nil, err
	}
	slices.SortFunc(running, netip.Addr.Compare)
	return running, nil
}

func (d *DNS) accepts(ctx context.Context, addr netip.Addr, ports []int) error {
	for _, port := range ports {
		dialCtx, cancel := context.WithTimeout(ctx, d.timeout)
		conn, err := d.dialer.DialContext(dialCtx, "tcp", net.JoinHostPort(addr.String(), strconv.Itoa(port)))
		cancel()
		if err != nil {
			return fmt.Errorf("port %d does not accept: %w", port, err)
		}
		conn.Close()
	}
	return nil
}
