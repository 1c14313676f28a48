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
func free(ctx context.Context, p Port) bool {
	if p.At == "" { // an engine publishes it at all addresses of both families
		return freeAt(ctx, "0.0.0.0", p) && freeAt(ctx, "::", p)
	}
	return freeAt(ctx, p.At, p)
}

func freeAt(ctx context.Context, host string, p Port) bool {
	address, family := net.JoinHostPort(host, strconv.Itoa(p.Number)), "4"
	if at, err := netip.ParseAddr(host); err == nil && at.Is6() {
		family = "6"
	}
	var tried interface{ Close() error }
	var err error
	if p.Protocol == "udp" {
		tried, err = (&net.ListenConfig{}).ListenPacket(ctx, "udp"+family, address)
	} else {
		tried, err = (&net.ListenConfig{}).Listen(ctx, "tcp"+family, address)
	}
	if err != nil {
		return !errors.Is(err, syscall.EADDRINUSE)
	}
	return tried.Close() == nil
}
