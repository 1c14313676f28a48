package ready

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// connection is an open TCP connection.
type connection interface {
	io.ReadWriteCloser
	endWith(ctx context.Context) (stop func() bool) // makes reads and writes fail once ctx is done, until stop is called
	isSelf() bool                                   // it connects to itself: the kernel may pick an unused local port as the connection's source
}

// expireWith makes all operations of a connection fail once ctx is done. The deadline is set by another goroutine, also after
// the check has closed the connection: it must be safe for concurrent use.
func expireWith(ctx context.Context, c interface{ SetDeadline(time.Time) error }) (stop func() bool) {
	return context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })
}

// dial connects. To an address that needs no resolver, it connects with fewer system calls than
// package net, and without waking other threads: liveness checks are frequent.
func dial(ctx context.Context, address string) (connection, error) {
	if at, err := netip.ParseAddrPort(address); err == nil && at.Addr().Zone() == "" {
		return dialIP(ctx, at)
	}
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, trimmedError(err)
	}
	return named{conn}, nil
}

// named is a connection to an address that was resolved.
type named struct{ net.Conn }

func (n named) endWith(ctx context.Context) (stop func() bool) { return expireWith(ctx, n.Conn) }

func (n named) isSelf() bool { return n.LocalAddr().String() == n.RemoteAddr().String() }

func dialIP(ctx context.Context, at netip.AddrPort) (connection, error) {
	family, to := unix.AF_INET6, unix.Sockaddr(&unix.SockaddrInet6{Port: int(at.Port()), Addr: at.Addr().As16()})
	if at.Addr().Unmap().Is4() {
		family, to = unix.AF_INET, &unix.SockaddrInet4{Port: int(at.Port()), Addr: at.Addr().Unmap().As4()}
	}
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	s := &socket{fd: fd, to: to}
	if err := s.connect(ctx); err != nil {
		_ = s.Close()
		return nil, err
	}
	return s, nil
}

// socket is a connection that is known to the runtime's poller only once it has to wait. It is not safe for concurrent use;
// its file is.
type socket struct {
	fd   int
	to   unix.Sockaddr
	file *os.File // nil: it has not waited yet
}

func (s *socket) poller() *os.File {
	if s.file == nil {
		s.file = os.NewFile(uintptr(s.fd), "")
	}
	return s.file
}

func (s *socket) connect(ctx context.Context) error {
	if err := unix.Connect(s.fd, s.to); err != nil && !errors.Is(err, unix.EINPROGRESS) && !errors.Is(err, unix.EINTR) {
		return err
	}
	events := s.poll()
	if events == 0 { // a local address usually accepts at once
		if err := s.await(ctx); err != nil {
			return err
		}
		events = s.poll()
	}
	if events&(unix.POLLERR|unix.POLLHUP) != 0 {
		if code, err := unix.GetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_ERROR); err == nil && code != 0 {
			return unix.Errno(code)
		}
	}
	return nil
}

// poll returns the events of the connection: 0 while it is being made.
func (s *socket) poll() int16 {
	fds := []unix.PollFd{{Fd: int32(s.fd), Events: unix.POLLOUT}}
	_, _ = unix.Poll(fds, 0)
	return fds[0].Revents
}

func (s *socket) await(ctx context.Context) error {
	file := s.poller()
	defer expireWith(ctx, file)()
	raw, err := file.SyscallConn()
	if err != nil {
		return err
	}
	if err := raw.Write(func(uintptr) bool { return s.poll() != 0 }); err != nil {
		if ctx.Err() != nil {
			return errors.New("it does not accept in time")
		}
		return err
	}
	return nil
}

// isSelf reports whether the connection is one to itself.
func (s *socket) isSelf() bool {
	own, err := unix.Getsockname(s.fd)
	return err == nil && sameAddress(own, s.to)
}

func sameAddress(a, b unix.Sockaddr) bool {
	switch a := a.(type) {
	case *unix.SockaddrInet4:
		b, ok := b.(*unix.SockaddrInet4)
		return ok && a.Port == b.Port && a.Addr == b.Addr
	case *unix.SockaddrInet6:
		b, ok := b.(*unix.SockaddrInet6)
		return ok && a.Port == b.Port && a.Addr == b.Addr
	}
	return false
}

func (s *socket) Read(p []byte) (int, error)  { return s.poller().Read(p) }
func (s *socket) Write(p []byte) (int, error) { return s.poller().Write(p) }

func (s *socket) endWith(ctx context.Context) (stop func() bool) { return expireWith(ctx, s.poller()) }

func (s *socket) Close() error {
	if s.file == nil {
		return unix.Close(s.fd)
	}
	return s.file.Close()
}
