package config

import "net/netip"

// LocalName is the host name by which a machine reaches itself.
const LocalName = "localhost"

// Host returns the name or address by which a machine connects to a port that it publishes itself
// at bind; an empty bind means all addresses.
func Host(bind string) string {
	at, err := netip.ParseAddr(bind)
	if err != nil || at.IsUnspecified() || bind == DefaultManagerBind {
		return LocalName
	}
	return bind
}

// IsLoopback reports whether an address is reachable only from the machine itself.
func IsLoopback(bind string) bool {
	at, err := netip.ParseAddr(bind)
	return err == nil && at.IsLoopback()
}
