package keep

import (
	"sync"

	"github.com/toskose/toskose/manager/goal"
)

// evaluation is the last observed situation, and the result of the last evaluation of the goal.
type evaluation struct {
	acting     bool // enough replicas have reported their stored goals
	acted      bool // acting was true once: from then on a majority is enough
	observed   goal.Situation
	decision   *goal.Decision
	superseded <-chan struct{} // closed when the observations behind the decision are outdated
}

// evaluations publishes evaluations.
type evaluations struct {
	mu      sync.Mutex
	last    evaluation
	changed chan struct{} // closed after the next evaluation
}

func newEvaluations() *evaluations {
	return &evaluations{last: evaluation{decision: &goal.Decision{}}, changed: make(chan struct{})}
}

// observe records a situation and returns the last evaluation.
func (e *evaluations) observe(s goal.Situation) evaluation {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.last.observed = s
	return e.last
}

// publish records the result of an evaluation.
func (e *evaluations) publish(acting bool, d *goal.Decision, superseded <-chan struct{}) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.last.acting, e.last.acted = acting, e.last.acted || acting
	e.last.decision, e.last.superseded = d, superseded
	close(e.changed)
	e.changed = make(chan struct{})
}

// get returns the last evaluation, and a channel that is closed after the next one.
func (e *evaluations) get() (evaluation, <-chan struct{}) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.last, e.changed
}
