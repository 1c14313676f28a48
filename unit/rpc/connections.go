package rpc

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
)

// kind is what a connection is counted as.
type kind int

const (
	stranger kind = iota // no request with the password has come yet, as none does for /healthz
	client               // one has
	tail                 // its answer is a log that is followed
)

// connections are those of a listener, counted by kind, so that no kind keeps
// another out: whoever asks for the health is a stranger, and strangers, few
// and closed in favour of newer ones, cost clients nothing, nor tails anyone.
type connections struct {
	net.Listener
	limits Limits

	mu    sync.Mutex
	open  []*connection // in the order in which they came
	count [tail + 1]int
	freed chan struct{} // closed when a client may have found room; nil: nobody waits
}

type connection struct {
	net.Conn
	of   *connections
	host string // of the other end

	// The following belong to of.mu.

	kind   kind
	idle   bool // a client between two requests
	closed bool
}

func newConnections(l net.Listener, limits Limits) *connections {
	return &connections{Listener: l, limits: limits}
}

// Accept never waits for room: a stranger too many costs another stranger the
// connection.
func (l *connections) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	host, _, _ := net.SplitHostPort(conn.RemoteAddr().String())
	c := &connection{Conn: conn, of: l, host: host}
	l.mu.Lock()
	var victim *connection
	if l.count[stranger] >= l.limits.Strangers {
		victim, _ = l.crowded(stranger)
	}
	l.open = append(l.open, c)
	l.count[stranger]++
	l.mu.Unlock()
	if victim != nil {
		victim.Close()
	}
	return c, nil
}

// crowded returns the oldest of a kind from the address that has the most of
// them, and how many each has. The caller holds the lock.
func (l *connections) crowded(k kind) (victim *connection, from map[string]int) {
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

// fairer returns whose connection of a kind is closed for one more, where no
// password tells clients from strangers: the oldest of the address that has the
// most, nil: its address would have as many. The caller holds the lock.
func (l *connections) fairer(k kind, c *connection) *connection {
	victim, from := l.crowded(k)
	if victim == nil || from[victim.host] <= from[c.host]+1 {
		return nil
	}
	return victim
}

// remove takes a connection out, once. The caller holds the lock.
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
	l.wake()
}

// wake has those who wait look again. The caller holds the lock.
func (l *connections) wake() {
	if l.freed != nil {
		close(l.freed)
		l.freed = nil
	}
}

// become counts a connection as another kind. The caller holds the lock.
func (l *connections) become(c *connection, k kind) {
	l.count[c.kind]--
	l.count[k]++
	c.kind = k
	l.wake()
}

// admit makes a client of a connection whose request has the password, or needs
// none. It closes an idle client to make room, or waits until a call has ended.
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

// tryAdmit returns what to wait for, nil: it is decided.
func (c *connection) tryAdmit(anyone bool) (freed chan struct{}, err error) {
	l := c.of
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case c.closed: // in favour of another stranger
		return nil, net.ErrClosed
	case c.kind != stranger:
		return nil, nil
	}
	if l.count[client] >= l.limits.Connections {
		victim := l.idle()
		if victim == nil && anyone {
			victim = l.fairer(client, c)
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
	l.become(c, client)
	return nil, nil
}

// idle returns the oldest client between two requests, nil: there is none. The
// caller holds the lock.
func (l *connections) idle() *connection {
	for _, c := range l.open {
		if c.kind == client && c.idle {
			return c
		}
	}
	return nil
}

// follow makes a tail of a client; false: there are enough.
func (c *connection) follow(anyone bool) bool {
	l := c.of
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.closed {
		return false
	}
	if l.count[tail] >= l.limits.Tails {
		var victim *connection
		if anyone {
			victim = l.fairer(tail, c)
		}
		if victim == nil {
			return false
		}
		l.remove(victim)
		victim.Conn.Close()
	}
	l.become(c, tail)
	return true
}

// Read skips empty lines between requests, as RFC 9112, 2.2 asks a server to. While a handler runs, net/http reads one byte ahead, to
// learn that the client hung up; supervisorctl sends one line end too many, and
// with that as the byte its end would be known only when the log grows.
func (c *connection) Read(p []byte) (int, error) {
	for {
		n, err := c.Conn.Read(p)
		if lineEnd := n == 1 && (p[0] == '\r' || p[0] == '\n'); err != nil || len(p) > 1 || !lineEnd {
			return n, err
		}
	}
}

// Close also makes room for another.
func (c *connection) Close() error {
	c.of.mu.Lock()
	c.of.remove(c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}

// counted returns the connection under what net/http has, nil: it is not one of ours.
func counted(conn net.Conn) *connection {
	if encrypted, ok := conn.(*tls.Conn); ok {
		conn = encrypted.NetConn()
	}
	c, _ := conn.(*connection)
	return c
}

// connectionKey is where the context of a request has its connection.
type connectionKey struct{}

func withConnection(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connectionKey{}, counted(conn))
}

// connectionOf returns the connection of a request, nil: it came by none.
func connectionOf(r *http.Request) *connection {
	c, _ := r.Context().Value(connectionKey{}).(*connection)
	return c
}

// noteState notes when a client is between two requests.
func noteState(conn net.Conn, state http.ConnState) {
	c := counted(conn)
	if c == nil {
		return
	}
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	if c.idle = state == http.StateIdle; c.idle {
		c.of.wake()
	}
}
