package ready

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestAddressesAndNamesAreDialled(t *testing.T) {
	t.Parallel()
	for _, host := range []string{"127.0.0.1", "::1", "::ffff:127.0.0.1", "localhost"} {
		listener, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
		if err != nil {
			t.Fatal(err)
		}
		_, port, _ := net.SplitHostPort(listener.Addr().String())
		check := TCP(net.JoinHostPort(host, port), 0)
		if err := check.Try(t.Context()); err != nil {
			t.Errorf("%s: %v", host, err)
		}
		listener.Close()
		if err := check.Try(t.Context()); !errors.Is(err, unix.ECONNREFUSED) {
			t.Errorf("%s: after its end: %v", host, err)
		}
	}
}

// TestAFullBacklogIsAwaited until it has room, or the attempt is over.
func TestAFullBacklogIsAwaited(t *testing.T) {
	t.Parallel()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := errors.Join(unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}), unix.Listen(fd, 0)); err != nil {
		t.Fatal(err)
	}
	own, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	address := net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: own.(*unix.SockaddrInet4).Port}
	first, err := net.Dial("tcp", address.String())
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	check := TCP(address.String(), 0)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := check.Try(ctx); err == nil || err.Error() != "it does not accept in time" {
		t.Errorf("a full backlog accepts: %v", err)
	}
	tried := make(chan error, 1)
	go func() { tried <- check.Try(t.Context()) }()
	accepted, _, err := unix.Accept(fd)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(accepted)
	if err := <-tried; err != nil {
		t.Error(err)
	}
}

// TestAContextThatEndsDuringARequestDoesNotRaceWithIt ends contexts when the request is about to be written.
func TestAContextThatEndsDuringARequestDoesNotRaceWithIt(t *testing.T) {
	t.Parallel()
	check, err := HTTP("http://"+listen(t).Addr().String(), 0, Success) // the kernel accepts, and nothing answers
	if err != nil {
		t.Fatal(err)
	}
	for range 50 {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := check.Try(ctx); err == nil {
			t.Error("the check succeeds without an answer")
		}
	}
}
