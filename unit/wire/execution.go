package wire

import (
	"time"

	"github.com/toskose/toskose/spec/protocol"
)

// ExecuteRequest requests one execution of an operation. It is the body of POST /executions.
type ExecuteRequest struct {
	ID        string            `json:"id,omitempty"`      // chosen by the caller; requests with the same id are the same execution; empty: a new one
	Component string            `json:"component"`         // name of the component
	Operation string            `json:"operation"`         // "interface.operation", or the bare name if it is unique
	By        string            `json:"by,omitempty"`      // the user, for the journal
	Timeout   float64           `json:"timeout,omitempty"` // seconds; 0: the operation's own limit, or none
	Inputs    map[string]string `json:"inputs,omitempty"`  // values for declared input names, without INPUT_
	Instance  string            `json:"instance,omitempty"`
	After     *uint64           `json:"after,omitempty"` // the component's last entry known to the caller, 0: none; nil: any
	Part      *Part             `json:"part,omitempty"`  // of a Task; nil: not part of a Task
}

// MaxIndexes is the maximum number of indexes of a Task.
const MaxIndexes = 32

// Part identifies the part of a Task that an execution runs. Units keep the last execution of each
// index.
type Part struct {
	Index   int       `json:"index"`
	Attempt int       `json:"attempt"`         // from 1
	Round   int       `json:"round,omitempty"` // number of earlier rounds of the whole Task
	Since   time.Time `json:"since"`           // start of the first part of this round, from which the Task's deadline is measured
}

// Outcome is the status of an execution.
type Outcome string

// The outcomes of an execution.
const (
	OutcomeRunning   Outcome = "running"
	OutcomeSucceeded Outcome = "succeeded"
	OutcomeFailed    Outcome = "failed"    // ended with another code or by a signal, or could not be started
	OutcomeCancelled Outcome = "cancelled" // by DELETE, a stop, or the unit's shutdown
	OutcomeTimeout   Outcome = "timeout"   // its time limit passed
	OutcomeLost      Outcome = "lost"      // interrupted by a restart of the container; its end is unknown
)

// Done reports whether the execution has ended.
func (o Outcome) Done() bool { return o != OutcomeRunning }

// Exit describes how a process ended. It is empty while the process runs and if there was none.
type Exit struct {
	ExitCode *int   `json:"exit_code,omitempty"`
	Signal   string `json:"signal,omitempty"` // "SIGKILL"
}

// Death describes how processes of a component ended that no one had asked to end.
type Death struct {
	Exit
	Last string `json:"last,omitempty"` // the last line of their output, at most LastLineBytes
}

// LastLineBytes is the maximum size of a last line of output.
const LastLineBytes = 200

// Output is the end of an execution's output.
type Output struct {
	Stdout    string `json:"stdout,omitempty"` // at most TailBytes
	Stderr    string `json:"stderr,omitempty"`
	Truncated bool   `json:"truncated,omitempty"` // there was more before it, in at least one stream
}

// Execution is one run of an operation.
type Execution struct {
	ID        string    `json:"id"`
	Instance  string    `json:"instance"`
	Component string    `json:"component"`
	Interface string    `json:"interface"`
	Operation string    `json:"operation"`
	By        string    `json:"by,omitempty"`
	Inputs    []string  `json:"inputs,omitempty"` // names only
	Outcome   Outcome   `json:"outcome"`
	Reason    string    `json:"reason,omitempty"` // a sentence, unless the outcome says it all
	From      string    `json:"from"`             // state of the component before
	To        string    `json:"to,omitempty"`     // and after, once ended
	Started   time.Time `json:"started"`
	Ended     time.Time `json:"ended,omitzero"`
	PID       int       `json:"pid,omitempty"`
	Exit
	Output
	Last string `json:"last,omitempty"` // the last line of its output, unless it succeeded; at most LastLineBytes
	Seq  uint64 `json:"seq"`            // its last journal entry

	Part *Part `json:"part,omitempty"` // of a Task

	// Kind is the kind of the operation, unless it follows from the name.
	Kind protocol.Kind `json:"kind,omitempty"`

	// For a successful start: when its last process ended, and whether that was requested.
	Gone    time.Time `json:"gone,omitzero"`
	Stopped bool      `json:"stopped,omitempty"`
	// ContainerEnded reports that the processes ended because the container ended.
	ContainerEnded bool `json:"container_ended,omitempty"`
	// Death is how its processes ended, if no one had asked them to.
	Death *Death `json:"death,omitempty"`
}

