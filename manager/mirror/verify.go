package mirror

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/toskose/toskose/manager/unitclient"
)

// Verification bounds.
const (
	evidenceAge  = time.Second     // maximum age of a response that verifies a state
	verifyTime   = 2 * time.Second // how long Verify waits for responses
	verifyAtOnce = 128             // maximum number of concurrent queries
)

// Unverified is a replica whose known state may be outdated.
type Unverified struct {
	Replica *Replica
	Why     string
}

// Verify ensures that the known state of reachable replicas is at most a second old. It queries units that have
// not responded for longer, and returns the replicas that have changed since, or whose units do not respond within
// two seconds. An open long poll proves nothing: the unit may hang, or be stopped with its connection left open.
// Concurrent callers share the results.
func (m *Mirror) Verify(ctx context.Context) []Unverified {
	m.verifying.Lock()
	defer m.verifying.Unlock()
	ctx, cancel := context.WithTimeout(ctx, verifyTime)
	defer cancel()
	var queries sync.WaitGroup
	slots := make(chan struct{}, verifyAtOnce)
	stale := m.stale()
	for _, p := range stale {
		queries.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			m.verify(ctx, p)
		})
	}
	queries.Wait()
	return m.unverified()
}

// stale returns the places of reachable replicas that must be queried.
func (m *Mirror) stale() (all []*place) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, n := range m.nodes {
		for _, p := range n.replicas {
			if p.reachable() && time.Since(p.answered) > evidenceAge && time.Since(p.verified) > evidenceAge {
				all = append(all, p)
			}
		}
	}
	return all
}

// reachable reports whether a place has a reachable replica.
func (p *place) reachable() bool { return p.now != nil && p.follower != nil && p.now.Reachable() }

// verify queries the unit at a place for entries that are not known yet.
func (m *Mirror) verify(ctx context.Context, p *place) {
	m.mu.Lock()
	r, f := p.now, p.follower
	m.mu.Unlock()
	if r == nil || f == nil {
		return
	}
	page, err := f.unit.Journal(ctx, unitclient.Cursor(r.Instance, r.Seq), 0)
	m.mu.Lock()
	defer m.mu.Unlock()
	if p.follower != f {
		return
	}
	p.verified, p.unverified = time.Now(), ""
	switch {
	case err != nil:
		p.unverified = fmt.Sprintf("its unit has not answered since %s", r.Heard().UTC().Format(time.TimeOnly))
	case page.Instance != r.Instance || page.Reset:
		p.unverified = "its unit has started again, and has not been read yet"
	case len(page.Entries) > 0 && p.now != nil && p.now.Seq < page.Entries[len(page.Entries)-1].Seq:
		p.unverified = "its unit has reported more than has been read yet"
	default:
		p.answered = p.verified
		r.heard.Store(time.Now().UnixNano())
	}
}

// unverified returns the reachable replicas that could not be verified.
func (m *Mirror) unverified() (all []Unverified) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, n := range m.nodes {
		for _, p := range n.replicas {
			if p.reachable() && p.unverified != "" && p.answered.Before(p.verified) {
				all = append(all, Unverified{Replica: p.now, Why: p.unverified})
			}
		}
	}
	return all
}
