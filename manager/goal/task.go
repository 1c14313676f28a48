package goal

import (
	"fmt"
	"slices"
	"time"

	"github.com/toskose/toskose/spec/protocol"
	"github.com/toskose/toskose/unit/wire"
)

// Task is how a component that runs to completion is run: its operation [protocol.TaskRun], once per index from 0
// on. Index i runs on replica i modulo the number of replicas.
type Task struct {
	Completions  int           // how many indexes there are
	Parallelism  int           // how many run at a time
	BackoffLimit int           // maximum number of retries of an index
	Deadline     time.Duration // for the whole Task, from the first run; 0: no limit
	Never        bool          // completed indexes count even after their container was replaced
	FailOn       []int         // exit codes after which an index is not retried
}

// Record is the state of a Task that a document keeps.
type Record struct {
	Round int   `json:"round,omitempty"` // how often people requested it again
	Done  []int `json:"done,omitempty"`  // the indexes that count as completed even if their containers are removed; sorted

	Since time.Time     `json:"since,omitzero"` // when the first run started, if a deadline counts from it
	Asked wire.Revision `json:"asked,omitzero"` // the goal's revision that Since belongs to
}

// taskStates returns the states of a Task before and after all its indexes are completed; false if no transition
// runs it.
func (m *Model) taskStates(task string) (before, after string, ok bool) {
	for _, t := range m.index[task].Protocol.Transitions {
		if t.Operation == protocol.TaskRun && t.Source != t.Target {
			return t.Source, t.Target, true
		}
	}
	return "", "", false
}

// TaskState returns the state of a component as a completed Task; false if it is not a Task.
func (m *Model) TaskState(component string) (state string, ok bool) {
	if _, is := m.Tasks[component]; !is {
		return "", false
	}
	_, state, ok = m.taskStates(component)
	return state, ok
}

// settled returns the situation with each Task in the combined state of all its indexes: completed on every
// replica or on none. A unit only knows its own runs. Tasks with a target that another operation reaches keep the
// states of their units.
func (m *Model) settled(s Situation, d *Document, targets map[string]string) (Situation, map[string]*progress) {
	if len(m.Tasks) == 0 {
		return s, nil
	}
	all := map[string]*progress{}
	s.Replicas = slices.Clone(s.Replicas)
	for task := range m.Tasks {
		before, after, ok := m.taskStates(task)
		if !ok {
			continue
		}
		p := m.progress(s, d, task)
		all[task] = p
		target := targets[task]
		onward := m.onward(task, target)
		for _, i := range s.of(m.Node[task]) {
			r := &s.Replicas[i]
			c, known := r.Components[task]
			switch completed := p.completed(); {
			case !known, !onward, completed && target != "" && target != after:
				continue
			case completed:
				c.State = after
			case c.State == after:
				c.State = before
			default:
				continue
			}
			r.Components = replaced(r.Components, task, c)
		}
	}
	return s, all
}

// onward reports whether completing a Task brings it closer to a target; true without a target.
func (m *Model) onward(task, target string) bool {
	before, after, _ := m.taskStates(task)
	return target == "" || target == after || m.distance(task, after, target) < m.distance(task, before, target)
}

// Settled returns the situation for display: a Task is completed when all its indexes are. The document is the
// current one, or nil.
func (m *Model) Settled(s Situation, d *Document) Situation {
	if d != nil {
		s.records = d.Tasks
	}
	s, _ = m.settled(s, d, nil)
	return s
}

