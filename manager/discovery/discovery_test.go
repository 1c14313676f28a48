package discovery_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/toskose/toskose/internal/freeport"
	"github.com/toskose/toskose/internal/leak"
	"github.com/toskose/toskose/manager/discovery"
)

func TestMain(m *testing.M) { leak.Main(m) }

// names answers by table and notes what it was asked.
type names struct {
	addrs map[string][]string
	err   error
	asked []string
}

func (n *names) LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error) {
	n.asked = append(n.asked, network+" "+host)
	if n.err != nil {
		return nil, n.err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	found, ok := n.addrs[host]
	if !ok {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	addrs := make([]netip.Addr, 0, len(found))
	for _, s := range found {
		addrs = append(addrs, netip.MustParseAddr(s))
	}
	return addrs, nil
}

func TestReplicas(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		mode  discovery.Mode
		opts  discovery.Options
		addrs map[string][]string
		want  []string
		asked []string
	}{
		"a domain makes the name complete": {
			mode:  discovery.Alias,
			opts:  discovery.Options{Domain: "shop.svc.cluster.local."},
			addrs: map[string][]string{"backend.shop.svc.cluster.local.": {"10.244.0.9"}, "backend.": {"10.0.1.2"}},
			want:  []string{"10.244.0.9:9001"},
			asked: []string{"ip backend.shop.svc.cluster.local."},
		},
		"an alias that goes by another name is not asked for": {
			mode:  discovery.Alias,
			opts:  discovery.Options{Domain: "shop.svc", Names: map[string]string{"backend": "n-backend"}},
			addrs: map[string][]string{"n-backend.shop.svc.": {"10.244.0.9"}},
			want:  []string{"10.244.0.9:9001"},
			asked: []string{"ip n-backend.shop.svc."},
		},
		"tasks asks for the tasks only": {
			mode:  discovery.Tasks,
			addrs: map[string][]string{"tasks.backend.": {"10.0.1.5", "10.0.1.3"}, "backend.": {"10.0.1.2"}},
			want:  []string{"10.0.1.3:9001", "10.0.1.5:9001"},
			asked: []string{"ip tasks.backend."},
		},
		"alias never probes tasks": {
			mode:  discovery.Alias,
			addrs: map[string][]string{"backend.": {"172.18.0.4"}},
			want:  []string{"172.18.0.4:9001"},
			asked: []string{"ip backend."},
		},
		"a container with both families counts once": {
			mode:  discovery.Alias,
			addrs: map[string][]string{"backend.": {"fd00::4", "::ffff:172.18.0.4", "172.18.0.4"}},
			want:  []string{"172.18.0.4:9001"},
			asked: []string{"ip backend."},
		},
		"IPv6 alone": {
			mode:  discovery.Alias,
			addrs: map[string][]string{"backend.": {"fd00::4"}},
			want:  []string{"[fd00::4]:9001"},
			asked: []string{"ip backend."},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			resolver := &names{addrs: c.addrs}
			c.opts.Resolver = resolver
			got, err := discovery.New(c.mode, c.opts).Replicas(t.Context(), "backend", 9001)
			if err != nil {
				t.Fatal(err)
			}
			want := make([]netip.AddrPort, 0, len(c.want))
			for _, s := range c.want {
				want = append(want, netip.MustParseAddrPort(s))
			}
			if diff := cmp.Diff(want, got, cmpopts.EquateComparable(netip.AddrPort{})); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(c.asked, resolver.asked); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAllUnitsAreFoundByANameOfTheirOwn(t *testing.T) {
	t.Parallel()
	resolver := &names{addrs: map[string][]string{"api-units.shop.": {"10.0.0.1", "10.0.0.2"}, "n-api.shop.": {"10.0.0.2"}, "store.shop.": {"10.0.0.3"}}}
	d := discovery.New(discovery.Alias, discovery.Options{
		Resolver: resolver, Domain: "shop", Names: map[string]string{"api": "n-api", "gui": "n-gui"}, Units: map[string]string{"api": "api-units", "gui": "gui-units"},
	})
	if all, err := d.Replicas(t.Context(), "api", 9001); err != nil || len(all) != 2 {
		t.Errorf("%v, %v", all, err)
	}
	for alias, want := range map[string]struct {
		clients int
		all     bool
	}{"api": {1, false}, "gui": {0, false}, "store": {0, true}} {
		if clients, all, err := d.Clients(t.Context(), alias); err != nil || len(clients) != want.clients || all != want.all {
			t.Errorf("%s: %v, %v, %v", alias, clients, all, err)
		}
	}
	resolver.err = &net.DNSError{Err: "server misbehaving", IsTemporary: true}
	if clients, all, err := d.Clients(t.Context(), "api"); err == nil {
		t.Errorf("%v, %v", clients, all)
	}
}

func TestAnAddressIsNotResolved(t *testing.T) {
	t.Parallel()
	resolver := &names{}
	got, err := discovery.New(discovery.Tasks, discovery.Options{Resolver: resolver}).Replicas(t.Context(), "127.0.0.1", 9001)
	if err != nil || len(got) != 1 || got[0].String() != "127.0.0.1:9001" || resolver.asked != nil {
		t.Errorf("got %v, %v, asked %q", got, err, resolver.asked)
	}
}

func TestANameWithoutAddressIsNoContainer(t *testing.T) {
	t.Parallel()
	for _, resolver := range []*names{{}, {addrs: map[string][]string{"backend.": {}}}} {
		_, err := discovery.New(discovery.Alias, discovery.Options{Resolver: resolver}).Replicas(t.Context(), "backend", 9001)
		if !errors.Is(err, discovery.ErrNone) || !strings.Contains(err.Error(), `"backend"`) {
			t.Errorf("got %v", err)
		}
	}
}

func TestADNSThatFailsIsNotAnAbsentContainer(t *testing.T) {
	t.Parallel()
	resolver := &names{err: &net.DNSError{Err: "server misbehaving", Name: "backend.", IsTemporary: true}}
	_, err := discovery.New(discovery.Alias, discovery.Options{Resolver: resolver, Domain: "shop.svc"}).Replicas(t.Context(), "backend", 9001)
	if err == nil || errors.Is(err, discovery.ErrNone) || errors.Is(err, discovery.ErrUnanswered) {
		t.Errorf("got %v", err)
	}
}

func TestANameThatOnlyAnEngineCouldKnowIsUnanswered(t *testing.T) {
	t.Parallel()
	for _, mode := range []discovery.Mode{discovery.Alias, discovery.Tasks} {
		resolver := &names{err: &net.DNSError{Err: "server misbehaving", Name: "backend.", IsTemporary: true}}
		_, err := discovery.New(mode, discovery.Options{Resolver: resolver}).Replicas(t.Context(), "backend", 9001)
		if !errors.Is(err, discovery.ErrUnanswered) || errors.Is(err, discovery.ErrNone) || !strings.Contains(err.Error(), "misbehaving") {
			t.Errorf("got %v", err)
		}
	}
}

func TestRunning(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	open := listener.Addr().(*net.TCPAddr).Port
	shut := freeport.Find(t)
	t.Cleanup(func() { listener.Close() })

	dns := discovery.New(discovery.Tasks, discovery.Options{
		Resolver: &names{addrs: map[string][]string{"tasks.store.": {"127.0.0.1"}}},
		Timeout:  time.Minute,
	})
	for name, c := range map[string]struct {
		alias string
		ports []int
		fails string
	}{
		"its name resolves and it declares no port": {alias: "store"},
		"its port accepts":                          {alias: "store", ports: []int{open}},
		"one of its ports does not":                 {alias: "store", ports: []int{open, shut}, fails: "does not accept"},
		"its name does not resolve":                 {alias: "other", fails: `no container has the name "tasks.other"`},
	} {
		t.Run(name, func(t *testing.T) {
			running, err := dns.Running(t.Context(), c.alias, c.ports)
			if c.fails == "" {
				if err != nil || len(running) != 1 {
					t.Fatalf("got %v, %v", running, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.fails) {
				t.Fatalf("got %v", err)
			}
		})
	}
}

func TestParseMode(t *testing.T) {
	t.Parallel()
	if m, err := discovery.ParseMode("alias"); m != discovery.Alias || err != nil {
		t.Errorf("got %v, %v", m, err)
	}
	if _, err := discovery.ParseMode(""); err == nil {
		t.Error("an empty mode is not guessed")
	}
}
