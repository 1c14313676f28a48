package execute

import (
	"slices"
	"sync"
	"time"

	"github.com/toskose/toskose/manager/outcome"
)

// record is an execution that this manager started.
type record struct {
	same     string
	mu       sync.Mutex
	now      outcome.Execution
	begin    int           // number of runs in the first batch that are not yet accepted or refused
	pending  int           // number of runs that have not ended
	accepted chan struct{} // closed when begin is 0
	done     chan struct{} // closed when pending is 0
}

// newRecord returns the record of a request. Not all of its runs need to start at once.
func newRecord(req Request) *record {
	x := req.begun()
	return &record{
		same: req.Same, now: x, begin: req.most(), pending: len(x.Runs),
		accepted: make(chan struct{}), done: make(chan struct{}),
	}
}

// snapshot returns the current state of the execution.
func (r *record) snapshot() outcome.Execution {
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
	return r.pending == 0 && !slices.ContainsFunc(r.now.Runs, func(run outcome.Run) bool { return run.Outcome != outcome.Refused })
}

// update changes a run.
func (r *record) update(i int, change func(*outcome.Run)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(&r.now.Runs[i])
}

// hasBegun counts a run that was accepted or refused.
func (r *record) hasBegun() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.begin--; r.begin == 0 {
		close(r.accepted)
	}
}

// hasEnded counts a run that ended, and reports whether it was the last one.
func (r *record) hasEnded(now time.Time, degraded func() []outcome.Lack) (last bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pending--; r.pending > 0 {
		return false
	}
	r.now.Ended, r.now.Degraded = now, degraded()
	r.now.Finish()
	close(r.done)
	return true
}

// memory keeps the executions that this manager started: the running ones, and the latest ended ones.
type memory struct {
	mu      sync.Mutex
	limit   int
	records map[string]*record
	ended   []string // oldest first
}

func newMemory(limit int) *memory { return &memory{limit: limit, records: map[string]*record{}} }

func (m *memory) get(id string) (*record, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.records[id]
	return r, ok
}

// claim returns the record of a request, and whether it is new. It replaces a record that started on no replica.
func (m *memory) claim(req Request) (rec *record, isNew bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if rec, ok := m.records[req.ID]; ok && !rec.void() {
		if rec.same != req.Same {
			return nil, false, reused(req.ID)
		}
		return rec, false, nil
	}
	m.ended = slices.DeleteFunc(m.ended, func(id string) bool { return id == req.ID })
	rec = newRecord(req)
	m.records[req.ID] = rec
	return rec, true, nil
}

// has reports whether there is a record that claim would return.
func (m *memory) has(req Request) (bool, error) {
	rec, ok := m.get(req.ID)
	if !ok || rec.void() {
		return false, nil
	}
	if rec.same != req.Same {
		return false, reused(req.ID)
	}
	return true, nil
}

// any reports whether there is a record with a matching id that is not void.
func (m *memory) any(such func(id string) bool) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for id, rec := range m.records {
		if such(id) && !rec.void() {
			return true
		}
	}
	return false
}

// end adds an execution to the ended ones, and forgets the oldest.
func (m *memory) end(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ended = append(m.ended, id); len(m.ended) > m.limit {
		delete(m.records, m.ended[0])
		m.ended = slices.Delete(m.ended, 0, 1)
	}
}
