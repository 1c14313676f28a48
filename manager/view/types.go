package view

import (
	"time"

	"github.com/toskose/toskose/manager/goal"
	"github.com/toskose/toskose/manager/outcome"
	"github.com/toskose/toskose/manager/topology"
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
	Job        NodeKind = "job" // its unit is not the manager's: it runs by itself, to its end
)

// The states of a node. A component that no unit knows is StateUnknown; one with different states on its replicas
// is StateMixed.
const (
	NodeRunning     = "running"     // all replicas answer
	NodeDegraded    = "degraded"    // some do
	NodeUnreachable = "unreachable" // none does
	NodeStopped     = "stopped"     // there is no container
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
	Job        []string    `json:"job,omitempty"` // the components that it runs by itself
}

// Replica is one container of a node.
type Replica struct {
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

// Component is the current state of a component.
type Component struct {
	Name       string                    `json:"name"`
	Type       string                    `json:"type"`
	Node       string                    `json:"node"`
	State      string                    `json:"state"`
	Allowed    []string                  `json:"allowed"`            // on every replica, now, by its protocol and by what is offered
	Degraded   bool                      `json:"degraded,omitempty"` // it lacks something, on any replica
	Lacks      []outcome.Lack            `json:"lacks,omitempty"`    // what it requires in its state, and nothing offers
	Operations []topology.OperationModel `json:"operations"`
	Replicas   []ComponentReplica        `json:"replicas"`
	Task       *goal.TaskStatus          `json:"task,omitempty"` // of one that finishes: how far it is
}

// ComponentReplica is a component in one container.
type ComponentReplica struct {
	Address   string         `json:"address"`
	Instance  string         `json:"instance,omitempty"`
	State     string         `json:"state"`
	Since     time.Time      `json:"since,omitzero"`
	Why       string         `json:"why,omitempty"`
	Allowed   []string       `json:"allowed,omitempty"`
	Degraded  bool           `json:"degraded,omitempty"` // it lacks something
	Lacks     []outcome.Lack `json:"lacks,omitempty"`
	Executing string         `json:"executing,omitempty"` // id of the execution under way
	Processes []wire.Process `json:"processes,omitempty"` // if they were asked for
	Problem   string         `json:"problem,omitempty"`   // why the state is not known
	Last      string         `json:"last,omitempty"`      // the state that it was in when it was heard last
	Heard     time.Time      `json:"heard,omitzero"`      // and when that was
	Outdated  bool           `json:"outdated,omitempty"`  // it is of another version of the application than the manager, and left alone

	// Blocked are the operations that the protocol allows but that have unmet requirements.
	Blocked map[string][]outcome.Lack `json:"blocked,omitempty"`
}

// Operation is the current state of an operation.
type Operation struct {
	topology.OperationModel
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
	Lacks     []outcome.Lack    `json:"lacks,omitempty"`     // what it requires, and nothing offers
	Running   bool              `json:"running"`             // it executes, or has left what runs
	Executing string            `json:"executing,omitempty"` // of the component, any operation
	Process   *wire.ProcessInfo `json:"process,omitempty"`   // as Supervisor's clients see it
	Problem   string            `json:"problem,omitempty"`
}

// Volume is a volume. Its state is created while its node is running.
type Volume struct {
	Name  string   `json:"name"`
	Type  string   `json:"type"`
	State string   `json:"state"`
	Nodes []string `json:"nodes"` // that mount it
}