// Brief returns a copy without its output.
func (x *Execution) Brief() *Execution {
	brief := *x
	brief.Output = Output{}
	return &brief
}

// OfKind sets the kind of the operation.
func (x *Execution) OfKind(kind protocol.Kind) {
	if x.Kind = ""; kind != x.byName() {
		x.Kind = kind
	}
}

// leavesProcesses reports whether the operation is a start.
func (x *Execution) leavesProcesses() bool {
	if x.Kind != "" {
		return x.Kind == protocol.KindStart
	}
	return x.byName() == protocol.KindStart
}

func (x *Execution) byName() protocol.Kind {
	return protocol.Operation{Interface: x.Interface, Name: x.Operation}.Kind()
}

// TailBytes is the size of the end of each stream that an execution keeps.
const TailBytes = 4096

// Component is the state of one of a unit's components.
type Component struct {
	Name      string    `json:"name"`
	State     string    `json:"state"`
	Since     time.Time `json:"since"`
	Why       string    `json:"why"`                 // a sentence: why it is in this state
	Allowed   []string  `json:"allowed"`             // operations ("interface.operation") that the protocol allows now
	Open      bool      `json:"open"`                // processes of a start are alive
	Completed bool      `json:"completed,omitempty"` // it is a program that has ended as its exitcodes expect
	Failing   *Failing  `json:"failing,omitempty"`   // it runs, but is not live
	Restarts  int       `json:"restarts,omitempty"`  // how often it was started after a death
	Executing string    `json:"executing,omitempty"` // id of the running execution
	Seq       uint64    `json:"seq"`                 // its last journal entry
	Processes []Process `json:"processes,omitzero"`  // nil unless requested

	// Executions are the running executions: two while a stop waits for the start that it has
	// cancelled.
	Executions []Execution `json:"executions,omitempty"`
}

// Process is a live process of a component.
type Process struct {
	PID       int     `json:"pid"`
	Parent    int     `json:"parent"`
	Operation string  `json:"operation,omitempty"` // the operation it descends from
	Command   string  `json:"command"`
	CPU       float64 `json:"cpu_seconds"`
	Memory    int64   `json:"memory_bytes"` // resident set
	Zombie    bool    `json:"zombie,omitempty"`
}

// ProgramComponent describes a component that is a program of the configuration, with
// protocol.Program.
type ProgramComponent struct {
	Component string `json:"component"` // its name: NAME, or GROUP:NAME if they differ
	Group     string `json:"group"`
	Autostart bool   `json:"autostart"`
}

// Identity is the response to GET /instance.
type Identity struct {
	Instance string            `json:"instance"` // of its journal; it differs for every container
	Seq      uint64            `json:"seq"`      // of the journal's last entry
	Booted   time.Time         `json:"booted"`
	Labels   map[string]string `json:"labels,omitempty"` // host and slot, from the environment
	// Documents are the revisions (COUNTER:ID) of the stored documents, by name.
	Documents map[string]string `json:"documents,omitempty"`

	Credentials *Credentials `json:"credentials,omitempty"` // only in the response to GET /instance

	// Programs are the programs that are components, if the unit joined by its environment.
	Programs []ProgramComponent `json:"programs,omitempty"`

	Digest string `json:"digest,omitempty"` // SHA-256 of its configuration: protocols and programs of the components
}

// Snapshot is the response to GET /components.
type Snapshot struct {
	Identity
	Components []Component `json:"components"`
	Unclaimed  []Process   `json:"unclaimed,omitzero"` // processes that no mark claims; nil unless requested
}
