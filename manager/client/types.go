package client

import "time"

// App is the current state of the application.
type App struct {
	Name       string      `json:"name"`
	Nodes      []Node      `json:"nodes"`
	Components []Component `json:"components"`
}

// Node is a container of the application.
type Node struct {
	Name  string   `json:"name"`
	Kind  string   `json:"kind"` // toskosed, standalone or job
	State string   `json:"state"`
	Why   string   `json:"why"`
	Job   []string `json:"job,omitempty"` // the components that a job runs without the manager
}

// Component is a component on all replicas of its node.
type Component struct {
	Name       string      `json:"name"`
	Node       string      `json:"node"`
	State      string      `json:"state"`
	Allowed    []string    `json:"allowed"`            // now, on every replica
	Degraded   bool        `json:"degraded,omitempty"` // it has unmet requirements on some replica
	Lacks      []Lack      `json:"lacks,omitempty"`
	Operations []Operation `json:"operations"`
	Replicas   []Replica   `json:"replicas"`
	Task       *Task       `json:"task,omitempty"` // nil: not a task
}

// The phases of a task, and of its indexes.
const (
	TaskWaiting   = "waiting"
	TaskRunning   = "running"
	TaskRetrying  = "retrying"
	TaskCompleted = "completed"
	TaskFailed    = "failed" // and is not retried
)

// Task is the progress of a component that runs to completion.
type Task struct {
	Phase       string      `json:"phase"`
	Reason      string      `json:"reason,omitempty"` // why it failed
	Completions int         `json:"completions"`
	Parallelism int         `json:"parallelism"`
	Completed   int         `json:"completed"` // indexes
	Failed      int         `json:"failed"`
	Running     int         `json:"running"`
	Round       int         `json:"round,omitempty"`     // how often it was requested again
	Since       time.Time   `json:"since,omitzero"`      // when its first run for this goal began
	Until       time.Time   `json:"until,omitzero"`      // when the next index is retried
	ExitCode    *int        `json:"exit_code,omitempty"` // of the first failed index, 124 if it timed out; 0 once completed
	Signal      string      `json:"signal,omitempty"`    // that terminated it, if it has no exit code
	Indexes     []TaskIndex `json:"indexes"`
}

// TaskIndex is the progress of one index of a task.
type TaskIndex struct {
	Index     int       `json:"index"`
	Phase     string    `json:"phase"`
	Replica   string    `json:"replica,omitempty"` // of its last run, or of its next one
	Instance  string    `json:"instance,omitempty"`
	Attempts  int       `json:"attempts"`
	Execution string    `json:"execution,omitempty"` // the last
	ExitCode  *int      `json:"exit_code,omitempty"`
	Signal    string    `json:"signal,omitempty"`
	TimedOut  bool      `json:"timed_out,omitempty"` // a time limit or the deadline ended it
	Started   time.Time `json:"started,omitzero"`
	Ended     time.Time `json:"ended,omitzero"`
	Until     time.Time `json:"until,omitzero"`     // when it is retried
	Recorded  bool      `json:"recorded,omitempty"` // the goal records it as completed
}

// Operation is an operation of the model.
type Operation struct {
	Name        string   `json:"name"`        // "interface.operation"
	Implemented bool     `json:"implemented"` // it has a script
	Inputs      []string `json:"inputs,omitempty"`
}

// Lack is an unmet requirement of a component in its current state.
type Lack struct {
	Component   string `json:"component"`
	Requirement string `json:"requirement"`
	Provider    string `json:"provider"`
	Capability  string `json:"capability"`
	Why         string `json:"why"`
}

// Replica is a component in one container.
type Replica struct {
	Address   string    `json:"address"`
	Instance  string    `json:"instance,omitempty"`
	State     string    `json:"state"`
	Since     time.Time `json:"since,omitzero"`
	Why       string    `json:"why,omitempty"`
	Allowed   []string  `json:"allowed,omitempty"`
	Executing string    `json:"executing,omitempty"` // the id of the running execution
	Problem   string    `json:"problem,omitempty"`   // why the state is unknown
	Last      string    `json:"last,omitempty"`      // its last known state
	Heard     time.Time `json:"heard,omitzero"`      // when that state was reported
	Degraded  bool      `json:"degraded,omitempty"`  // it has unmet requirements
	Lacks     []Lack    `json:"lacks,omitempty"`
	Outdated  bool      `json:"outdated,omitempty"` // its application version differs from the manager's
}

