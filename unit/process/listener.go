package process

import (
	"io"
	"os"
	"sync"

	"github.com/toskose/toskose/unit/events"
	"github.com/toskose/toskose/unit/wire"
)

// connection is that of one run of an event listener to its pool.
type connection struct {
	listener *events.Listener
	outbox   chan []byte // an event that its standard input has to take
}

// attachListener connects the process that was just started with its pool. One goroutine
// writes to it, so that nobody else waits for one that does not read; it ends
// with detachListener.
func (p *owner) attachListener(stdin *os.File) *connection {
	if p.pool == nil {
		return nil
	}
	c := &connection{outbox: make(chan []byte, 1)}
	c.listener = p.pool.Join(func(event []byte) bool {
		select {
		case c.outbox <- event:
			return true
		default:
			return false
		}
	})
	p.waiters.Go(func() {
		for event := range c.outbox {
			if _, err := stdin.Write(event); err != nil {
				c.listener.Unreachable(err)
			}
		}
	})
	return c
}

// detachListener gives up the connection. What the listener did not answer goes back to
// its pool.
func (p *owner) detachListener() {
	if p.connection == nil {
		return
	}
	p.connection.listener.Leave()
	close(p.connection.outbox)
	p.connection = nil
	p.closeStdin() // a write may be waiting for it
}

// author is the process that writes what pumps carry. They run before it does,
// and wait here until it is known.
type author struct {
	once       sync.Once
	known      chan struct{} // closed when pid and connection are set
	pid        int           // 0: it was never started
	connection *connection   // nil: it is not an event listener
}

func newAuthor() *author { return &author{known: make(chan struct{})} }

func (a *author) is(pid int, c *connection) {
	a.once.Do(func() {
		a.pid, a.connection = pid, c
		close(a.known)
	})
}

// eventWriter is a log whose writes become events, or the answers of a listener.
type eventWriter struct {
	io.Writer
	author  *author
	hub     *events.Hub
	process events.Process
	stream  wire.Stream
	emits   bool // events_enabled
}

// withEvents makes events of what goes to a log, where the program's are wanted.
func (p *owner) withEvents(to io.Writer, stream wire.Stream, by *author) io.Writer {
	w := eventWriter{
		Writer: to, author: by, hub: p.table.o.Events, process: p.eventful(), stream: stream,
		emits: p.cfg.Stdout.EventsEnabled,
	}
	if stream == wire.Stderr {
		w.emits = p.cfg.Stderr.EventsEnabled
	}
	speaks := p.pool != nil && stream == wire.Stdout
	if speaks {
		w.emits = false // its answers are not a log: an event of each would never end
	}
	if !w.emits && !speaks {
		return to
	}
	return w
}

func (w eventWriter) Write(data []byte) (int, error) {
	n, err := w.Writer.Write(data)
	<-w.author.known
	if w.author.connection != nil && w.stream == wire.Stdout {
		w.author.connection.listener.Receive(data)
	}
	if w.emits && w.author.pid != 0 && w.hub.Wants(events.LogType(w.stream)) {
		w.hub.Emit(events.Logged(w.process, w.author.pid, w.stream, data))
	}
	return n, err
}
