package mirror

import (
	"cmp"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	"github.com/toskose/toskose/unit/wire"
)

// Snapshot is the state at one moment. It is immutable.
type Snapshot struct {
	Version uint64  // grows with every change
	Nodes   []*Node // in the order of Options.Nodes

	superseded chan struct{}
}

// Superseded returns a channel that is closed when a newer snapshot is available.
func (s *Snapshot) Superseded() <-chan struct{} { return s.superseded }

// Node returns a node by its name, or nil.
func (s *Snapshot) Node(name string) *Node {
	i := slices.IndexFunc(s.Nodes, func(n *Node) bool { return n.Name == name })
	if i < 0 {
		return nil
	}
	return s.Nodes[i]
}

// Complete reports whether the state of all nodes is known.
func (s *Snapshot) Complete() bool {
	return !slices.ContainsFunc(s.Nodes, func(n *Node) bool { return !n.Known })
}

// Node is a container of the application.
type Node struct {
	Name string
	// Known means that discovery has run, and that each unit of its first result has responded or failed to.
	Known    bool
	Problem  error        // why no container was found or, for a standalone node, none is running
	Replicas []*Replica   // of a toskosed node by address, removed ones last
	Missing  []*Replica   // known, undiscovered, and possibly still running
	Running  []netip.Addr // of a standalone node
}

// At returns the replica at an address, or nil.
func (n *Node) At(addr netip.AddrPort) *Replica {
	i := slices.IndexFunc(n.Replicas, func(r *Replica) bool { return r.Address == addr && r.Gone.IsZero() })
	if i < 0 {
		return nil
	}
	return n.Replicas[i]
}

// Replica is one container of a toskosed node.
type Replica struct {
	Node       string
	Address    netip.AddrPort
	Instance   string // empty: its unit never responded
	Booted     time.Time
	Labels     map[string]string
	Digest     string    // of its configuration
	Seq        uint64    // of the last known entry of its journal
	Problem    error     // why its unit is unreachable; nil: it is reachable
	Since      time.Time // since when it is unreachable
	Resolvable bool      // the node's name resolves to it for clients
	Gone       time.Time // when it was removed or replaced; zero: it exists

	Components []*Component            // by name, as last reported
	Programs   []wire.ProgramComponent // of an attached node, as last reported

	heard *atomic.Int64
}

// Heard returns when its unit last responded; zero: never.
func (r *Replica) Heard() time.Time {
	if nano := r.heard.Load(); nano != 0 {
		return time.Unix(0, nano)
	}
	return time.Time{}
}

// Reachable reports whether the replica's state is current.
func (r *Replica) Reachable() bool { return r.Problem == nil && r.Gone.IsZero() }

// Component returns a component by its name, or nil if its unit does not know it.
func (r *Replica) Component(name string) *Component {
	i, found := slices.BinarySearchFunc(r.Components, name, compareName)
	if !found {
		return nil
	}
	return r.Components[i]
}

// Component is the state of a replica's component according to the journal, with the remembered executions, oldest
// first.
type Component = wire.Checkpointed

// Remembered is how many executions of a component are kept; running ones are always kept.
const Remembered = 16

func compareName(c *Component, name string) int { return cmp.Compare(c.Component, name) }
