package logs

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"

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
				if op.Model.Script == "" {
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

// label returns the JSON members that all lines of a source on a replica share.
func (s source) label(replica string) string {
	text, err := json.Marshal(struct {
		Node      string      `json:"node"`
		Replica   string      `json:"replica"`
		Component string      `json:"component"`
		Operation string      `json:"operation"`
		Stream    wire.Stream `json:"stream"`
	}{s.operation.Component.Node.Name(), replica, s.operation.Component.Name(), s.operation.Name.String(), s.stream})
	if err != nil {
		panic(err) // strings
	}
	return string(text[1 : len(text)-1])
}
