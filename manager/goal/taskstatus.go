package goal

import "time"

// TaskPhase is how far a Task, or one index of it, is.
type TaskPhase string

// The phases. A Task is retrying where nothing of it runs, and something failed and
// will be tried again.
const (
	TaskWaiting   TaskPhase = "waiting"
	TaskRunning   TaskPhase = "running"
	TaskRetrying  TaskPhase = "retrying"
	TaskCompleted TaskPhase = "completed"
	TaskFailed    TaskPhase = "failed" // and is not tried again
)

// TaskStatus is how far a Task is.
type TaskStatus struct {
	Phase       TaskPhase   `json:"phase"`
	Reason      string      `json:"reason,omitempty"` // a sentence, where it failed or waits
	Completions int         `json:"completions"`
	Parallelism int         `json:"parallelism"`
	Completed   int         `json:"completed"` // indexes
	Failed      int         `json:"failed"`    // indexes that are not tried again
	Running     int         `json:"running"`
	Round       int         `json:"round,omitempty"`     // how often it was asked for again
	Since       time.Time   `json:"since,omitzero"`      // when its first run began
	Until       time.Time   `json:"until,omitzero"`      // when something is tried again
	ExitCode    *int        `json:"exit_code,omitempty"` // of the first index that failed, where it has one; 0 of a Task that is completed
	Indexes     []TaskIndex `json:"indexes"`
}

// TaskIndex is how far one index of a Task is.
type TaskIndex struct {
	Index     int       `json:"index"`
	Phase     TaskPhase `json:"phase"`
	Replica   string    `json:"replica,omitempty"` // on which it ran last, or is to run
	Instance  string    `json:"instance,omitempty"`
	Attempts  int       `json:"attempts"`            // that have begun
	Execution string    `json:"execution,omitempty"` // the last
	ExitCode  *int      `json:"exit_code,omitempty"` // its end
	Signal    string    `json:"signal,omitempty"`
	Started   time.Time `json:"started,omitzero"`
	Ended     time.Time `json:"ended,omitzero"`
	Until     time.Time `json:"until,omitzero"`     // when it is tried again
	Recorded  bool      `json:"recorded,omitempty"` // it is known from the goal's document; its container was replaced
}
