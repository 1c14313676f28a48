package unit

import (
	"context"
	"io"
	"os"
	"sync"
	"time"

	"github.com/toskose/toskose/unit/config"
	"github.com/toskose/toskose/unit/events"
	"github.com/toskose/toskose/unit/wire"
)

// lastEvents is how long a shutdown waits for a listener that still has events
// to take and accepts none of them.
const lastEvents = time.Second

// listen makes the pool of an event listener's processes. It keeps events from
// now on, whether or not they run; u.events.Remove ends that. nil has none.
func (u *Unit) listen(l *config.Listener) *events.Pool {
	if l == nil {
		return nil
	}
	types := make([]events.Type, 0, len(l.Events))
	for _, name := range l.Events {
		types = append(types, events.Type(name))
	}
	pool := events.NewPool(events.PoolOptions{
		Name: l.Name, Server: u.config.Supervisord.Identifier, Events: types, BufferSize: l.BufferSize, Logger: u.log,
	})
	u.events.Add(pool)
	return pool
}

// finishListening lets the listeners among programs that are about to be
// stopped take the events that wait for them, as long as they do, and no longer
// than a stop of them may take.
func (u *Unit) finishListening(batch []*program) {
	var listening sync.WaitGroup
	for _, p := range batch {
		if p.pool == nil {
			continue
		}
		listening.Go(func() {
			ctx, cancel := context.WithTimeout(u.life, p.stopWait())
			defer cancel()
			p.pool.Quiet(ctx, lastEvents)
		})
	}
	listening.Wait()
}

// ear is the connection to one run of a process of an event listener.
type ear struct {
	listener *events.Listener
	outbox   chan []byte // an event that its standard input has to take
}

// hark connects the process that was just started with its pool. One goroutine
// writes to it, so that nobody else waits for one that does not read; it ends
// with deafen.
func (p *program) hark(stdin *os.File) *ear {
	if p.pool == nil {
		return nil
	}
	e := &ear{outbox: make(chan []byte, 1)}
	e.listener = p.pool.Join(func(event []byte) bool {
		select {
		case e.outbox <- event:
			return true
		default:
			return false
		}
	})
	p.waiters.Go(func() {
		for event := range e.outbox {
			if _, err := stdin.Write(event); err != nil {
				e.listener.Unreachable(err)
			}
		}
	})
	return e
}

// deafen gives up the connection. What the listener did not answer goes back to
// its pool.
func (p *program) deafen() {
	if p.ear == nil {
		return
	}
	p.ear.listener.Leave()
	close(p.ear.outbox)
	p.ear = nil
	p.closeStdin() // a write may be waiting for it
}

// author is the process that writes what pumps carry. They run before it does,
// and wait here until it is known.
type author struct {
	once  sync.Once
	known chan struct{} // closed when pid and ear are set
	pid   int           // 0: it was never started
	ear   *ear          // nil: it is no event listener
}

func newAuthor() *author { return &author{known: make(chan struct{})} }

func (a *author) is(pid int, e *ear) {
	a.once.Do(func() {
		a.pid, a.ear = pid, e
		close(a.known)
	})
}

// overheard is a log whose writes become events, or the words of a listener.
type overheard struct {
	io.Writer
	author  *author
	hub     *events.Hub
	process events.Process
	stream  wire.Stream
	emits   bool // events_enabled
}

// overhear gives what a stream is written to, with to as its log.
func (p *program) overhear(to io.Writer, stream wire.Stream, by *author) io.Writer {
	o := overheard{
		Writer: to, author: by, hub: &p.world.events, process: p.eventful(), stream: stream,
		emits: p.cfg.Stdout.EventsEnabled,
	}
	if stream == wire.Stderr {
		o.emits = p.cfg.Stderr.EventsEnabled
	}
	speaks := p.pool != nil && stream == wire.Stdout
	if speaks {
		o.emits = false // its answers are no log: an event of each would never end
	}
	if !o.emits && !speaks {
		return to
	}
	return o
}

func (o overheard) Write(data []byte) (int, error) {
	n, err := o.Writer.Write(data)
	<-o.author.known
	if o.author.ear != nil && o.stream == wire.Stdout {
		o.author.ear.listener.Heard(data)
	}
	if o.emits && o.author.pid != 0 && o.hub.Wants(events.LogType(o.stream)) {
		o.hub.Emit(events.Logged(o.process, o.author.pid, o.stream, data))
	}
	return n, err
}
