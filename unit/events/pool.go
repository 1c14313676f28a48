package events

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"
)

// notice is an event on its way to a listener.
type queuedEvent struct {
	Event
	Serial     uint64 // among all events that any pool accepted into its buffer
	PoolSerial uint64 // among those of its pool
	returned   bool   // a listener did not accept it
	rejections int    // how often one has rejected it
	due        time.Time
}

// encode returns the event as a listener reads it.
func (n queuedEvent) encode(server, pool string) []byte {
	return fmt.Appendf(nil, "ver:3.0 server:%s serial:%d pool:%s poolserial:%d eventname:%s len:%d\n%s",
		server, n.Serial, pool, n.PoolSerial, n.Type, len(n.Payload), n.Payload)
}

// PoolOptions configure a Pool.
type PoolOptions struct {
	Name       string       // the x of [eventlistener:x]
	Server     string       // identifier of the unit
	Events     []Type       // what it subscribes to
	BufferSize int          // how many events it buffers for its listeners; at least 1
	Logger     *slog.Logger // nil: nothing is logged

	// Relay is given the body of every result, the first MiB of it, and any
	// complete result accepts an event then; nil: only OK does. A listener's
	// output is not read while it runs.
	Relay func(body string)
}

// Pool distributes events among its listeners: each event goes to one of them.
type Pool struct {
	o PoolOptions

	mu        sync.Mutex
	serial    uint64 // of the next notice
	buffer    []queuedEvent
	listeners []*Listener // that have joined and not left
	dropped   int         // events, since the last one was sent
	accepted  int
	retry     *time.Timer   // for the first event, where it was rejected; nil: there was none yet
	changed   chan struct{} // closed by the next change; nil: nobody waits
}

// NewPool returns a pool without listeners. It gets no events before [Hub.Add].
func NewPool(o PoolOptions) *Pool {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.BufferSize = max(o.BufferSize, 1)
	return &Pool{o: o}
}

// Listener is one run of a process of a pool.
type Listener struct {
	pool    *Pool
	send    func([]byte) bool
	talk    Conversation
	running bool
	current *queuedEvent // sent and not answered
}

// Join adds a listener. send passes an event on to the process without waiting;
// false means that it cannot, which ends the conversation. It is called with the
// pool's lock held.
func (p *Pool) Join(send func([]byte) bool) *Listener {
	l := &Listener{pool: p, send: send}
	if p.o.Relay != nil {
		l.talk.maxResult = maxRelayed
	}
	p.update(func() []logMessage {
		p.listeners = append(p.listeners, l)
		return nil
	})
	return l
}

// Running sets whether the listener's process is in state RUNNING: only then
// does it get events.
func (l *Listener) Running(running bool) {
	l.pool.update(func() []logMessage {
		l.running = running
		return nil
	})
}

// Receive processes what the listener's process wrote to its standard output.
func (l *Listener) Receive(data []byte) {
	p := l.pool
	relayed := ""
	p.update(func() []logMessage {
		if !slices.Contains(p.listeners, l) {
			return nil // written by a descendant that outlived the process
		}
		var answer Answer
		var err error
		l.talk, answer, err = l.talk.Receive(data)
		var reports []logMessage
		if p.o.Relay != nil && answer != NoAnswer {
			answer = Accepted
			relayed, reports = l.relay()
		}
		switch answer {
		case Accepted:
			l.current = nil
			p.accepted++
		case Rejected:
			l.current.reject()
			reports = p.requeue(l, fmt.Sprintf("it answered %q", l.talk.Result()))
		case NoAnswer:
		}
		if err != nil {
			reports = append(reports, p.stopSending(l, err)...)
		}
		return reports
	})
	if relayed != "" {
		p.o.Relay(relayed)
	}
}

// Unreachable marks that nothing can be sent to the listener's process any more.
func (l *Listener) Unreachable(why error) {
	l.pool.update(func() []logMessage {
		if l.talk.State() == Unknown || !slices.Contains(l.pool.listeners, l) {
			return nil
		}
		l.talk = Conversation{state: Unknown}
		return l.pool.stopSending(l, why)
	})
}

// Leave removes the listener from its pool: its process has ended. An event that
// it has not answered goes to another listener. send is not called any more.
func (l *Listener) Leave() {
	p := l.pool
	p.update(func() []logMessage {
		p.listeners = slices.DeleteFunc(p.listeners, func(other *Listener) bool { return other == l })
		return p.requeue(l, "it ended before it answered")
	})
}

// State returns the state of the listener.
func (l *Listener) State() State {
	l.pool.mu.Lock()
	defer l.pool.mu.Unlock()
	return l.talk.State()
}

