package wire

import (
	"time"

	"github.com/toskose/toskose/tosca/protocol"
)

// ExecuteRequest asks a unit to run one operation of a component once. It is
// the body of POST /executions.
type ExecuteRequest struct {
	ID        string            `json:"id,omitempty"`      // chosen by the caller; the same id is the same execution; empty: a new one
	Component string            `json:"component"`         // name of the component
	Operation string            `json:"operation"`         // "interface.operation", or the bare name where it is unique
	By        string            `json:"by,omitempty"`      // who asked, for the journal
	Timeout   float64           `json:"timeout,omitempty"` // seconds; 0: the operation's own limit, or none
	Inputs    map[string]string `json:"inputs,omitempty"`  // values for declared input names, without INPUT_
	Instance  string            `json:"instance,omitempty"`
	After     *uint64           `json:"after,omitempty"` // the last entry of the component that the caller knows, 0: none; nil: any
	Part      *Part             `json:"part,omitempty"`  // of a Task; nil: the operation is not a part of one
}

// MaxIndexes is how many indexes a Task has at most.
const MaxIndexes = 32

// Part says which part of a Task an execution is. Units keep the last of each index.
type Part struct {
	Index   int       `json:"index"`
	Attempt int       `json:"attempt"`         // from 1
	Round   int       `json:"round,omitempty"` // how often the whole Task was asked for again before
	Since   time.Time `json:"since"`           // when the first of this round began: the Task's deadline counts from then
}

// Outcome is how far an execution is, or how it ended.
type Outcome string

// The outcomes of an execution.
const (
	OutcomeRunning   Outcome = "running"
	OutcomeSucceeded Outcome = "succeeded"
	OutcomeFailed    Outcome = "failed"    // ended with another code, by a signal, or could not be started
	OutcomeCancelled Outcome = "cancelled" // by DELETE, a stop, or the unit's shutdown
	OutcomeTimeout   Outcome = "timeout"   // its time limit passed
	OutcomeLost      Outcome = "lost"      // cut off by a boot: nobody saw its end
)

// Done reports whether the execution has ended.
func (o Outcome) Done() bool { return o != OutcomeRunning }

// Exit is how a process ended: with a code or by a signal. It is empty while
// the process runs and where there was none.
type Exit struct {
	ExitCode *int   `json:"exit_code,omitempty"`
	Signal   string `json:"signal,omitempty"` // "SIGKILL"
}

// Output is the end of what an execution has printed.
type Output struct {
	Stdout    string `json:"stdout,omitempty"` // at most TailBytes
	Stderr    string `json:"stderr,omitempty"`
	Truncated bool   `json:"truncated,omitempty"` // there was more before it, of one stream or both
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
	Reason    string    `json:"reason,omitempty"` // a sentence, where the outcome alone does not say it
	From      string    `json:"from"`             // the component's state before
	To        string    `json:"to,omitempty"`     // and after, once ended
	Started   time.Time `json:"started"`
	Ended     time.Time `json:"ended,omitzero"`
	PID       int       `json:"pid,omitempty"`
	Exit
	Output
	Seq uint64 `json:"seq"` // the journal's last entry about it

	Part *Part `json:"part,omitempty"` // of a Task

	// Kind is the operation's, where it is not what the name says.
	Kind protocol.Kind `json:"kind,omitempty"`

	// Of a start that succeeded: when the last process that it left had ended, and
	// whether somebody had asked for that.
	Gone    time.Time `json:"gone,omitzero"`
	Stopped bool      `json:"stopped,omitempty"`
	// ContainerEnded says that they did not end by themselves: the whole container did.
	ContainerEnded bool `json:"container_ended,omitempty"`
}

// Brief returns it without its output, a copy.
func (x *Execution) Brief() *Execution {
	brief := *x
	brief.Output = Output{}
	return &brief
}

// OfKind notes the kind that the operation has.
func (x *Execution) OfKind(kind protocol.Kind) {
	if x.Kind = ""; kind != x.byName() {
		x.Kind = kind
	}
}

// starts reports whether the operation leaves processes.
func (x *Execution) starts() bool {
	if x.Kind != "" {
		return x.Kind == protocol.KindStart
	}
	return x.byName() == protocol.KindStart
}

func (x *Execution) byName() protocol.Kind {
	return protocol.Operation{Interface: x.Interface, Name: x.Operation}.Kind()
}

// TailBytes is how much of the end of each stream an execution keeps.
const TailBytes = 4096

// Component is what a unit knows of one of its components.
type Component struct {
	Name      string    `json:"name"`
	State     string    `json:"state"`
	Since     time.Time `json:"since"`
	Why       string    `json:"why"`                 // a sentence: what brought it into this state
	Allowed   []string  `json:"allowed"`             // "interface.operation" the protocol allows now
	Open      bool      `json:"open"`                // a start has left processes
	Executing string    `json:"executing,omitempty"` // id of the execution under way
	Seq       uint64    `json:"seq"`                 // its last journal entry
	Processes []Process `json:"processes,omitzero"`  // nil: not asked for

	// Executions are those that have not ended: two, while a stop waits for the
	// start that it has cancelled.
	Executions []Execution `json:"executions,omitempty"`
}

// Process is a live process of a component.
type Process struct {
	PID       int     `json:"pid"`
	Parent    int     `json:"parent"`
	Operation string  `json:"operation,omitempty"` // the one it descends from
	Command   string  `json:"command"`
	CPU       float64 `json:"cpu_seconds"`
	Memory    int64   `json:"memory_bytes"` // resident set
	Zombie    bool    `json:"zombie,omitempty"`
}

// Identity is a unit's answer to GET /instance.
type Identity struct {
	Instance string            `json:"instance"` // of its journal: another container has another one
	Seq      uint64            `json:"seq"`      // of the journal's last entry
	Booted   time.Time         `json:"booted"`
	Labels   map[string]string `json:"labels,omitempty"` // host, slot: passed on from the environment
	// Documents are the revisions (COUNTER:ID) of those that it keeps, by name.
	Documents map[string]string `json:"documents,omitempty"`

	Credentials *Credentials `json:"credentials,omitempty"` // in the answer to GET /instance only

	Digest string `json:"digest,omitempty"` // SHA-256 of its configuration: the components' protocols and programs
}

// Snapshot is a unit's answer to GET /components.
type Snapshot struct {
	Identity
	Components []Component `json:"components"`
	Unclaimed  []Process   `json:"unclaimed,omitzero"` // processes that no mark claims; nil: not asked for
}