// RejectedGoal is a goal that a replica stores and the manager ignores, because its signature is invalid.
type RejectedGoal struct {
	Node     string `json:"node"`
	Replica  string `json:"replica"`
	Revision string `json:"revision"`
	Why      string `json:"why"`
}

// Goal is the desired state of the application, and its progress.
type Goal struct {
	State     string            `json:"state,omitempty"`
	States    map[string]string `json:"states,omitempty"`
	Revision  string            `json:"revision,omitempty"`
	Asked     string            `json:"asked,omitempty"` // the revision that a person set, before holds were added
	By        string            `json:"by,omitempty"`
	At        time.Time         `json:"at,omitzero"`
	Default   bool              `json:"default,omitempty"`
	Holds     map[string]Hold   `json:"holds,omitempty"`
	Resumed   map[string]Hold   `json:"resumed,omitempty"` // components that people have returned to their targets
	Tasks     map[string]Record `json:"tasks,omitempty"`
	Acting    bool              `json:"acting"`
	Lacking   []string          `json:"lacking,omitempty"`
	Rejected  []RejectedGoal    `json:"rejected,omitempty"`
	Done      bool              `json:"done"`
	Reached   int               `json:"reached"`
	Wanted    int               `json:"wanted"`
	Underway  []Step            `json:"underway,omitempty"`
	Obstacles []Obstacle        `json:"obstacles,omitempty"`
	Notes     []string          `json:"notes,omitempty"`
}

// Record is the state of a task that the goal keeps, independent of its containers: how often it was requested
// again, the completed indexes, and when a deadline started, for the goal with a given revision.
type Record struct {
	Round int       `json:"round,omitempty"`
	Done  []int     `json:"done,omitempty"`
	Since time.Time `json:"since,omitzero"`
	Asked string    `json:"asked,omitempty"`
}

// None reports whether the goal is empty.
func (g Goal) None() bool {
	return (g.State == "" || g.State == "none") && len(g.States) == 0 && !g.Default
}

// Hold says why a component is not reconciled.
type Hold struct {
	By        string    `json:"by,omitempty"`
	At        time.Time `json:"at,omitzero"`
	Operation string    `json:"operation,omitempty"`
	State     string    `json:"state,omitempty"`
	Lease     string    `json:"lease,omitempty"` // the lease with which it ends
}

// Step is a running operation that the goal started.
type Step struct {
	Node      string `json:"node"`
	Instance  string `json:"instance"`
	Component string `json:"component"`
	Operation struct {
		Interface string `json:"interface"`
		Name      string `json:"operation"`
	} `json:"operation"`
	From string `json:"from"`
	To   string `json:"to"`
	Part *Part  `json:"part,omitempty"` // of a task
}

// Obstacle is the reason why part of the goal is not reached yet.
type Obstacle struct {
	Node      string    `json:"node,omitempty"`
	Instance  string    `json:"instance,omitempty"`
	Component string    `json:"component,omitempty"`
	Reason    string    `json:"reason"`
	Until     time.Time `json:"until,omitzero"`
}

// String returns the subject and the reason.
func (o Obstacle) String() string {
	of := o.Component
	if of == "" {
		of = o.Node
	}
	if o.Instance != "" {
		of += " on " + o.Instance
	}
	return of + ": " + o.Reason
}

// Plan is the sequence of operations that reaches a goal.
type Plan struct {
	Plan      *Steps            `json:"plan"`    // nil: Notes or Obstacles contain the reason
	Targets   map[string]string `json:"targets"` // the resulting states, by component
	Obstacles []Obstacle        `json:"obstacles,omitempty"`
	Notes     []string          `json:"notes,omitempty"`
}

