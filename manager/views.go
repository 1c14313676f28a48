package manager

import (
	"time"

	"github.com/toskose/toskose/unit/wire"
)

// AppView is the application as it is now.
type AppView struct {
	Name        string          `json:"name"`
	Version     string          `json:"version,omitempty"`
	Description string          `json:"description,omitempty"`
	Nodes       []NodeView      `json:"nodes"`      // without their components
	Components  []ComponentView `json:"components"` // of all nodes
	Volumes     []VolumeView    `json:"volumes"`
}

// NodeKind says whether a node has a unit.
type NodeKind string

// The kinds of nodes.
const (
	Toskosed   NodeKind = "toskosed"
	Standalone NodeKind = "standalone"
)

// The states of a node. A component that no unit knows is StateUnknown, and
// one whose replicas differ is StateMixed.
const (
	NodeRunning     = "running"     // all replicas answer
	NodeDegraded    = "degraded"    // some do
	NodeUnreachable = "unreachable" // none does
	NodeStopped     = "stopped"     // there is no container
	StateUnknown    = "unknown"
	StateMixed      = "mixed"
)

// NodeView is a container of the application as it is now.
type NodeView struct {
	Name       string          `json:"name"`
	Type       string          `json:"type"`
	Kind       NodeKind        `json:"kind"`
	Image      string          `json:"image,omitempty"`
	State      string          `json:"state"`
	Why        string          `json:"why,omitempty"`
	Replicas   []ReplicaView   `json:"replicas"`
	Components []ComponentView `json:"components,omitempty"`
}

// ReplicaView is one container of a node.
type ReplicaView struct {
	Address   string            `json:"address"`
	Instance  string            `json:"instance,omitempty"`
	Booted    time.Time         `json:"booted,omitzero"`
	Labels    map[string]string `json:"labels,omitempty"`
	Unclaimed []wire.Process    `json:"unclaimed,omitempty"`
	Problem   string            `json:"problem,omitempty"` // why it cannot be heard
	Since     time.Time         `json:"since,omitzero"`    // since when
	Heard     time.Time         `json:"heard,omitzero"`    // when it was heard last, if it is not now
	Gone      time.Time         `json:"gone,omitzero"`     // when it was no longer found, or was replaced
}

// ComponentView is a component as it is now.
type ComponentView struct {
	Name       string             `json:"name"`
	Type       string             `json:"type"`
	Node       string             `json:"node"`
	State      string             `json:"state"`
	Allowed    []string           `json:"allowed"`         // on every replica, now, by its protocol and by what is offered
	Lacks      []Lack             `json:"lacks,omitempty"` // what it requires in its state, and nothing offers
	Operations []OperationModel   `json:"operations"`
	Replicas   []ComponentReplica `json:"replicas"`
}

// OperationModel is an operation as the model has it.
type OperationModel struct {
	Name        string   `json:"name"`        // "interface.operation"
	Implemented bool     `json:"implemented"` // it has a script
	Inputs      []string `json:"inputs,omitempty"`
}

// ComponentReplica is a component in one container.
type ComponentReplica struct {
	Address   string         `json:"address"`
	Instance  string         `json:"instance,omitempty"`
	State     string         `json:"state"`
	Since     time.Time      `json:"since,omitzero"`
	Why       string         `json:"why,omitempty"`
	Allowed   []string       `json:"allowed,omitempty"`
	Lacks     []Lack         `json:"lacks,omitempty"`
	Executing string         `json:"executing,omitempty"` // id of the execution under way
	Processes []wire.Process `json:"processes,omitempty"` // if they were asked for
	Problem   string         `json:"problem,omitempty"`   // why the state is not known
	Last      string         `json:"last,omitempty"`      // the state that it was in when it was heard last
	Heard     time.Time      `json:"heard,omitzero"`      // and when that was

	// Blocked are the operations that its protocol allows, but that require what
	// nothing offers.
	Blocked map[string][]Lack `json:"blocked,omitempty"`
}

// OperationView is an operation as it is now.
type OperationView struct {
	OperationModel
	Node      string             `json:"node"`
	Component string             `json:"component"`
	Allowed   bool               `json:"allowed"` // by every replica, now
	Running   bool               `json:"running"` // by any
	Replicas  []OperationReplica `json:"replicas"`
}

// OperationReplica is an operation in one container.
type OperationReplica struct {
	Address   string            `json:"address"`
	Instance  string            `json:"instance,omitempty"`
	Allowed   bool              `json:"allowed"`
	Lacks     []Lack            `json:"lacks,omitempty"`     // what it requires, and nothing offers
	Running   bool              `json:"running"`             // it executes, or has left what runs
	Executing string            `json:"executing,omitempty"` // of the component, any operation
	Process   *wire.ProcessInfo `json:"process,omitempty"`   // as Supervisor's clients see it
	Problem   string            `json:"problem,omitempty"`
}

// VolumeView is a volume; it is created while its node runs.
type VolumeView struct {
	Name  string   `json:"name"`
	Type  string   `json:"type"`
	State string   `json:"state"`
	Nodes []string `json:"nodes"` // that mount it
}

// Result is the outcome of a request at one replica.
type Result struct {
	Node     string               `json:"node"`
	Replica  string               `json:"replica"`
	Done     bool                 `json:"done"`
	Detail   string               `json:"detail,omitempty"`
	Statuses []wire.ProcessStatus `json:"statuses,omitempty"` // of the processes concerned
	Added    []string             `json:"added,omitempty"`    // groups of processes, by a reload
	Changed  []string             `json:"changed,omitempty"`
	Removed  []string             `json:"removed,omitempty"`

	err error
}

// Log is a part of a log of one replica.
type Log struct {
	Replica  string `json:"replica"`
	Text     string `json:"text"`
	Offset   int64  `json:"offset,omitempty"`   // where to continue, if known
	Overflow bool   `json:"overflow,omitempty"` // something before it is left out
	Problem  string `json:"problem,omitempty"`  // why there is no text

	err error
}
