package config

import "net/netip"

// LocalName is by what name a machine knows itself.
const LocalName = "localhost"

// Host is by what name or address a machine is asked by itself at a port that it
// publishes at an address; empty: at all.
func Host(bind string) string {
	at, err := netip.ParseAddr(bind)
	if err != nil || at.IsUnspecified() || bind == DefaultManagerBind {
		return LocalName
	}
	return bind
}

// IsLoopback reports whether an address is one that no other machine reaches.
func IsLoopback(bind string) bool {
	at, err := netip.ParseAddr(bind)
	return err == nil && at.IsLoopback()
}
