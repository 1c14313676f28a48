package process

import (
	"io"
	"os"
	"sync"

	"github.com/toskose/toskose/unit/events"
	"github.com/toskose/toskose/unit/wire"
)

// connection connects one run of an event listener with its pool.
type connection struct {
	listener *events.Listener
	outbox   chan []byte // events to be written to its standard input
}

// attachListener connects the started process with its pool. One goroutine, which ends with
// detachListener, writes to it, so that a listener that does not read blocks no one else.
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

// detachListener closes the connection. Unanswered events return to the pool.
func (p *owner) detachListener() {
	if p.connection == nil {
		return
	}
	p.connection.listener.Leave()
	close(p.connection.outbox)
	p.connection = nil
	p.closeStdin() // unblocks a pending write
}

// outputSource identifies the process whose output the pumps carry. Pumps start before the process
// does and wait until it is known.
type outputSource struct {
	once       sync.Once
	known      chan struct{} // closed once pid and connection are set
	pid        int           // 0 if it was not started
	connection *connection   // nil unless it is an event listener
}

func newOutputSource() *outputSource { return &outputSource{known: make(chan struct{})} }

func (a *outputSource) set(pid int, c *connection) {
	a.once.Do(func() {
		a.pid, a.connection = pid, c
		close(a.known)
	})
}

// eventWriter turns writes to a log into events, or into the answers of an event listener.
type eventWriter struct {
	io.Writer
	source  *outputSource
	hub     *events.Hub
	process events.Process
	stream  wire.Stream
	emits   bool // events_enabled
}

// withEvents emits events for the writes to a log if the program is configured so.
func (p *owner) withEvents(to io.Writer, stream wire.Stream, by *outputSource) io.Writer {
	w := eventWriter{
		Writer: to, source: by, hub: p.table.opts.Events, process: p.eventProcess(), stream: stream,
		emits: p.cfg.Stdout.EventsEnabled,
	}
	if stream == wire.Stderr {
		w.emits = p.cfg.Stderr.EventsEnabled
	}
	speaks := p.pool != nil && stream == wire.Stdout
	if speaks {
		w.emits = false // answers are not log output: an event for each would cause another answer
	}
	if !w.emits && !speaks {
		return to
	}
	return w
}

func (w eventWriter) Write(data []byte) (int, error) {
	n, err := w.Writer.Write(data)
	<-w.source.known
	if w.source.connection != nil && w.stream == wire.Stdout {
		w.source.connection.listener.Receive(data)
	}
	if w.emits && w.source.pid != 0 && w.hub.Wants(events.LogType(w.stream)) {
		w.hub.Emit(events.Logged(w.process, w.source.pid, w.stream, data))
	}
	return n, err
}