// Steps are the operations of a plan. Replicas of a node in the same state share one element; the others have a
// number after their name.
type Steps struct {
	Operations int `json:"operations"`
	Minimal    struct {
		Operations bool `json:"operations"` // no plan has fewer operations
		Levels     bool `json:"levels"`     // no plan with as few operations has fewer levels
	} `json:"minimal"`
	Limit  string       `json:"limit,omitempty"` // why optimality is not proven
	Notes  []string     `json:"notes,omitempty"`
	Levels [][]PlanStep `json:"levels"` // steps of one level can run concurrently
}

// PlanStep is one operation of a plan.
type PlanStep struct {
	ID          int    `json:"id"` // numbered from 1 through all levels
	Component   string `json:"component"`
	Interface   string `json:"interface"`
	Operation   string `json:"operation"`
	Source      string `json:"source"`
	Target      string `json:"target"`
	Implemented bool   `json:"implemented"`     // it has a script
	After       []int  `json:"after,omitempty"` // IDs of the steps that it waits for
}

// The outcomes of an execution that commands distinguish.
const (
	OutcomeRunning   = "running"
	OutcomeSucceeded = "succeeded"
)

// Execution is one run of an operation on the replicas of its node.
type Execution struct {
	ID        string    `json:"id"`
	Node      string    `json:"node"`
	Component string    `json:"component"`
	Interface string    `json:"interface"`
	Operation string    `json:"operation"`
	By        string    `json:"by,omitempty"`
	Inputs    []string  `json:"inputs,omitempty"` // names of the overridden inputs
	Part      *Part     `json:"part,omitempty"`   // of a task
	Outcome   string    `json:"outcome"`          // of the worst run; running until all runs have ended
	Started   time.Time `json:"started"`
	Ended     time.Time `json:"ended,omitzero"`
	Runs      []Run     `json:"runs"`
	Degraded  []Lack    `json:"degraded,omitempty"` // requirements of others that became unmet since its start
}

// Part identifies the part of a task that an execution runs.
type Part struct {
	Index   int `json:"index"`
	Attempt int `json:"attempt"`         // from 1 on
	Round   int `json:"round,omitempty"` // how often the whole task was requested again before
}

// Run is an execution in one container.
type Run struct {
	Replica   string    `json:"replica,omitempty"` // its address
	Instance  string    `json:"instance,omitempty"`
	Outcome   string    `json:"outcome"`
	Reason    string    `json:"reason,omitempty"`
	From      string    `json:"from,omitempty"` // the component's state before
	To        string    `json:"to,omitempty"`   // and after
	Started   time.Time `json:"started,omitzero"`
	Ended     time.Time `json:"ended,omitzero"`
	PID       int       `json:"pid,omitempty"`
	ExitCode  *int      `json:"exit_code,omitempty"`
	Signal    string    `json:"signal,omitempty"`
	Stdout    string    `json:"stdout,omitempty"` // the end of its output
	Stderr    string    `json:"stderr,omitempty"`
	Truncated bool      `json:"truncated,omitempty"` // earlier output is omitted
	Allowed   []string  `json:"allowed,omitempty"`   // what the protocol allowed instead
}

// Event is a change of a component or a replica.
type Event struct {
	ID        string          `json:"id"`
	Kind      string          `json:"kind"`
	Time      time.Time       `json:"time"`
	Node      string          `json:"node,omitempty"`
	Replica   string          `json:"replica,omitempty"`
	Instance  string          `json:"instance,omitempty"`
	Seq       uint64          `json:"seq,omitempty"`
	Component string          `json:"component,omitempty"`
	State     string          `json:"state,omitempty"`
	Why       string          `json:"why,omitempty"`
	Execution *EventExecution `json:"execution,omitempty"`
	Task      *Task           `json:"task,omitempty"` // the progress, in events of this kind
}

// EventExecution is the execution that an event is about.
type EventExecution struct {
	ID        string `json:"id"`
	Interface string `json:"interface"`
	Operation string `json:"operation"`
	By        string `json:"by,omitempty"`
	Part      *Part  `json:"part,omitempty"` // of a task
	Run
}

// Untouched is why a component is in its initial state although no operation ran.
const Untouched = "nothing was done to it yet"
