package conflict

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strconv"
	"syscall"
)

// free reports whether a port of this machine is free. It also returns true if this process may not bind the port.
func free(p Port) bool {
	if p.At == "" { // an engine publishes it at all addresses of both families
		return freeAt("0.0.0.0", p) && freeAt("::", p)
	}
	return freeAt(p.At, p)
}

func freeAt(host string, p Port) bool {
	address, family := net.JoinHostPort(host, strconv.Itoa(p.Number)), "4"
	if at, err := netip.ParseAddr(host); err == nil && at.Is6() {
		family = "6"
	}
	var tried interface{ Close() error }
	var err error
	if p.Protocol == "udp" {
		tried, err = (&net.ListenConfig{}).ListenPacket(context.Background(), "udp"+family, address)
	} else {
		tried, err = (&net.ListenConfig{}).Listen(context.Background(), "tcp"+family, address)
	}
	if err != nil {
		return !errors.Is(err, syscall.EADDRINUSE)
	}
	return tried.Close() == nil
}
