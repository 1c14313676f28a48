package unitclient

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/httptrace"
	"sync/atomic"
	"syscall"
)

// connection records whether the other side has closed it. net/http hides this: it retries the request on another
// connection, and returns the result of the retry.
type connection struct {
	net.Conn
	closed atomic.Bool
}

func (c *connection) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) {
		c.closed.Store(true)
	}
	return n, err
}

// dialer opens connections of this type.
type dialer func(ctx context.Context, network, address string) (net.Conn, error)

func (d dialer) plain(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := d(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &connection{Conn: conn}, nil
}

func (d dialer) secure(config *tls.Config) dialer {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := d(ctx, network, address)
		if err != nil {
			return nil, err
		}
		secure := tls.Client(conn, config)
		if err := secure.HandshakeContext(ctx); err != nil {
			conn.Close()
			return nil, err
		}
		return &connection{Conn: secure}, nil
	}
}

// noteClosed returns a context for one request, and a function that adds ErrClosed to the request's error if the
// unit closed the request's last connection or, if a new connection was refused, the previous request's.
func (c *Client) noteClosed(ctx context.Context) (traced context.Context, add func(error) error) {
	before := c.last.Load()
	var on atomic.Pointer[connection]
	traced = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(got httptrace.GotConnInfo) {
		if conn, is := got.Conn.(*connection); is {
			on.Store(conn)
			c.last.Store(conn)
		}
	}})
	return traced, func(err error) error {
		conn := on.Load()
		if conn == nil && errors.Is(err, syscall.ECONNREFUSED) {
			conn = before
		}
		if conn != nil && conn.closed.Load() {
			return fmt.Errorf("%w; %w", err, ErrClosed)
		}
		return err
	}
}
