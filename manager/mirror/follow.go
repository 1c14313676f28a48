package mirror

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/toskose/toskose/manager/unitclient"
	"github.com/toskose/toskose/unit/wire"
)

// follower follows the journal of the unit at one address. One goroutine runs it;
// the Mirror's lock guards place, first and left.
type follower struct {
	m      *Mirror
	node   *node
	place  *place
	unit   Unit
	cancel context.CancelFunc
	asked  bool   // not the first request
	first  bool   // the node's state is unknown until this follower's first request completes
	left   string // the instance that is no longer discovered; empty: it is discovered

	dismissed bool // the unit announced its shutdown
}

// maxBackoff is the longest pause between requests to an unresponsive unit.
const maxBackoff = 2 * time.Second

// run follows until ctx ends.
func (f *follower) run(ctx context.Context) {
	for delay := f.m.opts.Backoff; ctx.Err() == nil; delay = min(2*delay, maxBackoff) {
		heard := false
		err := f.follow(ctx, &heard)
		if ctx.Err() != nil {
			return
		}
		if heard {
			delay = f.m.opts.Backoff
		}
		if f.leaves(err) {
			return
		}
		if err != nil {
			f.lose(err)
		}
		sleep(ctx, delay)
	}
}

// follow mirrors the unit until it is unreachable or is another instance.
func (f *follower) follow(ctx context.Context, heard *bool) (err error) {
	var r *Replica
	var events []Event
	connect := func() { r, events, err = f.connect(ctx, f.known()) }
	if f.asked {
		connect()
	} else {
		f.m.first(ctx, connect)
	}
	f.asked = true
	if err != nil || r == nil {
		return err
	}
	for {
		*heard = true
		if f.take(r, events); ctx.Err() != nil {
			return nil
		}
		asked := time.Now()
		page, err := f.unit.Journal(ctx, unitclient.Cursor(r.Instance, r.Seq), f.m.opts.Poll)
		switch {
		case err != nil:
			return err
		case page.Instance != r.Instance || page.Reset:
			return nil
		}
		r.heard.Store(time.Now().UnixNano())
		if f.dismissed = len(page.Entries) == 0 && time.Since(asked) < f.m.opts.Poll-f.m.opts.Poll/1000; f.dismissed {
			sleep(ctx, f.m.opts.Backoff) // avoid a busy loop if the unit does not wait
		}
		if r, events, err = f.hear(ctx, r, page.Entries); err != nil {
			return err
		}
	}
}

// known returns the replica's last known state.
func (f *follower) known() *Replica {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if f.place.follower != f {
		return &Replica{}
	}
	return f.place.now
}

// connect returns the replica's current state, and its events: the ones since the known state, or the states of
// all components if there is none.
func (f *follower) connect(ctx context.Context, known *Replica) (*Replica, []Event, error) {
	if known.Instance != "" {
		page, err := f.unit.Journal(ctx, unitclient.Cursor(known.Instance, known.Seq), 0)
		if err != nil {
			return nil, nil, err
		}
		if page.Instance == known.Instance && !page.Reset {
			r, events, err := f.hear(ctx, known, page.Entries)
			return r, append([]Event{known.event(EventReachable)}, events...), err
		}
	}
	r, err := f.greet(ctx, &Replica{Node: known.Node, Address: known.Address, heard: new(atomic.Int64)})
	if err != nil {
		return nil, nil, err
	}
	return r, r.states(), nil
}

// hear returns the replica after further journal entries, and their events. After a boot or a reload, the unit's
// complete state is fetched again, because the entries do not contain all changes.
func (f *follower) hear(ctx context.Context, known *Replica, entries []wire.Entry) (*Replica, []Event, error) {
	r, events := known.after(entries)
	if !slices.ContainsFunc(entries, func(e wire.Entry) bool { return e.Kind == wire.EntryBoot || e.Kind == wire.EntryReload }) {
		return r, events, nil
	}
	now, err := f.greet(ctx, r)
	if err != nil {
		return nil, nil, err
	}
	page, err := f.unit.Journal(ctx, unitclient.Cursor(r.Instance, r.Seq), 0)
	if err != nil {
		return nil, nil, err
	}
	_, more := r.after(slices.DeleteFunc(page.Entries, func(e wire.Entry) bool { return e.Seq > now.Seq }))
	return now, append(events, more...), nil
}

