package wire

// Protocol is a component's management protocol as the packager writes it into
// the unit's configuration, as JSON in `toskose_protocol` of a
// `[toskose:component:NAME]` section.
type Protocol struct {
	Initial       string         `json:"initial"`
	States        []string       `json:"states"`
	Transitions   []Transition   `json:"transitions"`
	FaultHandlers []FaultHandler `json:"fault_handlers,omitempty"`
}

// Transition moves a component from one state to another by an operation.
type Transition struct {
	Source    string `json:"source"`
	Target    string `json:"target"`
	Operation string `json:"operation"` // "interface.operation"
}

// FaultHandler says where a component falls to when what its start left ends.
type FaultHandler struct {
	Source string `json:"source"`
	Target string `json:"target"`
}

// OperationKind is the value of a program's `toskose_operation`: how its
// success is judged.
type OperationKind string

// The kinds of operations.
const (
	OperationNone  OperationKind = ""      // an ordinary program, by Supervisor's rules to the letter
	OperationRun   OperationKind = "run"   // runs to completion
	OperationStart OperationKind = "start" // opens: daemonises and exits 0, or stays
	OperationStop  OperationKind = "stop"  // closes what start left
)
