package process

import (
	"maps"
	"sync"
	"time"
)

// counters count the starts and exits of a program since it was configured.
type counters struct {
	mu          sync.Mutex
	starts      uint64
	restarts    uint64 // starts that were not requested
	exits       map[Exit]uint64
	cpu         time.Duration // CPU time of ended processes
	unlive      uint64        // failed liveness checks
	reportedCPU time.Duration // the highest CPU time reported: a counter never decreases
}

// Counts are the counters of a program since it was configured.
type Counts struct {
	Starts, Restarts uint64          // restarts are starts that were not requested
	Exits            map[Exit]uint64 // of the main process
	CPU              time.Duration   // of ended processes
	LiveFailures     uint64          // failed liveness checks
}

func (t *counters) started() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.starts++
}

// countRestarts counts the starts of a step that was not requested as restarts.
func (t *counters) countRestarts(step func()) {
	before := t.counts().Starts
	step()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.restarts += t.starts - before
}

func (t *counters) ended(exit Exit) {
	exit.Core = false // count exits with and without a core dump together
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.exits == nil {
		t.exits = map[Exit]uint64{}
	}
	t.exits[exit]++
}

func (t *counters) countLiveFailure() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.unlive++
}

// addCPU adds the CPU time of an ended process and of the children it waited for.
func (t *counters) addCPU(cpu time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cpu += cpu
}

func (t *counters) counts() Counts {
	t.mu.Lock()
	defer t.mu.Unlock()
	return Counts{Starts: t.starts, Restarts: t.restarts, Exits: maps.Clone(t.exits), CPU: t.cpu, LiveFailures: t.unlive}
}

// Counts returns the counters of the program.
func (p *Program) Counts() Counts { return p.counters.counts() }

// CPU returns the CPU time to report, given the current measurement. It never decreases, even if a
// process that has just ended is not counted yet.
func (p *Program) CPU(known time.Duration) time.Duration {
	t := &p.counters
	t.mu.Lock()
	defer t.mu.Unlock()
	t.reportedCPU = max(t.reportedCPU, known)
	return t.reportedCPU
}
