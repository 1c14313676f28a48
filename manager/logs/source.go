package logs

import (
	"crypto/sha256"
	"fmt"

	"github.com/toskose/toskose/manager/rest"
	"github.com/toskose/toskose/manager/topology"
	"github.com/toskose/toskose/unit/wire"
)

// source is the log of a stream of an operation, on every replica of its node.
type source struct {
	operation topology.Operation
	stream    wire.Stream
}

// sources are the logs of an application by node, in the model's order. A log is identified by its index.
type sources struct {
	of  map[string][]source
	sum [2]byte // digest of all names; a position is only valid for this order
}

func newSources(app *topology.Application) sources {
	all := sources{of: map[string][]source{}}
	hash := sha256.New()
	for _, n := range app.Toskosed {
		for _, c := range n.Components {
			for _, op := range c.Operations {
				if !op.HasProcess() {
					continue
				}
				fmt.Fprintf(hash, "%s %s\n", n.Name(), op.Process())
				all.of[n.Name()] = append(all.of[n.Name()], source{op, wire.Stdout}, source{op, wire.Stderr})
			}
		}
	}
	copy(all.sum[:], hash.Sum(nil))
	return all
}

// on returns the source of the lines of a replica.
func (s source) on(replica string) rest.LogSource {
	c := s.operation.Component
	return rest.LogSource{Node: c.Node.Name(), Replica: replica, Component: c.Name(), Operation: s.operation.Name.String(), Stream: s.stream}.Encoded()
}
