package wire

import "time"

// EntryKind is the kind of a journal entry.
type EntryKind string

// The kinds of entries.
const (
	EntryHello      EntryKind = "hello"      // only on the wire: all states after this entry
	EntryCheckpoint EntryKind = "checkpoint" // first of each segment: all states
	EntryBoot       EntryKind = "boot"       // the unit started
	EntryStart      EntryKind = "start"      // an execution was started
	EntryExit       EntryKind = "exit"       // an execution ended
	EntryStop       EntryKind = "stop"       // a stop was requested or enforced
	EntryGone       EntryKind = "gone"       // the last process of a start has ended
	EntryRunning    EntryKind = "running"    // an ordinary program is running that no execution has started
	EntryLive       EntryKind = "live"       // a running component began to fail its liveness checks, or passes them again
	EntryDocument   EntryKind = "document"   // the unit or a replica on the same machine stored a document
	EntryReload     EntryKind = "reload"     // the configuration was read again, or part of it was put in use
)

// Entry is one line of the journal (JSON lines). Its cursor is INSTANCE:SEQ.
type Entry struct {
	Seq       uint64    `json:"seq"`
	Instance  string    `json:"instance"`
	Time      time.Time `json:"time"`
	Kind      EntryKind `json:"kind"`
	Component string    `json:"component,omitempty"`
	State     string    `json:"state,omitempty"` // of the component, after this entry
	Why       string    `json:"why,omitempty"`

	// StartedFrom is the state that the component falls back to when the processes of its start
	// have ended; empty without such processes.
	StartedFrom string `json:"started_from,omitempty"`

	// ContainerEnded is set if the container ended, and with it the processes of a start.
	ContainerEnded bool `json:"container_ended,omitempty"`

	// Completed is set if the component is a program that has ended as its exitcodes expect, and is not restarted.
	Completed bool `json:"completed,omitempty"`

	// Failing is set on a live entry whose component fails its liveness checks.
	Failing *Failing `json:"failing,omitempty"`

	// Death is set on a gone entry, unless the container ended or the program completed.
	Death *Death `json:"death,omitempty"`

	// Execution is set on start, exit and stop entries. In an exit entry it has the outcome and, if
	// there is enough disk space, the end of the output.
	Execution *Execution `json:"execution,omitempty"`

	// Components is set on checkpoints and contains the complete state. In a hello it has only the
	// components in use, including those without entries.
	Components []Checkpointed `json:"components,omitempty"`

	// Documents is set on a document entry: revisions by name.
	Documents map[string]string `json:"documents,omitempty"`

	// Unit is set on a hello.
	Unit *Identity `json:"unit,omitempty"`
}

// Failing describes a running component that fails its liveness checks.
type Failing struct {
	Since time.Time `json:"since"` // the first of the consecutive failures
	Why   string    `json:"why"`
}

// Checkpointed is a component in a checkpoint.
type Checkpointed struct {
	Component   string    `json:"component"`
	State       string    `json:"state"`
	StartedFrom string    `json:"started_from,omitempty"` // the state it falls back to when the processes of its start have ended
	Since       time.Time `json:"since"`
	Why         string    `json:"why,omitempty"`
	Seq         uint64    `json:"seq"`
	// Unmoved reports that the component has entries but has not left its initial state yet. Units of
	// earlier releases never set it.
	Unmoved bool `json:"unmoved,omitempty"`
	// Completed reports that it is a program that has ended as its exitcodes expect, and is not restarted.
	Completed bool `json:"completed,omitempty"`
	// External reports that it is a program that was started or stopped without an operation: by the unit, or by a
	// client of Supervisor's API.
	External bool        `json:"external,omitempty"`
	Failing  *Failing    `json:"failing,omitempty"`  // nil: it is live, or not checked
	Death    *Death      `json:"death,omitempty"`    // the last end of its processes that no one had asked for; nil: none, or it was stopped since
	Restarts int         `json:"restarts,omitempty"` // how often it was started after a death
	Recent   []Execution `json:"recent,omitempty"`   // executions whose ids must still be known, with their outcomes
}
