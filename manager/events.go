package manager

import (
	"context"
	"net/netip"
	"sync"
	"time"

	"github.com/toskose/toskose/manager/unitclient"
	"github.com/toskose/toskose/unit/wire"
)

// The kinds of events beside those of journal entries.
const (
	EventState       = "state"       // a component's state when its replica is watched from now on, or again
	EventUnreachable = "unreachable" // a replica's unit no longer answers
)

// Event is something that happened to a component, or to a replica.
type Event struct {
	Kind      string          `json:"kind"` // of the journal's entry, EventState or EventUnreachable
	Time      time.Time       `json:"time"`
	Node      string          `json:"node"`
	Replica   string          `json:"replica"`
	Instance  string          `json:"instance,omitempty"`
	Seq       uint64          `json:"seq,omitempty"`
	Component string          `json:"component,omitempty"`
	State     string          `json:"state,omitempty"`
	Why       string          `json:"why,omitempty"`
	Execution *wire.Execution `json:"execution,omitempty"`
}

// Events sends one EventState for each component on each replica, and then what
// the journals of all units record. It notices replicas that come and go. The
// channel is closed when ctx or the App ends; until then it must be read.
func (a *App) Events(ctx context.Context) <-chan Event {
	events := make(chan Event)
	ctx, cancel := a.bounded(ctx)
	var watches sync.WaitGroup
	for _, n := range a.nodes {
		if n.toskosed {
			watches.Go(func() { a.watchNode(ctx, n, events) })
		}
	}
	a.running.Go(func() {
		watches.Wait()
		cancel()
		close(events)
	})
	return events
}

// watchNode watches each replica of a node for as long as it is there.
func (a *App) watchNode(ctx context.Context, n *node, events chan<- Event) {
	var watches sync.WaitGroup
	defer watches.Wait()
	watched := map[netip.AddrPort]context.CancelFunc{}
	for ctx.Err() == nil {
		replicas, err := a.replicas(ctx, n, "")
		if err != nil {
			a.log.Debug("cannot find the replicas to watch", "node", n.name(), "error", err)
		}
		there := map[netip.AddrPort]bool{}
		for _, r := range replicas {
			there[r.addr] = true
			if watched[r.addr] == nil {
				one, cancel := context.WithCancel(ctx)
				watched[r.addr] = cancel
				watches.Go(func() { a.watch(one, r, events) })
			}
		}
		for addr, cancel := range watched {
			if !there[addr] {
				cancel()
				delete(watched, addr)
			}
		}
		a.sleep(ctx, a.opts.Rediscover)
	}
	for _, cancel := range watched {
		cancel()
	}
}

// watch follows one unit, and starts again whenever it answers after a silence.
func (a *App) watch(ctx context.Context, r replica, events chan<- Event) {
	silent := false
	for delay := a.opts.Backoff; ctx.Err() == nil; delay = min(2*delay, 2*time.Second) {
		seen := observe(ctx, r, statesOnly)
		if seen.err == nil {
			silent, delay = false, a.opts.Backoff
			a.follow(ctx, seen, events)
		}
		if ctx.Err() == nil && !silent && seen.err != nil {
			silent = true
			send(ctx, events, Event{
				Kind: EventUnreachable, Time: time.Now(), Node: r.node.name(), Replica: r.addr.String(), Why: seen.err.Error(),
			})
		}
		a.sleep(ctx, delay)
	}
}

// follow sends what the journal of one instance records, until its unit does not
// answer or is another instance.
func (a *App) follow(ctx context.Context, seen observation, events chan<- Event) {
	r, instance := seen.replica, seen.snapshot.Instance
	base := Event{Node: r.node.name(), Replica: r.addr.String(), Instance: instance}
	for _, c := range seen.snapshot.Components {
		e := base
		e.Kind, e.Time, e.Component, e.State, e.Why, e.Seq = EventState, c.Since, c.Name, c.State, c.Why, c.Seq
		send(ctx, events, e)
	}
	seq := seen.snapshot.Seq
	for ctx.Err() == nil {
		page, err := r.unit.Journal(ctx, unitclient.Cursor(instance, seq), a.opts.Poll)
		if err != nil || page.Instance != instance || page.Reset {
			return
		}
		for _, entry := range page.Entries {
			seq = max(seq, entry.Seq)
			if entry.Component == "" {
				continue
			}
			e := base
			e.Kind, e.Time, e.Seq, e.Component = string(entry.Kind), entry.Time, entry.Seq, entry.Component
			e.State, e.Why, e.Execution = entry.State, entry.Why, entry.Execution
			send(ctx, events, e)
		}
		if len(page.Entries) == 0 {
			a.sleep(ctx, a.opts.Backoff) // do not spin if the unit does not wait
		}
	}
}

func send(ctx context.Context, events chan<- Event, e Event) {
	select {
	case events <- e:
	case <-ctx.Done():
	}
}
