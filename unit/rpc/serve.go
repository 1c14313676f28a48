package rpc

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// Limits bounds what clients can make a unit spend. A zero field means its
// default.
type Limits struct {
	RequestBytes int64         // the body of a request; 1 MiB
	Depth        int           // how deep arrays and structs nest; 32
	Values       int           // values in one request; 10,000
	AnswerBytes  int64         // of the answers before a call of system.multicall is not made; 64 MiB
	Connections  int           // at the same time; more wait to be accepted; 128
	HeaderBytes  int           // of a request; 16 KiB
	HeaderTime   time.Duration // to send the header; 5 s
	BodyTime     time.Duration // to send the body; 30 s
	WriteTime    time.Duration // to take one answer, or one piece of an endless one; 30 s
	IdleTime     time.Duration // between two requests of a connection; 2 min
	CloseTime    time.Duration // for answers under way when Serve ends; 1 s
}

func (l Limits) withDefaults() Limits {
	l.RequestBytes = or(l.RequestBytes, 1<<20)
	l.Depth = or(l.Depth, 32)
	l.Values = or(l.Values, 10_000)
	l.AnswerBytes = or(l.AnswerBytes, 64<<20)
	l.Connections = or(l.Connections, 128)
	l.HeaderBytes = or(l.HeaderBytes, 16<<10)
	l.HeaderTime = or(l.HeaderTime, 5*time.Second)
	l.BodyTime = or(l.BodyTime, 30*time.Second)
	l.WriteTime = or(l.WriteTime, 30*time.Second)
	l.IdleTime = or(l.IdleTime, 2*time.Minute)
	l.CloseTime = or(l.CloseTime, time.Second)
	return l
}

func or[T comparable](given, otherwise T) T {
	var zero T
	if given == zero {
		return otherwise
	}
	return given
}

// Serve answers on the listener until ctx ends, and then returns nil when every
// connection is closed: endless answers and waiting calls end at once, answers
// being written have limits.CloseTime. It closes the listener. Any other end is
// an error.
func Serve(ctx context.Context, listener net.Listener, handler http.Handler, limits Limits, logger *slog.Logger) error {
	limits = limits.withDefaults()
	return serveLimited(ctx, limitConnections(listener, limits.Connections), handler, limits, logger)
}

// ServeTLS is Serve over TLS. The handshake counts as part of the header, for
// its time, and as a connection.
func ServeTLS(ctx context.Context, listener net.Listener, config *tls.Config, handler http.Handler, limits Limits, logger *slog.Logger) error {
	limits = limits.withDefaults()
	limited := tls.NewListener(limitConnections(listener, limits.Connections), config)
	return serveLimited(ctx, limited, handler, limits, logger)
}

func serveLimited(ctx context.Context, listener net.Listener, handler http.Handler, limits Limits, logger *slog.Logger) error {
	requests, endRequests := context.WithCancel(context.WithoutCancel(ctx))
	defer endRequests()
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	srv := &http.Server{
		Handler:           handler,
		Protocols:         &protocols,
		ReadHeaderTimeout: limits.HeaderTime,
		IdleTimeout:       limits.IdleTime,
		MaxHeaderBytes:    limits.HeaderBytes,
		ErrorLog:          slog.NewLogLogger(logger.Handler(), slog.LevelDebug),
		BaseContext:       func(net.Listener) context.Context { return requests },
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(listener) }()
	select {
	case err := <-served:
		_ = srv.Close()
		return err
	case <-ctx.Done():
	}
	endRequests()
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), limits.CloseTime)
	defer cancel()
	if err := srv.Shutdown(grace); err != nil {
		_ = srv.Close()
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// limitedListener accepts no more connections than it has slots.
type limitedListener struct {
	net.Listener
	slots  chan struct{}
	closed chan struct{}
	once   sync.Once
}

func limitConnections(l net.Listener, n int) net.Listener {
	return &limitedListener{Listener: l, slots: make(chan struct{}, n), closed: make(chan struct{})}
}

// Accept waits for a free slot first.
func (l *limitedListener) Accept() (net.Conn, error) {
	select {
	case l.slots <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	conn, err := l.Listener.Accept()
	if err != nil {
		<-l.slots
		return nil, err
	}
	return &limitedConn{Conn: conn, release: sync.OnceFunc(func() { <-l.slots })}, nil
}

// Close also ends an Accept that waits for a slot.
func (l *limitedListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

type limitedConn struct {
	net.Conn
	release func()
}

// Read passes over empty lines between requests, which RFC 9112, 2.2 asks a
// server to ignore. While a handler runs, net/http reads one byte ahead, to
// learn that the client hung up; supervisorctl sends one line end too many, and
// with that as the byte its end would be known only when the log grows.
func (c *limitedConn) Read(p []byte) (int, error) {
	for {
		n, err := c.Conn.Read(p)
		if lineEnd := n == 1 && (p[0] == '\r' || p[0] == '\n'); err != nil || len(p) > 1 || !lineEnd {
			return n, err
		}
	}
}

// Close gives the slot back, once.
func (c *limitedConn) Close() error {
	defer c.release()
	return c.Conn.Close()
}
