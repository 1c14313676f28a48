package goal

import "time"

// TaskPhase is the phase of a Task or of one of its indexes.
type TaskPhase string

// The phases. A Task is retrying if none of its indexes is running, and one has failed and will be retried.
const (
	TaskWaiting   TaskPhase = "waiting"
	TaskRunning   TaskPhase = "running"
	TaskRetrying  TaskPhase = "retrying"
	TaskCompleted TaskPhase = "completed"
	TaskFailed    TaskPhase = "failed" // and is not retried
)

// TaskStatus is the progress of a Task.
type TaskStatus struct {
	Phase       TaskPhase   `json:"phase"`
	Reason      string      `json:"reason,omitempty"` // a sentence, if it failed or is waiting
	Completions int         `json:"completions"`
	Parallelism int         `json:"parallelism"`
	Completed   int         `json:"completed"` // indexes
	Failed      int         `json:"failed"`    // indexes that are not retried
	Running     int         `json:"running"`
	Round       int         `json:"round,omitempty"`     // how often it was requested again
	Since       time.Time   `json:"since,omitzero"`      // when its first run began
	Until       time.Time   `json:"until,omitzero"`      // when the next index is retried
	ExitCode    *int        `json:"exit_code,omitempty"` // of the first failed index, if it has one, 124 if it timed out; 0 for a completed Task
	Signal      string      `json:"signal,omitempty"`    // that terminated it, if it has no exit code
	Indexes     []TaskIndex `json:"indexes"`
}

// TaskIndex is the progress of one index of a Task.
type TaskIndex struct {
	Index     int       `json:"index"`
	Phase     TaskPhase `json:"phase"`
	Replica   string    `json:"replica,omitempty"` // of its last run, or of its next one
	Instance  string    `json:"instance,omitempty"`
	Attempts  int       `json:"attempts"`            // started attempts
	Execution string    `json:"execution,omitempty"` // the last
	ExitCode  *int      `json:"exit_code,omitempty"` // of its last run
	Signal    string    `json:"signal,omitempty"`
	TimedOut  bool      `json:"timed_out,omitempty"` // a time limit ended it, or the deadline passed before a retry
	Started   time.Time `json:"started,omitzero"`
	Ended     time.Time `json:"ended,omitzero"`
	Until     time.Time `json:"until,omitzero"`     // when it is retried
	Recorded  bool      `json:"recorded,omitempty"` // known only from the goal's document, because its container was replaced
}

// timedOut is the exit code of runs that a time limit has ended, as for timeout(1).
const timedOut = 124

// TaskStatuses returns the progress of all Tasks.
func (m *Model) TaskStatuses(d *Document, s Situation) map[string]TaskStatus {
	if len(m.Tasks) == 0 {
		return nil
	}
	if d != nil {
		s.records = d.Tasks
	}
	all := make(map[string]TaskStatus, len(m.Tasks))
	for task := range m.Tasks {
		all[task] = m.progress(s, d, task).status(s, s.of(m.Node[task]), m.Policies[task].maxDelay())
	}
	return all
}

// status returns the progress of a Task, on replicas by number.
func (p *progress) status(s Situation, replicas []int, longest time.Duration) TaskStatus {
	st := TaskStatus{Completions: p.Completions, Parallelism: p.Parallelism, Round: p.round, Since: p.since}
	for i := range p.indexes {
		x := p.indexStatus(i, s.Now, longest)
		if x.Replica == "" && len(replicas) > 0 && !x.Recorded {
			r := &s.Replicas[replicas[i%len(replicas)]]
			x.Replica, x.Instance = r.Name, r.Instance
		}
		st.add(x)
		if why := p.failed(i, s.Now); why != "" && st.Reason == "" {
			st.Reason = why
		}
	}
	st.conclude()
	return st
}

func (p *progress) indexStatus(i int, now time.Time, longest time.Duration) TaskIndex {
	x := &p.indexes[i]
	st := TaskIndex{Index: i, Phase: TaskWaiting, Attempts: x.attempts, Recorded: x.recorded}
	if last := x.last; last != nil {
		st.Replica, st.Instance, st.Execution = x.replica.Name, x.replica.Instance, last.ID
		st.Started, st.Ended, st.ExitCode, st.Signal = last.Started, last.Ended, last.ExitCode, last.Signal
		if last.Part != nil {
			st.Attempts = max(st.Attempts, last.Part.Attempt)
		}
		st.Attempts = max(st.Attempts, 1)
		st.TimedOut = last.TimedOut
	}
	switch {
	case x.done:
		st.Phase = TaskCompleted
	case x.running:
		st.Phase = TaskRunning
	case p.failed(i, now) != "":
		st.Phase, st.TimedOut = TaskFailed, st.TimedOut || p.overdue(x, now)
	case x.attempts > 0:
		st.Phase, st.Until = TaskRetrying, p.next(i, longest)
	}
	return st
}

// add counts an index.
func (st *TaskStatus) add(x TaskIndex) {
	st.Indexes = append(st.Indexes, x)
	switch x.Phase {
	case TaskCompleted:
		st.Completed++
	case TaskRunning:
		st.Running++
	case TaskFailed:
		st.Failed++
		if st.ExitCode == nil && st.Signal == "" {
			st.ExitCode, st.Signal = x.ExitCode, x.Signal
			if x.TimedOut {
				code := timedOut
				st.ExitCode, st.Signal = &code, ""
			}
		}
	case TaskRetrying:
		if st.Until.IsZero() || x.Until.Before(st.Until) {
			st.Until = x.Until
		}
	case TaskWaiting:
	}
}

// conclude derives the Task's phase from the phases of its indexes.
func (st *TaskStatus) conclude() {
	zero := 0
	switch left := st.Completions - st.Completed - st.Failed; {
	case st.Completed == st.Completions:
		st.Phase, st.ExitCode = TaskCompleted, &zero
	case st.Running > 0:
		st.Phase = TaskRunning
	case left == 0:
		st.Phase = TaskFailed
	case !st.Until.IsZero():
		st.Phase = TaskRetrying
	default:
		st.Phase = TaskWaiting
	}
}
