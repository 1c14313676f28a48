package httpserver

import (
	"container/list"
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
)

// connections are the open connections. When the limit is reached, a new connection replaces the one that has been
// unprotected the longest, so that slow, idle or unauthenticated clients lock no one out. An eighth is reserved
// for unprotected connections, such as the probes of an orchestrator.
type connections struct {
	net.Listener
	limit int

	mu    sync.Mutex
	open  int
	held  int       // protected by requests
	loose list.List // unprotected connections, the oldest first
}

// connection is a connection that is counted in connections.
type connection struct {
	net.Conn
	all    *connections
	place  *list.Element // in loose; nil: protected or closed
	closed bool
}

// Accept implements net.Listener.
func (all *connections) Accept() (net.Conn, error) {
	for {
		raw, err := all.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if c := all.add(raw); c != nil {
			return c, nil
		}
		_ = raw.Close()
	}
}

// add makes room for a connection, or returns nil.
func (all *connections) add(raw net.Conn) *connection {
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.open >= all.limit {
		oldest := all.loose.Front()
		if oldest == nil {
			return nil
		}
		c := oldest.Value.(*connection)
		c.drop()
		defer c.Conn.Close()
	}
	all.open++
	c := &connection{Conn: raw, all: all}
	c.place = all.loose.PushBack(c)
	return c
}

// drop frees its place. The caller holds the lock.
func (c *connection) drop() {
	if c.closed {
		return
	}
	c.closed = true
	c.all.open--
	c.setLoose(false)
}

// setLoose sets whether the connection may be closed in favor of another. The caller holds the lock.
func (c *connection) setLoose(is bool) {
	switch {
	case is && c.place == nil && !c.closed:
		c.place = c.all.loose.PushBack(c)
	case !is && c.place != nil:
		c.all.loose.Remove(c.place)
		c.place = nil
	}
}

// Close implements net.Conn.
func (c *connection) Close() error {
	c.all.mu.Lock()
	c.drop()
	c.all.mu.Unlock()
	return c.Conn.Close()
}

func (c *connection) hold() bool {
	c.all.mu.Lock()
	defer c.all.mu.Unlock()
	if c.all.held >= max(1, c.all.limit-c.all.limit/8) {
		return false
	}
	c.all.held++
	c.setLoose(false)
	return true
}

func (c *connection) release() {
	c.all.mu.Lock()
	defer c.all.mu.Unlock()
	c.all.held--
	c.setLoose(true)
}

type connectionKey struct{}

// withConnection stores the connection in the context of its requests.
func withConnection(ctx context.Context, conn net.Conn) context.Context {
	if secure, isTLS := conn.(*tls.Conn); isTLS {
		conn = secure.NetConn()
	}
	return context.WithValue(ctx, connectionKey{}, conn)
}

// Hold protects the connection of a request until release is called. It returns false and protects nothing if too
// many connections are protected.
func Hold(r *http.Request) (release func(), ok bool) {
	c, ours := r.Context().Value(connectionKey{}).(*connection)
	if !ours { // another server's
		return func() {}, true
	}
	return c.release, c.hold()
}
