package wire

import "time"

// EntryKind says what a journal entry is about.
type EntryKind string

// The kinds of entries.
const (
	EntryHello      EntryKind = "hello"      // only on the wire: how all stands after this entry
	EntryCheckpoint EntryKind = "checkpoint" // first of each segment: all states
	EntryBoot       EntryKind = "boot"       // the unit started
	EntryStart      EntryKind = "start"      // an execution was started
	EntryExit       EntryKind = "exit"       // an execution ended
	EntryStop       EntryKind = "stop"       // a stop was asked for or enforced
	EntryGone       EntryKind = "gone"       // the last process that a start left has ended
	EntryDocument   EntryKind = "document"   // the unit keeps another document, its own or a replica's on the same machine
	EntryReload     EntryKind = "reload"     // the configuration was read again, or a definition of it came into use
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

	// StartedFrom is where the component falls back to when what its start
	// left has ended; empty: no start has left anything.
	StartedFrom string `json:"started_from,omitempty"`

	// ContainerEnded is set where the container ended, and with it what a start had left.
	ContainerEnded bool `json:"container_ended,omitempty"`

	// Execution is set on start, exit and stop entries; an exit entry has its
	// outcome and, where the disk has room for it, the end of its output.
	Execution *Execution `json:"execution,omitempty"`

	// Components is set on checkpoints: what is needed to go on from here. A hello
	// has those in use only, also what nothing was done to yet.
	Components []Checkpointed `json:"components,omitempty"`

	// Documents is set on a document entry: the revision of each, by name.
	Documents map[string]string `json:"documents,omitempty"`

	// Unit is set on a hello.
	Unit *Identity `json:"unit,omitempty"`
}

// Checkpointed is a component in a checkpoint.
type Checkpointed struct {
	Component   string      `json:"component"`
	State       string      `json:"state"`
	StartedFrom string      `json:"started_from,omitempty"` // where it falls back to when what start left has ended
	Since       time.Time   `json:"since"`
	Why         string      `json:"why,omitempty"`
	Seq         uint64      `json:"seq"`
	Recent      []Execution `json:"recent,omitempty"` // executions whose ids must still be known, with their outcome
}