// runTask starts the next index of a Task on a replica, if one may start.
func (t *decider) runTask(r *Replica, task string, step protocol.Step) {
	p := t.tasks[task]
	mine, of := slices.IndexFunc(t.s.of(r.Node), func(i int) bool { return &t.s.Replicas[i] == r }), len(t.s.of(r.Node))
	until, waits := time.Time{}, -1
	for index := mine; index < p.Completions; index += of {
		x := &p.indexes[index]
		if x.done || x.running {
			continue
		}
		if why := p.failed(index, t.s.Now); why != "" {
			if !slices.ContainsFunc(t.decision.Obstacles, func(o Obstacle) bool { return o.Instance == r.Instance && o.Reason == why }) {
				t.obstacle(r, task, why, time.Time{})
				t.decision.Obstacles[len(t.decision.Obstacles)-1].Final = true
			}
			continue
		}
		if again := p.next(index, t.Policies[task].maxDelay()); again.After(t.s.Now) {
			if until.IsZero() || again.Before(until) {
				until, waits = again, index
			}
			continue
		}
		if p.busy >= p.Parallelism {
			t.waits(r, task, fmt.Sprintf("index %d waits: %d of at most %d run", index, p.busy, p.Parallelism), time.Time{})
			return
		}
		t.beginIndex(r, task, step, index)
		return
	}
	if waits >= 0 {
		t.obstacle(r, task, p.indexes[waits].failure(waits), until)
	}
}

// beginIndex decides to run one index.
func (t *decider) beginIndex(r *Replica, task string, step protocol.Step, index int) {
	p := t.tasks[task]
	if p.since.IsZero() {
		p.since = t.s.Now
	}
	part := &wire.Part{Index: index, Attempt: p.indexes[index].attempts + 1, Round: p.round, Since: p.since}
	made := t.step(r, task, step, "")
	made.ID = t.doc.indexID(r, task, made.After, part)
	made.Part = part
	if at := p.deadline(); !at.IsZero() {
		made.Timeout = at.Sub(t.s.Now)
	}
	t.commit(r, made, step)
	p.indexes[index].running = true
	p.busy++
}

// wakeForTasks schedules another decision for when a deadline passes.
func (t *decider) wakeForTasks() {
	for _, p := range t.tasks {
		if at := p.deadline(); at.After(t.s.Now) && !p.completed() && (t.decision.Wake.IsZero() || at.Before(t.decision.Wake)) {
			t.decision.Wake = at
		}
	}
}

// record determines the state of Tasks that documents must keep when containers are removed: when a deadline began
// and, if they must count until a goal resets the Task, which indexes are completed.
func (t *decider) record() {
	for task, p := range t.tasks {
		known, noted := t.s.records[task]
		next, changed := known, false
		switch target := t.targets[task]; {
		case !t.onward(task, target):
			next.Done, changed = nil, len(known.Done) > 0
		case p.Never && len(p.done()) > len(known.Done):
			next.Done, changed = p.done(), true
		}
		var since time.Time // start of a pending deadline
		if !p.completed() {
			since = p.since
		}
		same := noted && known.Asked == t.doc.Asked // the default goal has no revision
		if p.Deadline > 0 && (same && !known.Since.Equal(since) || !same && !p.since.IsZero()) {
			next.Since, next.Asked, changed = since, t.doc.Asked, true
		}
		if changed {
			t.decision.Records = recorded(t.decision.Records, map[string]Record{task: next})
		}
	}
}

// Again returns a copy of the document with one more round of a Task: completed indexes no longer count.
func (m *Model) Again(d *Document, s Situation, task string) *Document {
	round := d.Tasks[task].Round
	for _, i := range s.of(m.Node[task]) {
		for _, run := range s.Replicas[i].Components[task].Runs {
			if run.Part != nil {
				round = max(round, run.Part.Round)
			}
		}
	}
	next := *d
	next.Tasks = recorded(d.Tasks, map[string]Record{task: {Round: round + 1}})
	return &next
}

// NextPart returns the part that a person's run of an index is recorded as.
func (m *Model) NextPart(s Situation, d *Document, task string, index int) wire.Part {
	if d != nil {
		s.records = d.Tasks
	}
	p := m.progress(s, d, task)
	part := wire.Part{Index: index, Attempt: p.indexes[index].attempts + 1, Round: p.round, Since: p.since}
	if part.Since.IsZero() {
		part.Since = s.Now
	}
	return part
}
