package events

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"
)

// queuedEvent is an event in the buffer of a pool.
type queuedEvent struct {
	Event
	Serial     uint64 // among all events that any pool accepted
	PoolSerial uint64 // among the events of its pool
	returned   bool   // a listener did not accept it
	rejections int    // number of rejections
	due        time.Time
}

// encode returns the event in the format of the protocol.
func (n queuedEvent) encode(server, pool string) []byte {
	return fmt.Appendf(nil, "ver:3.0 server:%s serial:%d pool:%s poolserial:%d eventname:%s len:%d\n%s",
		server, n.Serial, pool, n.PoolSerial, n.Type, len(n.Payload), n.Payload)
}

// PoolOptions configure a Pool.
type PoolOptions struct {
	Name       string       // x in [eventlistener:x]
	Server     string       // identifier of the unit
	Events     []Type       // the subscribed types
	BufferSize int          // number of events to buffer; at least 1
	Logger     *slog.Logger // nil: no logging

	// Relay is called with the first MiB of the body of every result; every complete result then
	// accepts the event. If nil, only OK does. A listener's output is not read during the call.
	Relay func(body string)
}

// Pool distributes events among its listeners: each event goes to one of them.
type Pool struct {
	o PoolOptions

	mu        sync.Mutex
	serial    uint64 // of the next event
	buffer    []queuedEvent
	listeners []*Listener // that have joined and not left
	dropped   int         // events dropped since the last one was sent
	accepted  int
	retry     *time.Timer   // delivers the first event after a rejection; nil if there was none yet
	changed   chan struct{} // closed by the next change; nil without waiters
}

// NewPool returns a pool without listeners. It receives events after [Hub.Add].
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
	current *queuedEvent // sent but not answered
}

// Join adds a listener. send passes an event to the process without blocking; if it returns false,
// the conversation ends. It is called with the pool's lock held.
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

// Running sets whether the listener's process is in state RUNNING; only then does it receive
// events.
func (l *Listener) Running(running bool) {
	l.pool.update(func() []logMessage {
		l.running = running
		return nil
	})
}

// Receive processes output of the listener's process.
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

// Unreachable records that nothing can be sent to the listener's process any more.
func (l *Listener) Unreachable(why error) {
	l.pool.update(func() []logMessage {
		if l.talk.State() == Unknown || !slices.Contains(l.pool.listeners, l) {
			return nil
		}
		l.talk = Conversation{state: Unknown}
		return l.pool.stopSending(l, why)
	})
}

// Leave removes a listener whose process has ended. An unanswered event goes to another listener.
// send is not called any more.
func (l *Listener) Leave() {
	p := l.pool
	p.update(func() []logMessage {
		p.listeners = slices.DeleteFunc(p.listeners, func(other *Listener) bool { return other == l })
		return p.requeue(l, "it exited before it answered")
	})
}

// State returns the state of the listener.
func (l *Listener) State() State {
	l.pool.mu.Lock()
	defer l.pool.mu.Unlock()
	return l.talk.State()
}

// Quiet blocks until all events have been accepted, no listener remains that could accept one, none
// has been accepted for idle, or ctx is done.
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

// wants reports whether the pool has subscribed to a type.
func (p *Pool) wants(t Type) bool { return slices.ContainsFunc(p.o.Events, t.is) }

// offer buffers an event for the listeners. The caller logs the returned messages.
func (p *Pool) offer(e Event, serial uint64) []logMessage {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := queuedEvent{Event: e, Serial: serial, PoolSerial: p.serial}
	p.serial++
	reports := p.makeRoom()
	p.buffer = append(p.buffer, n)
	return append(reports, p.dispatch()...)
}

// update calls do with the lock held, sends pending events, and logs the messages after releasing
// the lock.
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

// dispatch sends buffered events to ready listeners.
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
			reports = append(reports, p.stopSending(l, fmt.Errorf("%w: it answered an event that it has not read", ErrProtocol))...)
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

// makeRoom drops the oldest event if the buffer is full. Only the first loss is logged until a
// listener accepts an event again, so that a stuck listener cannot flood the log.
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

// requeue returns an event that was not accepted to its place in the buffer.
func (p *Pool) requeue(l *Listener, why string) []logMessage {
	if l.current == nil {
		return nil
	}
	n := *l.current
	l.current = nil
	reports := p.makeRoom()
	if !n.returned { // log it once, since it may be rejected again and again
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

// stopSending stops sending events to a listener for the rest of its run.
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

// logMessage is a message to log after releasing the lock.
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
