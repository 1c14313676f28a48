package goal

import (
	"time"

	"github.com/toskose/toskose/spec/protocol"
	"github.com/toskose/toskose/unit/wire"
)

// Situation is the known state of an application at one moment.
type Situation struct {
	Now        time.Time
	Complete   bool            // all nodes were looked for
	Standalone map[string]bool // containers without a unit, by name: whether they run
	Replicas   []Replica       // of the containers with one
	Missing    []string        // replicas that are not found and may go on where they are not seen, by name

	records map[string]Record // of Tasks, as the document has them

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
	Node     string
	Name     string // for people
	Instance string // of its unit; empty: it was never heard
	Problem  string // why it must not be operated: unreachable, outdated; empty: it can be
	Unknown  bool   // its states are those of the past
	Apart    bool   // no name leads clients to it yet
	// Components are the states that its unit reports, by component.
	Components map[string]Component
}

// Component is a component in one replica.
type Component struct {
	State     string
	Open      bool // processes of its start may be live
	Seq       uint64
	Executing *Run  // under way; nil: none
	Runs      []Run // that have ended, oldest first; the last ones are enough
}

// Run is one execution of an operation.
type Run struct {
	ID        string
	By        string
	Operation protocol.Operation
	Failed    bool // failed, lost or timed out
	TimedOut  bool // its time limit has ended it
	Cancelled bool // a person or a shutdown ended it
	From, To  string
	Started   time.Time
	Ended     time.Time
	Gone      time.Time // when what it left has ended; zero: it has not
	Stopped   bool      // and somebody had asked for that
	Container bool      // or its whole container had ended
	Seq       uint64    // of the last entry about it
	ExitCode  *int      // nil: it has none
	Signal    string    // that ended it
	Part      *wire.Part

	needs []string // of one under way: what it requires of others
}

// died reports whether processes of a start exited unexpectedly.
func (r *Run) died() bool { return !r.Gone.IsZero() && !r.Stopped && !r.Container }
