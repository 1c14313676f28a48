// Package freeport gives tests local ports that stay free until the tested program listens on
// them.
package freeport

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"syscall"
	"testing"
)

// claims are the ports claimed by this process until it exits.
var claims struct {
	sync.Mutex
	held []net.Listener
}

// Find gives a port as Reserve does.
func Find(t testing.TB) int {
	t.Helper()
	port, err := Reserve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// Reserve returns a free port that no other caller of Reserve gets: tests of several
// packages run at the same time, and a test may listen on its port late, or again. The
// port is below the kernel's ephemeral range and above the manager's default port, which a
// deployed application may use.
//
// A process claims a port by an abstract unix socket named after the port's number: it
// belongs to the same network namespace as the port, and is released when the process exits.
func Reserve(ctx context.Context) (int, error) {
	const first, last, tries = 10001, 32767, 1000
	for range tries {
		port := first + rand.IntN(last-first+1) //nolint:gosec // a port is no secret
		claim, err := listen(ctx, "unix", fmt.Sprintf("@toskose-test-port-%d", port))
		if err != nil {
			return 0, err
		}
		if claim == nil {
			continue
		}
		free, err := listen(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil || free == nil {
			claim.Close()
			if err != nil {
				return 0, err
			}
			continue
		}
		free.Close()
		claims.Lock()
		claims.held = append(claims.held, claim)
		claims.Unlock()
		return port, nil
	}
	return 0, fmt.Errorf("of %d ports that were tried none is free", tries)
}

// listen returns nil if the address is already in use.
func listen(ctx context.Context, network, address string) (net.Listener, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, network, address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return l, nil
}