// greet returns the replica with the complete state of the unit and its components.
func (f *follower) greet(ctx context.Context, known *Replica) (*Replica, error) {
	page, err := f.unit.Journal(ctx, unitclient.Now, 0)
	if err != nil {
		return nil, err
	}
	if len(page.Entries) != 1 || page.Entries[0].Unit == nil {
		return nil, fmt.Errorf("%w: it says no hello", unitclient.ErrBadAnswer)
	}
	hello := page.Entries[0]
	if known.Instance != "" && known.Instance != hello.Instance {
		return nil, errReplaced
	}
	r := *known
	r.Instance, r.Booted, r.Labels, r.Seq = hello.Instance, hello.Unit.Booted, hello.Unit.Labels, hello.Seq
	r.Digest = hello.Unit.Digest
	r.Components = make([]*Component, len(hello.Components))
	for i := range hello.Components {
		r.Components[i] = &hello.Components[i]
		r.Components[i].Recent = wire.Bounded(r.Components[i].Recent, Remembered)
	}
	r.heard.Store(time.Now().UnixNano())
	return &r, nil
}

var errReplaced = errors.New("its container is being replaced")

// after returns the replica after further journal entries, and their events.
func (r *Replica) after(entries []wire.Entry) (*Replica, []Event) {
	next := *r
	next.Problem, next.Since = nil, time.Time{}
	next.heard.Store(time.Now().UnixNano())
	if len(entries) > 0 {
		next.Components = slices.Clone(r.Components)
	}
	var events []Event
	for _, e := range entries {
		next.Seq = max(next.Seq, e.Seq)
		switch {
		case e.Kind == wire.EntryCheckpoint: // contains nothing new
		case e.Component != "":
			next.fold(e)
			told := next.event(string(e.Kind))
			told.Time, told.Seq, told.Component, told.State, told.Why = e.Time, e.Seq, e.Component, e.State, e.Why
			if e.Execution != nil {
				told.Execution = e.Execution.Brief()
			}
			events = append(events, told)
		}
	}
	return &next, events
}

func (r *Replica) fold(e wire.Entry) {
	i, known := slices.BinarySearchFunc(r.Components, e.Component, compareName)
	if !known {
		r.Components = slices.Insert(r.Components, i, &Component{Component: e.Component})
	}
	next := r.Components[i].After(e, Remembered)
	r.Components[i] = &next
}

// take publishes the replica's new state and events.
func (f *follower) take(r *Replica, events []Event) {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if f.place.follower != f {
		return
	}
	before := f.place.now
	f.settle()
	f.place.ended, f.place.replaced, f.place.answered = false, false, time.Now()
	if before.Instance == "" && !f.node.unmiss(r.Instance) {
		f.node.replace(f.place)
	}
	if before.Instance != "" && before.Instance != r.Instance {
		f.m.depart(f.place, fmt.Sprintf("its container was replaced: %s is now at its address", r.Instance))
	}
	if before.Problem == nil && before.Instance == r.Instance && before.Seq == r.Seq {
		return // the unit responded without news
	}
	if before.Problem != nil {
		f.m.opts.Logger.Info("unit heard", "node", r.Node, "replica", r.Address, "instance", r.Instance)
	}
	f.place.show(r)
	f.m.change(f.node)
	f.m.events.add(events...)
}

// lose marks the unit as unreachable, with the reason.
func (f *follower) lose(err error) {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if f.place.follower != f {
		return
	}
	f.settle()
	f.place.ended = f.place.ended || f.ended(err)
	before := f.place.now
	if same(before.Problem, err) {
		return
	}
	now := *before
	now.Problem = err
	if now.Since.IsZero() {
		now.Since = time.Now()
	}
	if before.Problem == nil || errors.Is(before.Problem, errUnheard) {
		f.m.opts.Logger.Warn("unit unreachable", "node", now.Node, "replica", now.Address, "error", err)
		e := now.event(EventUnreachable)
		e.Why = err.Error()
		f.m.events.add(e)
	}
	f.place.show(&now)
	f.m.change(f.node)
}

// settle records that the follower's first request has completed. The caller holds the lock.
func (f *follower) settle() {
	if f.first {
		f.first = false
		f.node.waiting--
		f.m.change(f.node)
	}
}

// states returns events with the current states of the components.
func (r *Replica) states() []Event {
	events := make([]Event, len(r.Components))
	for i, c := range r.Components {
		events[i] = r.event(EventState)
		e := &events[i]
		e.Time, e.Component, e.State, e.Why, e.Seq = c.Since, c.Component, c.State, c.Why, c.Seq
	}
	return events
}

// event returns an event about the replica.
func (r *Replica) event(kind string) Event {
	return Event{Kind: kind, Time: time.Now(), Node: r.Node, Replica: r.Address.String(), Instance: r.Instance}
}
