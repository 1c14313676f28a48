package mirror

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toskose/toskose/unit/wire"
)

// The kinds of events in addition to the kinds of journal entries.
const (
	EventState       = "state"       // a component's state when its replica starts being watched
	EventUnreachable = "unreachable" // a replica's unit became unresponsive
	EventReachable   = "reachable"   // it responds again; its events follow
	EventVanished    = "vanished"    // a replica is no longer discovered, or was replaced
	EventMissing     = "missing"     // events were dropped; the current states follow
	EventTask        = "task"        // the progress of a Task; published by Publish
)

// Event is a change of a component or a replica.
type Event struct {
	ID        string          `json:"id,omitempty"` // EPOCH:N
	Kind      string          `json:"kind"`         // of the journal's entry, or one of the above
	Time      time.Time       `json:"time"`
	Node      string          `json:"node,omitempty"`
	Replica   string          `json:"replica,omitempty"`
	Instance  string          `json:"instance,omitempty"`
	Seq       uint64          `json:"seq,omitempty"`
	Component string          `json:"component,omitempty"`
	State     string          `json:"state,omitempty"`
	Why       string          `json:"why,omitempty"`
	Execution *wire.Execution `json:"execution,omitempty"`
	Failing   *wire.Failing   `json:"failing,omitempty"` // the component fails its liveness checks
	Reason    string          `json:"reason,omitempty"`  // why the component failed
	Task      json.RawMessage `json:"task,omitempty"`    // of an EventTask: a goal.TaskStatus

	More bool `json:"-"` // further events with this ID follow
}

// ring keeps the last events, numbered from 1. The Mirror's lock guards it.
type ring struct {
	epoch string // identifies this Mirror's numbering
	last  uint64
	kept  []Event // event n is at n modulo the length
	grown chan struct{}
}

func newRing(size int) ring {
	return ring{epoch: rand.Text(), kept: make([]Event, size), grown: make(chan struct{})}
}

func (r *ring) id(n uint64) string { return r.epoch + ":" + strconv.FormatUint(n, 10) }

func (r *ring) add(events ...Event) {
	if len(events) == 0 {
		return
	}
	for _, e := range events {
		r.last++
		e.ID = r.id(r.last)
		r.kept[r.last%uint64(len(r.kept))] = e
	}
	close(r.grown)
	r.grown = make(chan struct{})
}

// has reports whether all events after n are still available.
func (r *ring) has(n uint64) bool { return n <= r.last && r.last-n <= uint64(len(r.kept)) }

// after returns at most limit events after n.
func (r *ring) after(n uint64, limit int) []Event {
	count := min(int(r.last-n), limit)
	events := make([]Event, count)
	for i := range events {
		n++
		events[i] = r.kept[n%uint64(len(r.kept))]
	}
	return events
}

// ErrBehind is the error of a Stream whose next events were dropped, because it was not read in time.
var ErrBehind = errors.New("the events were not read in time")

// Stream is a position in the events. One goroutine reads it; a slow reader delays no one else and may fall
// behind.
type Stream struct {
	m    *Mirror
	next []Event // initial events, before those at the position
	at   uint64
}

// Latest followed by a number N is the id before the last N events that are available.
const Latest = "latest:"

// latest returns the number of the event before the last n that are available.
func (r *ring) latest(n uint64) uint64 { return r.last - min(n, r.last, uint64(len(r.kept))) }

// Stream returns the events after the given id, or the Latest ones. If it is empty, or the next events were dropped, the stream starts
// with one EventState for each component of each replica, or one EventUnreachable, and with the last event of Publish
// for each component; after dropped events, an EventMissing precedes them.
func (m *Mirror) Stream(after string) *Stream {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := &Stream{m: m, at: m.events.last}
	if count, is := strings.CutPrefix(after, Latest); is {
		n, _ := strconv.ParseUint(count, 10, 64) // no number means none
		s.at = m.events.latest(n)
		return s
	}
	if epoch, number, _ := strings.Cut(after, ":"); epoch == m.events.epoch {
		if n, err := strconv.ParseUint(number, 10, 64); err == nil && m.events.has(n) {
			s.at = n
			return s
		}
	}
	id := m.events.id(s.at)
	if after != "" {
		s.next = append(s.next, Event{
			ID: id, Kind: EventMissing, Time: time.Now(), Why: fmt.Sprintf("what came after event %.60q is not known any more", after),
		})
	}
	for _, n := range m.snapshot().Nodes {
		for _, r := range n.Replicas {
			for _, e := range r.initialEvents() {
				e.ID = id
				s.next = append(s.next, e)
			}
		}
	}
	for _, component := range slices.Sorted(maps.Keys(m.published)) {
		e := m.published[component]
		e.ID = id
		s.next = append(s.next, e)
	}
	for i := range max(0, len(s.next)-1) {
		s.next[i].More = true
	}
	return s
}

// Publish publishes an event about a component that no journal contains. New streams get the last such event of each
// component, too.
func (m *Mirror) Publish(e Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.published == nil {
		m.published = map[string]Event{}
	}
	m.published[e.Component] = e
	m.events.add(e)
}

// initialEvents returns the events about the replica with which new streams start.
func (r *Replica) initialEvents() []Event {
	switch {
	case !r.Gone.IsZero():
		return nil
	case r.Problem != nil:
		e := r.event(EventUnreachable)
		e.Time, e.Why = r.Since, r.Problem.Error()
		return []Event{e}
	}
	return r.states()
}

// batch is the maximum number of events that Next returns at once.
const batch = 256

// Next waits for the next events. The error is ErrBehind or the context's; after the Mirror has ended, it is
// context.Canceled.
func (s *Stream) Next(ctx context.Context) ([]Event, error) {
	if len(s.next) > 0 {
		n := min(len(s.next), batch)
		events := s.next[:n]
		s.next = s.next[n:]
		return events, nil
	}
	for {
		s.m.mu.Lock()
		if !s.m.events.has(s.at) {
			s.m.mu.Unlock()
			return nil, ErrBehind
		}
		events, grown := s.m.events.after(s.at, batch), s.m.events.grown
		s.m.mu.Unlock()
		if len(events) > 0 {
			s.at += uint64(len(events))
			return events, nil
		}
		select {
		case <-grown:
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-s.m.ctx.Done():
			return nil, s.m.ctx.Err()
		}
	}
}