// Quiet waits until all events have been accepted, no listener is left that could
// accept one, none has been accepted for idle, or ctx is done.
func (p *Pool) Quiet(ctx context.Context, idle time.Duration) {
	timer := time.NewTimer(idle)
	defer timer.Stop()
	for before := -1; ; {
		p.mu.Lock()
		if p.isQuiet() {
			p.mu.Unlock()
			return
		}
		if p.changed == nil {
			p.changed = make(chan struct{})
		}
		changed, accepted := p.changed, p.accepted
		p.mu.Unlock()
		if accepted != before {
			timer.Reset(idle)
			before = accepted
		}
		select {
		case <-changed:
		case <-timer.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// wants reports whether the pool subscribes to a type.
func (p *Pool) wants(t Type) bool { return slices.ContainsFunc(p.o.Events, t.is) }

// offer buffers an event for the listeners. The caller logs what it returns.
func (p *Pool) offer(e Event, serial uint64) []logMessage {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := queuedEvent{Event: e, Serial: serial, PoolSerial: p.serial}
	p.serial++
	reports := p.makeRoom()
	p.buffer = append(p.buffer, n)
	return append(reports, p.dispatch()...)
}

// change calls do with the lock held, sends what can then be sent, and logs the
// reports after releasing the lock.
func (p *Pool) update(do func() []logMessage) {
	p.mu.Lock()
	reports := append(do(), p.dispatch()...)
	if p.changed != nil {
		close(p.changed)
		p.changed = nil
	}
	p.mu.Unlock()
	p.log(reports)
}

// dispatch sends buffered events to listeners that are ready.
func (p *Pool) dispatch() []logMessage {
	var reports []logMessage
	for _, l := range p.listeners {
		if len(p.buffer) == 0 {
			break
		}
		if !l.running {
			continue
		}
		talk, err := l.talk.Send()
		if err != nil {
			continue
		}
		n := p.buffer[0]
		if p.postpone(n) {
			break
		}
		if !l.send(n.encode(p.o.Server, p.o.Name)) {
			l.talk = Conversation{state: Unknown}
			reports = append(reports, p.stopSending(l, fmt.Errorf("%w: it answers events that it has not read", ErrProtocol))...)
			continue
		}
		p.buffer = slices.Delete(p.buffer, 0, 1)
		l.talk, l.current = talk, &n
		if p.dropped > 1 {
			reports = append(reports, logMessage{true, "events were dropped", []any{"events", p.dropped}})
		}
		p.dropped = 0
	}
	return reports
}

// makeRoom drops the oldest event if the buffer is full. Until a listener takes
// an event again only the first loss is logged, so that a listener that takes
// none cannot flood the log.
func (p *Pool) makeRoom() []logMessage {
	if len(p.buffer) < p.o.BufferSize {
		return nil
	}
	oldest := p.buffer[0]
	p.buffer = slices.Delete(p.buffer, 0, 1)
	p.dropped++
	if p.dropped > 1 {
		return nil
	}
	return []logMessage{{true, "the event buffer is full; the oldest event was dropped", []any{"event", string(oldest.Type), "serial", oldest.Serial}}}
}

// requeue returns an event that a listener did not accept to its place in the
// buffer.
func (p *Pool) requeue(l *Listener, why string) []logMessage {
	if l.current == nil {
		return nil
	}
	n := *l.current
	l.current = nil
	reports := p.makeRoom()
	if !n.returned { // logged once: it may be rejected for ever
		reports = append(reports, logMessage{
			false, "a listener did not accept an event; it will be delivered again",
			[]any{"event", string(n.Type), "serial", n.Serial, "why", why},
		})
	}
	n.returned = true
	at := slices.IndexFunc(p.buffer, func(other queuedEvent) bool { return other.PoolSerial > n.PoolSerial })
	if at < 0 {
		at = len(p.buffer)
	}
	p.buffer = slices.Insert(p.buffer, at, n)
	return reports
}

// abandon stops sending events to a listener for the rest of its run.
func (p *Pool) stopSending(l *Listener, why error) []logMessage {
	gone := logMessage{false, "a listener will get no more events", []any{"error", why}}
	return append([]logMessage{gone}, p.requeue(l, "it violates the protocol")...)
}

// isQuiet reports whether no further event will be accepted.
func (p *Pool) isQuiet() bool {
	waiting := len(p.buffer) > 0
	able := false
	for _, l := range p.listeners {
		waiting = waiting || l.current != nil
		able = able || l.running && l.talk.State() != Unknown
	}
	return !waiting || !able
}

// report is a message to log once the lock is released.
type logMessage struct {
	loss bool // an event was lost
	text string
	args []any
}

func (p *Pool) log(reports []logMessage) {
	for _, r := range reports {
		log := p.o.Logger.Warn
		if r.loss {
			log = p.o.Logger.Error
		}
		log(r.text, append([]any{"pool", p.o.Name}, r.args...)...)
	}
}
