package mirror

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/toskose/toskose/internal/sleep"
	"github.com/toskose/toskose/manager/reason"
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

	shuttingDown bool // the unit announced its shutdown
}

// maxBackoff is the longest pause between requests to an unresponsive unit.
const maxBackoff = 2 * time.Second

// run follows until ctx ends.
func (f *follower) run(ctx context.Context) {
	for delay := f.m.opts.Backoff; ctx.Err() == nil; delay = min(2*delay, maxBackoff) {
		answered := false
		err := f.follow(ctx, &answered)
		if ctx.Err() != nil {
			return
		}
		if answered {
			delay = f.m.opts.Backoff
		}
		if f.recordEnd(err) {
			return
		}
		if err != nil {
			f.markUnreachable(err)
		}
		_ = sleep.For(ctx, delay)
	}
}

// follow mirrors the unit until it is unreachable or is another instance.
func (f *follower) follow(ctx context.Context, answered *bool) (err error) {
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
		*answered = true
		if f.publish(r, events); ctx.Err() != nil {
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
		if f.shuttingDown = len(page.Entries) == 0 && time.Since(asked) < f.m.opts.Poll-f.m.opts.Poll/1000; f.shuttingDown {
			_ = sleep.For(ctx, f.m.opts.Backoff) // avoid a busy loop if the unit does not wait
		}
		if r, events, err = f.apply(ctx, r, page.Entries); err != nil {
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
			r, events, err := f.apply(ctx, known, page.Entries)
			return r, append([]Event{known.event(EventReachable)}, events...), err
		}
	}
	r, err := f.fetch(ctx, &Replica{Node: known.Node, Address: known.Address, heard: new(atomic.Int64)})
	if err != nil {
		return nil, nil, err
	}
	return r, r.states(), nil
}

// apply returns the replica after further journal entries, and their events. After a boot or a reload, the unit's
// complete state is fetched again, because the entries do not contain all changes.
func (f *follower) apply(ctx context.Context, known *Replica, entries []wire.Entry) (*Replica, []Event, error) {
	r, events := known.after(entries)
	if !slices.ContainsFunc(entries, func(e wire.Entry) bool { return e.Kind == wire.EntryBoot || e.Kind == wire.EntryReload }) {
		return r, events, nil
	}
	now, err := f.fetch(ctx, r)
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

// fetch returns the replica with the complete state of the unit and its components.
func (f *follower) fetch(ctx context.Context, known *Replica) (*Replica, error) {
	page, err := f.unit.Journal(ctx, unitclient.Now, 0)
	if err != nil {
		return nil, err
	}
	if len(page.Entries) != 1 || page.Entries[0].Unit == nil {
		return nil, fmt.Errorf("%w: it did not report its state", unitclient.ErrBadAnswer)
	}
	state := page.Entries[0]
	if known.Instance != "" && known.Instance != state.Instance {
		return nil, errReplaced
	}
	r := *known
	r.Instance, r.Booted, r.Labels, r.Seq = state.Instance, state.Unit.Booted, state.Unit.Labels, state.Seq
	r.Digest, r.Programs = state.Unit.Digest, state.Unit.Programs
	r.Components = make([]*Component, len(state.Components))
	for i := range state.Components {
		r.Components[i] = &state.Components[i]
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
			published := next.event(string(e.Kind))
			published.Time, published.Seq, published.Component, published.State, published.Why = e.Time, e.Seq, e.Component, e.State, e.Why
			published.Failing, published.Reason = e.Failing, reason.Of(next.Component(e.Component))
			if e.Execution != nil {
				published.Execution = e.Execution.Brief()
			}
			events = append(events, published)
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

// publish publishes the replica's new state and events.
func (f *follower) publish(r *Replica, events []Event) {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if f.place.follower != f {
		return
	}
	before := f.place.now
	f.completeFirst()
	f.place.ended, f.place.replaced, f.place.answered = false, false, time.Now()
	if before.Instance == "" && !f.node.removeMissing(r.Instance) {
		f.node.markReplaced(f.place)
	}
	if before.Instance != "" && before.Instance != r.Instance {
		f.m.showRemoved(f.place, fmt.Sprintf("its container was replaced: %s is now at its address", r.Instance))
	}
	if before.Problem == nil && before.Instance == r.Instance && before.Seq == r.Seq {
		return // the unit responded without news
	}
	if before.Problem != nil {
		f.m.opts.Logger.Info("unit reachable", "node", r.Node, "replica", r.Address, "instance", r.Instance)
	}
	f.place.show(r)
	f.m.change(f.node)
	f.m.events.add(events...)
}

// markUnreachable marks the unit as unreachable, with the reason.
func (f *follower) markUnreachable(err error) {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if f.place.follower != f {
		return
	}
	f.completeFirst()
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
	if before.Problem == nil || errors.Is(before.Problem, errNotAnswered) {
		f.m.opts.Logger.Warn("unit unreachable", "node", now.Node, "replica", now.Address, "error", err)
		e := now.event(EventUnreachable)
		e.Why = err.Error()
		f.m.events.add(e)
	}
	f.place.show(&now)
	f.m.change(f.node)
}

// completeFirst records that the follower's first request has completed. The caller holds the lock.
func (f *follower) completeFirst() {
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
		e.Time, e.Component, e.State, e.Why, e.Seq, e.Failing = c.Since, c.Component, c.State, c.Why, c.Seq, c.Failing
		e.Reason = reason.Of(c)
	}
	return events
}

// event returns an event about the replica.
func (r *Replica) event(kind string) Event {
	return Event{Kind: kind, Time: time.Now(), Node: r.Node, Replica: r.Address.String(), Instance: r.Instance}
}
