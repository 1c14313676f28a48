package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/toskose/toskose/spec"
	"github.com/toskose/toskose/spec/protocol"
)

// How a unit that joins by its environment is reached, unless it is told otherwise.
const (
	attachedPort = 9001
	attachedUser = "admin"
)

// attached returns an application of containers by their names on the network. Their programs are its components.
func attached(names []string) (*spec.Application, error) {
	app := &spec.Application{Name: "attached"}
	for _, name := range slices.Sorted(slices.Values(names)) {
		if strings.ContainsAny(name, "/ \t") {
			return nil, fmt.Errorf("%q is not a name on a network", name)
		}
		app.Nodes = append(app.Nodes, spec.Node{
			Name: name, Type: "Container", Protocol: protocol.Container(), Attached: &spec.Attached{},
			Unit: &spec.Unit{Port: attachedPort, User: attachedUser},
		})
	}
	return app, app.Validate()
}
