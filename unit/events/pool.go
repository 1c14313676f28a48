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
type notice struct {
	Event
	Serial     uint64 // among all events that any pool took
	PoolSerial uint64 // among those of its pool
	refused    bool   // a listener did not accept it
}

// encode gives what a listener reads.
func (n notice) encode(server, pool string) []byte {
	return fmt.Appendf(nil, "ver:3.0 server:%s serial:%d pool:%s poolserial:%d eventname:%s len:%d\n%s",
		server, n.Serial, pool, n.PoolSerial, n.Type, len(n.Payload), n.Payload)
}

// PoolOptions are what a Pool is made of.
type PoolOptions struct {
	Name       string       // the x of [eventlistener:x]
	Server     string       // identifier of the unit
	Events     []Type       // what it subscribes to
	BufferSize int          // how many events it keeps for its listeners; at least 1
	Logger     *slog.Logger // nil: nothing is logged
}

// Pool keeps events for its listeners, each of which gets other ones.
type Pool struct {
	o PoolOptions

	mu        sync.Mutex
	serial    uint64 // of the next notice
	buffer    []notice
	listeners []*Listener // that live
	dropped   int         // since the last notice was sent
	accepted  int
	changed   chan struct{} // closed by the next change; nil: nobody waits for one
}

// NewPool makes a pool that has no listener yet. Nothing reaches it before
// [Hub.Add] has it.
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
	current *notice // what it was sent and has not answered
}

// Join adds a listener. send passes an event on to the process and must not
// wait; it gives false where it cannot, which ends the conversation. It is called
// under the pool's lock.
func (p *Pool) Join(send func([]byte) bool) *Listener {
	l := &Listener{pool: p, send: send}
	p.change(func() []report {
		p.listeners = append(p.listeners, l)
		return nil
	})
	return l
}

// Running says whether the listener's process is in state RUNNING: only then it
// gets events.
func (l *Listener) Running(running bool) {
	l.pool.change(func() []report {
		l.running = running
		return nil
	})
}

// Heard takes in what the listener's process wrote to its standard output.
func (l *Listener) Heard(data []byte) {
	p := l.pool
	p.change(func() []report {
		if !slices.Contains(p.listeners, l) {
			return nil // written by what the process left
		}
		var answer Answer
		var err error
		l.talk, answer, err = l.talk.Hear(data)
		var reports []report
		switch answer {
		case Accepted:
			l.current = nil
			p.accepted++
		case Rejected:
			reports = p.takeBack(l, fmt.Sprintf("it answered %q", l.talk.Result()))
		case NoAnswer:
		}
		if err != nil {
			reports = append(reports, p.lose(l, err)...)
		}
		return reports
	})
}

// Unreachable says that the listener's process cannot be sent anything any more.
func (l *Listener) Unreachable(why error) {
	l.pool.change(func() []report {
		if l.talk.State() == Unknown || !slices.Contains(l.pool.listeners, l) {
			return nil
		}
		l.talk = Conversation{state: Unknown}
		return l.pool.lose(l, why)
	})
}

// Leave takes the listener out of its pool: its process has ended. What it had
// not answered is kept for another. send is not called any more.
func (l *Listener) Leave() {
	p := l.pool
	p.change(func() []report {
		p.listeners = slices.DeleteFunc(p.listeners, func(other *Listener) bool { return other == l })
		return p.takeBack(l, "it ended before it answered")
	})
}

// State gives where the conversation with the listener stands.
func (l *Listener) State() State {
	l.pool.mu.Lock()
	defer l.pool.mu.Unlock()
	return l.talk.State()
}

// Quiet waits until all events are accepted, no listener is left that could
// accept one, none has accepted one for as long as idle, or ctx ends.
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

// wants tells whether the pool subscribes to a type.
func (p *Pool) wants(t Type) bool { return slices.ContainsFunc(p.o.Events, t.is) }

// offer keeps an event for the listeners. Its caller logs what it gives.
func (p *Pool) offer(e Event, serial uint64) []report {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := notice{Event: e, Serial: serial, PoolSerial: p.serial}
	p.serial++
	reports := p.makeRoom()
	p.buffer = append(p.buffer, n)
	return append(reports, p.dispatch()...)
}

// change does something under the lock, sends what can be sent then, and logs
// what there is to say of it without the lock.
func (p *Pool) change(do func() []report) {
	p.mu.Lock()
	reports := append(do(), p.dispatch()...)
	if p.changed != nil {
		close(p.changed)
		p.changed = nil
	}
	p.mu.Unlock()
	p.log(reports)
}

// dispatch sends events to listeners as long as there are both.
func (p *Pool) dispatch() []report {
	var reports []report
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
		if !l.send(n.encode(p.o.Server, p.o.Name)) {
			l.talk = Conversation{state: Unknown}
			reports = append(reports, p.lose(l, fmt.Errorf("%w: it answers what it has not read", ErrNonsense))...)
			continue
		}
		p.buffer = slices.Delete(p.buffer, 0, 1)
		l.talk, l.current = talk, &n
		if p.dropped > 1 {
			reports = append(reports, report{true, "events were dropped", []any{"events", p.dropped}})
		}
		p.dropped = 0
	}
	return reports
}

// makeRoom drops the oldest event where the buffer is full. Until a listener
// takes one again only the first loss is logged, so that a listener that does
// not cannot make the unit write without end.
func (p *Pool) makeRoom() []report {
	if len(p.buffer) < p.o.BufferSize {
		return nil
	}
	oldest := p.buffer[0]
	p.buffer = slices.Delete(p.buffer, 0, 1)
	p.dropped++
	if p.dropped > 1 {
		return nil
	}
	return []report{{true, "the event buffer is full; its oldest event is dropped", []any{"event", string(oldest.Type), "serial", oldest.Serial}}}
}

// takeBack keeps what a listener did not accept, in its old place.
func (p *Pool) takeBack(l *Listener, why string) []report {
	if l.current == nil {
		return nil
	}
	n := *l.current
	l.current = nil
	reports := p.makeRoom()
	if !n.refused { // once: it may be refused for ever
		reports = append(reports, report{
			false, "a listener did not accept an event; it is delivered again",
			[]any{"event", string(n.Type), "serial", n.Serial, "why", why},
		})
	}
	n.refused = true
	at := slices.IndexFunc(p.buffer, func(other notice) bool { return other.PoolSerial > n.PoolSerial })
	if at < 0 {
		at = len(p.buffer)
	}
	p.buffer = slices.Insert(p.buffer, at, n)
	return reports
}

// lose gives a listener up for the rest of its run.
func (p *Pool) lose(l *Listener, why error) []report {
	lost := report{false, "a listener gets no events any more", []any{"error", why}}
	return append([]report{lost}, p.takeBack(l, "it is not understood")...)
}

// isQuiet tells whether nothing more is going to be accepted.
func (p *Pool) isQuiet() bool {
	waiting := len(p.buffer) > 0
	able := false
	for _, l := range p.listeners {
		waiting = waiting || l.current != nil
		able = able || l.running && l.talk.State() != Unknown
	}
	return !waiting || !able
}

// report is something to log.
type report struct {
	lost bool // something is
	text string
	more []any
}

func (p *Pool) log(reports []report) {
	for _, r := range reports {
		log := p.o.Logger.Warn
		if r.lost {
			log = p.o.Logger.Error
		}
		log(r.text, append([]any{"pool", p.o.Name}, r.more...)...)
	}
}
