package spec

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
)

// Published returns the port of the host for messages: PORT, or ADDRESS:PORT.
func (p Port) Published() string {
	if p.Address == "" {
		return strconv.Itoa(p.Host)
	}
	return net.JoinHostPort(p.Address, strconv.Itoa(p.Host))
}

// Conflicts reports whether one machine cannot publish both ports, of different containers or of one.
func (p Port) Conflicts(o Port) bool {
	return p.Host != 0 && p.Host == o.Host && p.Protocol == o.Protocol && !apart(p.Address, o.Address)
}

// apart reports whether the same port can be published at both addresses. The unspecified address of one address family does
// not include addresses of the other.
func apart(a, b string) bool {
	one, err := netip.ParseAddr(a)
	other, err2 := netip.ParseAddr(b)
	if err != nil || err2 != nil {
		return false
	}
	one, other = one.Unmap(), other.Unmap()
	return one.Is4() != other.Is4() || one != other && !one.IsUnspecified() && !other.IsUnspecified()
}

// ParseHostPort parses a port of the host: PORT, or ADDRESS:PORT with an IPv6 address in brackets. A port of 0 needs no address.
func ParseHostPort(text string) (address string, port int, err error) {
	if n, err := strconv.ParseUint(text, 10, 16); err == nil {
		return "", int(n), nil
	}
	at, err := netip.ParseAddrPort(text)
	if err != nil || at.Port() == 0 || at.Addr().Zone() != "" {
		return "", 0, fmt.Errorf("%q is neither PORT nor ADDRESS:PORT, such as 127.0.0.1:8080 or [::1]:8080", text)
	}
	return at.Addr().Unmap().String(), int(at.Port()), nil
}
