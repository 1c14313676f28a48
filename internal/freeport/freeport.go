// Package freeport gives tests ports of this machine that stay free until what
// is tested listens there.
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

// claims are those of this process, which keeps them for as long as it lives.
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

// Reserve gives a port that nobody listens at, and that nobody else gets who
// asks here: tests of several packages run at the same time, and it may take a
// while until one listens at its port, or listens there again. It is below those
// that the kernel gives to connections and to whoever does not care, and above the
// manager's usual one, which an application that was deployed may have.
//
// What a process has is claimed by an abstract unix socket of the port's
// number: it is of the same network namespace as the port, and ends with the
// process.
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

// listen gives nothing where somebody listens already.
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
