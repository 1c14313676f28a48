package rest

import (
	"time"

	"github.com/toskose/toskose/manager/goal"
	"github.com/toskose/toskose/unit/wire"
)

// App is the current state of the application.
type App struct {
	Name        string      `json:"name"`
	Version     string      `json:"version,omitempty"`
	Description string      `json:"description,omitempty"`
	Nodes       []Node      `json:"nodes"`      // without their components
	Components  []Component `json:"components"` // of all nodes
	Volumes     []Volume    `json:"volumes"`
}

// NodeKind is the kind of a node, which determines whether it has a unit.
type NodeKind string

// The kinds of nodes.
const (
	Toskosed   NodeKind = "toskosed"
	Standalone NodeKind = "standalone"
	Job        NodeKind = "job" // runs to completion without the manager
)

// The states of a node. A component that no unit knows is StateUnknown; one with different states on its replicas
// is StateMixed.
const (
	NodeRunning     = "running"     // all replicas are responsive
	NodeDegraded    = "degraded"    // some replicas are responsive
	NodeUnreachable = "unreachable" // no replica is responsive
	NodeStopped     = "stopped"     // no container exists
	StateUnknown    = "unknown"
	StateMixed      = "mixed"
)

// Node is the current state of a container of the application.
type Node struct {
	Name       string      `json:"name"`
	Type       string      `json:"type"`
	Kind       NodeKind    `json:"kind"`
	Image      string      `json:"image,omitempty"`
	State      string      `json:"state"`
	Why        string      `json:"why,omitempty"`
	Replicas   []Replica   `json:"replicas"`
	Components []Component `json:"components,omitempty"`
	Job        []string    `json:"job,omitempty"` // the components that a job runs without the manager
}

// Replica is one container of a node.
type Replica struct {
	Address   string            `json:"address"`
	Instance  string            `json:"instance,omitempty"`
	Booted    time.Time         `json:"booted,omitzero"`
	Labels    map[string]string `json:"labels,omitempty"`
	Unclaimed []wire.Process    `json:"unclaimed,omitempty"`
	Problem   string            `json:"problem,omitempty"` // why it is unreachable
	Since     time.Time         `json:"since,omitzero"`    // since when it is unreachable
	Heard     time.Time         `json:"heard,omitzero"`    // when it last responded, if it is unreachable
	Gone      time.Time         `json:"gone,omitzero"`     // when it was removed or replaced
}

// Component is the current state of a component.
type Component struct {
	Name       string             `json:"name"`
	Type       string             `json:"type"`
	Node       string             `json:"node"`
	State      string             `json:"state"`
	Allowed    []string           `json:"allowed"`            // now, on every replica, considering its protocol and requirements
	Degraded   bool               `json:"degraded,omitempty"` // it has unmet requirements on some replica
	Lacks      []Lack             `json:"lacks,omitempty"`    // unmet requirements of its current state
	Operations []OperationModel   `json:"operations"`
	Replicas   []ComponentReplica `json:"replicas"`
	Task       *goal.TaskStatus   `json:"task,omitempty"`     // the progress of a task
	Reason     string             `json:"reason,omitempty"`   // why it failed, on the first replica where it did
	Restarts   int                `json:"restarts,omitempty"` // how often it was started after a death, on all replicas
}

// ComponentReplica is a component in one container.
type ComponentReplica struct {
	Address   string         `json:"address"`
	Instance  string         `json:"instance,omitempty"`
	State     string         `json:"state"`
	Since     time.Time      `json:"since,omitzero"`
	Why       string         `json:"why,omitempty"`
	Allowed   []string       `json:"allowed,omitempty"`
	Degraded  bool           `json:"degraded,omitempty"` // it has unmet requirements
	Lacks     []Lack         `json:"lacks,omitempty"`
	Executing string         `json:"executing,omitempty"` // the id of the running execution
	Processes []wire.Process `json:"processes,omitempty"` // if requested
	Problem   string         `json:"problem,omitempty"`   // why the state is unknown
	Last      string         `json:"last,omitempty"`      // its last known state
	Heard     time.Time      `json:"heard,omitzero"`      // when that state was reported
	Untouched bool           `json:"untouched,omitempty"` // no operation has run on it in this container
	Failing   *wire.Failing  `json:"failing,omitempty"`   // since when it fails its liveness checks, and why
	Reason    string         `json:"reason,omitempty"`    // why it failed: its last operation, an unexpected end, or its liveness checks
	Restarts  int            `json:"restarts,omitempty"`  // how often it was started after an unexpected end
	Outdated  bool           `json:"outdated,omitempty"`  // its application version differs from the manager's; it is not operated

	// Blocked are the operations that the protocol allows but that have unmet requirements.
	Blocked map[string][]Lack `json:"blocked,omitempty"`
}

// Operation is the current state of an operation.
type Operation struct {
	OperationModel
	Node      string             `json:"node"`
	Component string             `json:"component"`
	Allowed   bool               `json:"allowed"` // now, on every replica
	Running   bool               `json:"running"` // on some replica
	Replicas  []OperationReplica `json:"replicas"`
}

// OperationReplica is an operation in one container.
type OperationReplica struct {
	Address   string            `json:"address"`
	Instance  string            `json:"instance,omitempty"`
	Allowed   bool              `json:"allowed"`
	Lacks     []Lack            `json:"lacks,omitempty"`     // unmet requirements
	Running   bool              `json:"running"`             // it is executing, or its processes are running
	Executing string            `json:"executing,omitempty"` // any running operation of the component
	Process   *wire.ProcessInfo `json:"process,omitempty"`   // as Supervisor's clients see it
	Problem   string            `json:"problem,omitempty"`
}

// Volume is a volume. Its state is created while its node is running.
type Volume struct {
	Name  string   `json:"name"`
	Type  string   `json:"type"`
	State string   `json:"state"`
	Nodes []string `json:"nodes"` // nodes that mount it
}

// OperationModel is the static description of an operation.
type OperationModel struct {
	Name        string   `json:"name"`        // "interface.operation"
	Implemented bool     `json:"implemented"` // it has a script
	Inputs      []string `json:"inputs,omitempty"`
}
