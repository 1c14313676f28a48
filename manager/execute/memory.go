package execute

import (
	"slices"
	"sync"
	"time"

	"github.com/toskose/toskose/manager/outcome"
)

// record is an execution that this manager began.
type record struct {
	mu       sync.Mutex
	now      outcome.Execution
	begin    int           // number of runs to be accepted or refused, of those that begin at once
	pending  int           // number of runs that have not ended
	accepted chan struct{} // closed when begin is 0
	done     chan struct{} // closed when pending is 0
}

// newRecord returns that of an execution of which so many runs begin at once.
func newRecord(x outcome.Execution, begin int) *record {
	return &record{
		now: x, begin: begin, pending: len(x.Runs),
		accepted: make(chan struct{}), done: make(chan struct{}),
	}
}

// snapshot returns the execution as it is now.
func (r *record) snapshot() outcome.Execution {
	r.mu.Lock()
	defer r.mu.Unlock()
	x := r.now
	x.Runs = slices.Clone(x.Runs)
	return x
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

// memory keeps the executions that this manager began: those that are running,
// and the latest that ended.
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

func (m *memory) add(id string, r *record) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.records[id] = r
}

// end counts an execution among the ended, and forgets the oldest of them.
func (m *memory) end(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ended = append(m.ended, id); len(m.ended) > m.limit {
		delete(m.records, m.ended[0])
		m.ended = slices.Delete(m.ended, 0, 1)
	}
}
