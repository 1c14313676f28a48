// Package discovery is the manager's only interface to containers: it finds the replicas of a node, and checks
// whether a container without a unit is running. It queries only DNS, with the naming scheme in the manifest:
// guessing names could query a foreign DNS server and send the password to the address that it returns. Its
// goroutines end with the call that starts them.
package discovery

import (
	"cmp"
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

// Mode is the naming scheme for the replicas of a node.
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

// Resolver finds the addresses of a name; *net.Resolver implements it.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Dialer opens connections; *net.Dialer implements it.
type Dialer interface {
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
}

// ErrNone means that a name has no address: the node has no ready container.
var ErrNone = errors.New("no container")

// ErrUnanswered means that the engine's DNS server, which knows all containers, does not know the name, and that
// its upstream servers do not respond, as on a machine without a name server. The node has no container that its
// name can find.
var ErrUnanswered = errors.New("nobody answers for the name")

// Options configure a DNS. A zero field means its default.
type Options struct {
	Resolver Resolver      // the system's
	Dialer   Dialer        // a plain one
	Timeout  time.Duration // for one lookup or dial; 3 s

	// Domain is appended to aliases, because no search domain is used. On Kubernetes it is
	// NAMESPACE.svc.cluster.local.
	Domain string
	// Names maps aliases to different DNS names.
	Names map[string]string
	// Units maps aliases to names that resolve to all units of a node, for nodes whose own name resolves only to ready
	// replicas.
	Units map[string]string
}

// DNS finds containers by name.
type DNS struct {
	mode     Mode
	resolver Resolver
	dialer   Dialer
	timeout  time.Duration
	domain   string
	names    map[string]string
	units    map[string]string
}

// New returns a DNS of one mode.
func New(mode Mode, opts Options) *DNS {
	d := &DNS{
		mode: mode, resolver: opts.Resolver, dialer: opts.Dialer, timeout: opts.Timeout,
		domain: strings.Trim(opts.Domain, "."), names: opts.Names, units: opts.Units,
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

// clientName returns the name to resolve for an alias; unitName returns the name of its units.
func (d *DNS) clientName(alias string) string { return d.name(cmp.Or(d.names[alias], alias)) }

func (d *DNS) unitName(alias string) string {
	return d.name(cmp.Or(d.units[alias], d.names[alias], alias))
}

// name completes a name. A trailing dot prevents search domains and /etc/hosts from being used.
func (d *DNS) name(alias string) string {
	name := strings.TrimSuffix(alias, ".") + "."
	if d.domain != "" {
		name += d.domain + "."
	}
	if d.mode == Tasks {
		name = "tasks." + name
	}
	return name
}

// Replicas returns the sorted addresses of the replicas of the node with this alias, ErrNone, or ErrUnanswered.
func (d *DNS) Replicas(ctx context.Context, alias string, port int) ([]netip.AddrPort, error) {
	return d.replicas(ctx, alias, d.unitName(alias), port)
}

// Clients returns the addresses to which a node's name resolves for clients; all is true if it resolves to every
// replica.
func (d *DNS) Clients(ctx context.Context, alias string) (addrs []netip.Addr, all bool, err error) {
	if d.units[alias] == "" {
		return nil, true, nil
	}
	found, err := d.replicas(ctx, alias, d.clientName(alias), 0)
	if errors.Is(err, ErrNone) {
		return nil, false, nil
	}
	for _, at := range found {
		addrs = append(addrs, at.Addr())
	}
	return addrs, false, err
}

func (d *DNS) replicas(ctx context.Context, alias, name string, port int) ([]netip.AddrPort, error) {
	if addr, err := netip.ParseAddr(alias); err == nil { // for a manager outside the containers' network
		return []netip.AddrPort{netip.AddrPortFrom(addr, uint16(port))}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	addrs, err := d.resolver.LookupNetIP(ctx, "ip", name)
	var dnsErr *net.DNSError
	if errors.As(err, &dnsErr) && dnsErr.IsNotFound || err == nil && len(addrs) == 0 {
		return nil, fmt.Errorf("%w has the name %q", ErrNone, strings.TrimSuffix(name, "."))
	}
	if err != nil {
		err = fmt.Errorf("cannot resolve %q: %w", strings.TrimSuffix(name, "."), err)
		if d.domain == "" {
			err = fmt.Errorf("%w: %w", ErrUnanswered, err)
		}
		return nil, err
	}
	replicas := make([]netip.AddrPort, 0, len(addrs))
	for _, addr := range oneFamily(addrs) {
		replicas = append(replicas, netip.AddrPortFrom(addr, uint16(port)))
	}
	slices.SortFunc(replicas, netip.AddrPort.Compare)
	return slices.Compact(replicas), nil
}

// oneFamily keeps only the IPv4 addresses if there are any: a container on a dual-stack network has one of each
// and must not count twice.
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

// Running returns the addresses of a running container without a unit: its name resolves, and each TCP port
// accepts connections. The error names the port that does not.
func (d *DNS) Running(ctx context.Context, alias string, ports []int) ([]netip.Addr, error) {
	found, err := d.replicas(ctx, alias, d.clientName(alias), 0)
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
			return fmt.Errorf("port %d does not accept connections: %w", port, err)
		}
		conn.Close()
	}
	return nil
}
