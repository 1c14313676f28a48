package fleet

import (
	"slices"
	"sync"
	"time"

	"github.com/toskose/toskose/manager/rest"
)

// record is an execution that this manager started.
type record struct {
	fingerprint string // of the request

	mu       sync.Mutex
	now      rest.Execution
	starting int           // number of runs in the first batch that are not yet accepted or refused
	running  int           // number of runs that have not ended
	accepted chan struct{} // closed when starting is 0
	done     chan struct{} // closed when running is 0
}

func newRecord(inv Invocation) *record {
	x := inv.initial()
	return &record{
		fingerprint: inv.fingerprint(), now: x, starting: inv.batch(), running: len(x.Runs),
		accepted: make(chan struct{}), done: make(chan struct{}),
	}
}

// snapshot returns the current state of the execution.
func (r *record) snapshot() rest.Execution {
	r.mu.Lock()
	defer r.mu.Unlock()
	x := r.now
	x.Runs = slices.Clone(x.Runs)
	return x
}

// void reports whether it has ended without starting on any replica.
func (r *record) void() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.running == 0 && !slices.ContainsFunc(r.now.Runs, func(run rest.Run) bool { return run.Outcome != rest.Refused })
}

// update changes a run.
func (r *record) update(i int, change func(*rest.Run)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(&r.now.Runs[i])
}

// runAccepted counts a run that was accepted or refused.
func (r *record) runAccepted() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.starting--; r.starting == 0 {
		close(r.accepted)
	}
}

// runEnded counts a run that ended, and reports whether it was the last one.
func (r *record) runEnded(now time.Time, degraded func() []rest.Lack) (last bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.running--; r.running > 0 {
		return false
	}
	r.now.Ended, r.now.Degraded = now, degraded()
	r.now.Finish()
	close(r.done)
	return true
}

// records keeps the executions that this manager started: the running ones, and the latest ended ones.
type records struct {
	mu    sync.Mutex
	limit int
	byID  map[string]*record
	ended []string // oldest first
}

func newRecords(limit int) *records { return &records{limit: limit, byID: map[string]*record{}} }

func (m *records) get(id string) (*record, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.byID[id]
	return r, ok
}

// claim returns the record of a request, and whether it is new. It replaces a record that started on no replica.
func (m *records) claim(inv Invocation) (rec *record, isNew bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if rec, ok := m.byID[inv.Request.ID]; ok && !rec.void() {
		if rec.fingerprint != inv.fingerprint() {
			return nil, false, reused(inv.Request.ID)
		}
		return rec, false, nil
	}
	m.ended = slices.DeleteFunc(m.ended, func(id string) bool { return id == inv.Request.ID })
	rec = newRecord(inv)
	m.byID[inv.Request.ID] = rec
	return rec, true, nil
}

// has reports whether there is a record that claim would return.
func (m *records) has(inv *Invocation) (bool, error) {
	rec, ok := m.get(inv.Request.ID)
	if !ok || rec.void() {
		return false, nil
	}
	if rec.fingerprint != inv.fingerprint() {
		return false, reused(inv.Request.ID)
	}
	return true, nil
}

// any reports whether there is a record with a matching id that is not void.
func (m *records) any(match func(id string) bool) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for id, rec := range m.byID {
		if match(id) && !rec.void() {
			return true
		}
	}
	return false
}

// end adds an execution to the ended ones, and forgets the oldest.
func (m *records) end(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ended = append(m.ended, id); len(m.ended) > m.limit {
		delete(m.byID, m.ended[0])
		m.ended = slices.Delete(m.ended, 0, 1)
	}
}
