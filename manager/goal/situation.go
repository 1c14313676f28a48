package goal

import (
	"time"

	"github.com/toskose/toskose/spec/protocol"
	"github.com/toskose/toskose/unit/wire"
)

// Situation is the known state of an application at one moment.
type Situation struct {
	Now        time.Time
	Complete   bool            // the state of all nodes is known
	Standalone map[string]bool // whether containers without a unit are running, by name
	Replicas   []Replica       // of the containers with a unit
	Missing    []string        // undiscovered replicas that may still be running, by name

	records map[string]Record // the document's records of Tasks

	byNode map[string][]int // the replicas of a node by number; nil: not indexed
}

// Indexed returns the situation with an index of replicas by node. Its replicas must not change afterwards.
func (s Situation) Indexed() Situation {
	s.byNode = map[string][]int{}
	for i := range s.Replicas {
		node := s.Replicas[i].Node
		s.byNode[node] = append(s.byNode[node], i)
	}
	return s
}

// of returns the replicas of a node, by number.
func (s Situation) of(node string) []int {
	if s.byNode == nil {
		s = s.Indexed()
	}
	return s.byNode[node]
}

// Replica is one container of a node that has a unit.
type Replica struct {
	Node         string
	Name         string // for people
	Instance     string // of its unit; empty: the unit never responded
	Problem      string // why it must not be operated: unreachable or outdated; empty: it may be
	Unknown      bool   // its known states may be outdated
	Unresolvable bool   // no name resolves to it for clients yet
	// Components are the states that its unit reports, by component.
	Components map[string]Component
}

// Component is a component in one replica.
type Component struct {
	State     string
	Open      bool // processes of its start may be running
	Failing   bool // it fails its liveness checks
	Completed bool // a program that has ended as its exitcodes expect, and is not restarted
	Seq       uint64
	Executing *Run  // the running one; nil: none
	Runs      []Run // ended runs, oldest first; only the latest ones
}

// Run is one execution of an operation.
type Run struct {
	ID        string
	By        string
	Operation protocol.Operation
	Failed    bool // failed, lost or timed out
	TimedOut  bool // its time limit ended it
	Cancelled bool // a person or a shutdown ended it
	From, To  string
	Started   time.Time
	Ended     time.Time
	Gone      time.Time // when its processes exited; zero: they have not
	Stopped   bool      // on request
	Container bool      // together with the container
	External  bool      // not an execution: the program was started without one, by the unit or a client of Supervisor's API
	Seq       uint64    // of the last entry about it
	ExitCode  *int      // nil: it has none
	Signal    string    // that ended it
	Part      *wire.Part

	// Execution is the unit's record; nil for an external run.
	Execution *wire.Execution

	needs []string // requirements of a running one
}

// died reports whether processes of a start exited unexpectedly.
func (r *Run) died() bool { return !r.Gone.IsZero() && !r.Stopped && !r.Container }
