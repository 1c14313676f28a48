package rpc

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
)

// kind is the kind of a connection. Each kind has its own limit.
type kind int

const (
	unauthenticated kind = iota // no authorized request yet; /healthz needs none
	client                      // has sent an authorized request
	follower                    // follows a log
)

// connections are the connections of a listener. Each kind has its own limit, so that health
// checks, clients and log followers cannot displace each other. Excess unauthenticated connections
// are closed in favour of newer ones.
type connections struct {
	net.Listener
	limits Limits

	mu    sync.Mutex
	open  []*connection // in the order of acceptance
	count [follower + 1]int
	freed chan struct{} // closed when there may be room for a client; nil without waiters
}

type connection struct {
	net.Conn
	listener *connections
	host     string // address of the client

	// The following fields are guarded by listener.mu.

	kind   kind
	idle   bool // a client between two requests
	closed bool
}

func newConnections(l net.Listener, limits Limits) *connections {
	return &connections{Listener: l, limits: limits}
}

// Accept never waits for room: an excess unauthenticated connection displaces another one.
func (l *connections) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	host, _, _ := net.SplitHostPort(conn.RemoteAddr().String())
	c := &connection{Conn: conn, listener: l, host: host}
	l.mu.Lock()
	var victim *connection
	if l.count[unauthenticated] >= l.limits.Unauthenticated {
		victim, _ = l.oldestOfBusiest(unauthenticated)
	}
	l.open = append(l.open, c)
	l.count[unauthenticated]++
	l.mu.Unlock()
	if victim != nil {
		victim.Close()
	}
	return c, nil
}

// oldestOfBusiest returns the oldest connection of a kind from the address with the most of them,
// and the number per address. The caller holds the lock.
func (l *connections) oldestOfBusiest(k kind) (victim *connection, from map[string]int) {
	from = map[string]int{}
	for _, c := range l.open {
		if c.kind == k {
			from[c.host]++
		}
	}
	for _, c := range l.open {
		if c.kind == k && (victim == nil || from[c.host] > from[victim.host]) {
			victim = c
		}
	}
	return victim, from
}

// fairVictim returns the connection to close in favour of c if there is no password to tell clients
// apart: the oldest from the address with the most, or nil if c's address would have as many. The
// caller holds the lock.
func (l *connections) fairVictim(k kind, c *connection) *connection {
	victim, from := l.oldestOfBusiest(k)
	if victim == nil || from[victim.host] <= from[c.host]+1 {
		return nil
	}
	return victim
}

// remove removes a connection, once. The caller holds the lock.
func (l *connections) remove(c *connection) {
	if c.closed {
		return
	}
	c.closed = true
	l.count[c.kind]--
	for i, one := range l.open {
		if one == c {
			l.open = append(l.open[:i], l.open[i+1:]...)
			break
		}
	}
	l.notifyWaiters()
}

// notifyWaiters wakes waiting requests. The caller holds the lock.
func (l *connections) notifyWaiters() {
	if l.freed != nil {
		close(l.freed)
		l.freed = nil
	}
}

// reclassify changes the kind of a connection. The caller holds the lock.
func (l *connections) reclassify(c *connection, k kind) {
	l.count[c.kind]--
	l.count[k]++
	c.kind = k
	l.notifyWaiters()
}

// admit makes a connection with an authorized request a client. It closes an idle client to make
// room, or waits until a call has ended.
func (c *connection) admit(ctx context.Context, anyone bool) error {
	for {
		freed, err := c.tryAdmit(anyone)
		if freed == nil {
			return err
		}
		select {
		case <-freed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// tryAdmit makes one attempt and returns a channel to wait for before the next one, or nil if there
// is a result.
func (c *connection) tryAdmit(anyone bool) (freed chan struct{}, err error) {
	l := c.listener
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case c.closed: // in favour of another unauthenticated connection
		return nil, net.ErrClosed
	case c.kind != unauthenticated:
		return nil, nil
	}
	if l.count[client] >= l.limits.Connections {
		victim := l.idle()
		if victim == nil && anyone {
			victim = l.fairVictim(client, c)
		}
		if victim == nil {
			if l.freed == nil {
				l.freed = make(chan struct{})
			}
			return l.freed, nil
		}
		l.remove(victim)
		victim.Conn.Close()
	}
	l.reclassify(c, client)
	return nil, nil
}

// idle returns the oldest client between two requests, or nil. The caller holds the lock.
func (l *connections) idle() *connection {
	for _, c := range l.open {
		if c.kind == client && c.idle {
			return c
		}
	}
	return nil
}

// follow makes a client a follower. It returns false if there are too many.
func (c *connection) follow(anyone bool) bool {
	l := c.listener
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.closed {
		return false
	}
	if l.count[follower] >= l.limits.Followers {
		var victim *connection
		if anyone {
			victim = l.fairVictim(follower, c)
		}
		if victim == nil {
			return false
		}
		l.remove(victim)
		victim.Conn.Close()
	}
	l.reclassify(c, follower)
	return true
}

// Read skips empty lines between requests (RFC 9112, 2.2). While a handler runs, net/http reads one
// byte ahead to detect that the client hung up. supervisorctl sends a superfluous line end, which
// would take the place of that byte, so that its hang-up would go unnoticed until the log grows.
func (c *connection) Read(p []byte) (int, error) {
	for {
		n, err := c.Conn.Read(p)
		if lineEnd := n == 1 && (p[0] == '\r' || p[0] == '\n'); err != nil || len(p) > 1 || !lineEnd {
			return n, err
		}
	}
}

// Close also makes room for another connection.
func (c *connection) Close() error {
	c.listener.mu.Lock()
	c.listener.remove(c)
	c.listener.mu.Unlock()
	return c.Conn.Close()
}

// unwrapConnection returns the connection below net/http's, or nil if it is not one of ours.
func unwrapConnection(conn net.Conn) *connection {
	if encrypted, ok := conn.(*tls.Conn); ok {
		conn = encrypted.NetConn()
	}
	c, _ := conn.(*connection)
	return c
}

// connectionKey is the context key of a request's connection.
type connectionKey struct{}

func withConnection(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connectionKey{}, unwrapConnection(conn))
}

// connectionOf returns the connection of a request, or nil.
func connectionOf(r *http.Request) *connection {
	c, _ := r.Context().Value(connectionKey{}).(*connection)
	return c
}

// trackIdle records when a client is between two requests.
func trackIdle(conn net.Conn, state http.ConnState) {
	c := unwrapConnection(conn)
	if c == nil {
		return
	}
	c.listener.mu.Lock()
	defer c.listener.mu.Unlock()
	if c.idle = state == http.StateIdle; c.idle {
		c.listener.notifyWaiters()
	}
}
