package edge

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
)

// usedByK3s are the prefixes of k3s's pods and services.
var usedByK3s = []netip.Prefix{netip.MustParsePrefix("10.42.0.0/16"), netip.MustParsePrefix("10.43.0.0/16")}

// DefaultPrefix is the prefix of the machines' addresses if the user names none.
const DefaultPrefix = "10.244.244.0/28"

// parsePrefix reads a private IPv4 prefix.
func parsePrefix(text string) (netip.Prefix, error) {
	p, err := netip.ParsePrefix(text)
	switch {
	case err != nil || !p.Addr().Is4():
		return p, fmt.Errorf("%q is not an IPv4 prefix, such as %s", text, DefaultPrefix)
	case p != p.Masked():
		return p, fmt.Errorf("%q has bits behind its length: the prefix is %s", text, p.Masked())
	case !p.Addr().IsPrivate() || !lastOf(p).IsPrivate():
		return p, fmt.Errorf("%s is not a private prefix (10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16)", p)
	}
	return p, nil
}

// overlapping returns an error if a prefix overlaps one of k3s's or a reserved one.
func overlapping(p netip.Prefix, reserved []string) error {
	for _, other := range usedByK3s {
		if p.Overlaps(other) {
			return fmt.Errorf("%s overlaps %s, which k3s uses for its pods and services", p, other)
		}
	}
	for _, text := range reserved {
		if other, err := netip.ParsePrefix(text); err == nil && p.Overlaps(other) {
			return fmt.Errorf("%s overlaps the reserved prefix %s", p, other)
		}
	}
	return nil
}

func lastOf(p netip.Prefix) netip.Addr {
	return plus(p.Addr(), uint32(1)<<(32-p.Bits())-1)
}

// plus returns the IPv4 address n above another one.
func plus(a netip.Addr, n uint32) netip.Addr {
	b := a.As4()
	binary.BigEndian.PutUint32(b[:], binary.BigEndian.Uint32(b[:])+n)
	return netip.AddrFrom4(b)
}

// hosts returns the number of addresses in a prefix that machines can have.
func hosts(p netip.Prefix) int {
	if p.Bits() > 30 {
		return 0
	}
	return 1<<(32-p.Bits()) - 2
}

// order returns the position of a machine's address in the prefix, from 0. It stays when other machines are removed or replaced.
func (d Document) order(n Node) int {
	a, err := netip.ParseAddr(n.Address)
	if err != nil || !a.Is4() {
		return 0
	}
	first, own := d.prefix().Addr().As4(), a.As4()
	return int(binary.BigEndian.Uint32(own[:])-binary.BigEndian.Uint32(first[:])) - 1
}

// assign takes an address for a machine: one that no machine ever had or, if there is none, the one that was freed first.
func (d *Document) assign() (string, error) {
	p := d.prefix()
	for i := range hosts(p) {
		a := plus(p.Addr(), uint32(i)+1).String()
		if !slices.Contains(d.Freed, a) && !slices.ContainsFunc(d.Nodes, func(n Node) bool { return n.Address == a }) {
			return a, nil
		}
	}
	if len(d.Freed) == 0 {
		return "", fmt.Errorf("the prefix %s has no address for another machine", p)
	}
	a := d.Freed[0]
	d.Freed = d.Freed[1:]
	return a, nil
}
