package conflict

import (
	"context"
	"errors"
	"net"
	"strconv"
	"syscall"
)

// free reports whether nobody listens at a port of this machine. It says so, too, where
// it may not try.
func free(p Port) bool {
	address := net.JoinHostPort("0.0.0.0", strconv.Itoa(p.Number))
	var tried interface{ Close() error }
	var err error
	if p.Protocol == "udp" {
		tried, err = (&net.ListenConfig{}).ListenPacket(context.Background(), "udp4", address)
	} else {
		tried, err = (&net.ListenConfig{}).Listen(context.Background(), "tcp4", address)
	}
	if err != nil {
		return !errors.Is(err, syscall.EADDRINUSE)
	}
	return tried.Close() == nil
}
