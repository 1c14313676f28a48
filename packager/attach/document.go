package attach

import (
	"maps"
	"slices"
	"strconv"

	"github.com/compose-spec/compose-go/v2/types"

	"github.com/toskose/toskose/spec"
	"github.com/toskose/toskose/spec/protocol"
)

// user is the user of the APIs of the manager and the units.
const user = "admin"

// document returns the application as the manager reads it.
func (p *project) document(cfg settings, findings []Finding) *spec.Application {
	app := &spec.Application{Name: p.Name, Goal: cfg.goal, Nodes: []spec.Node{}, Components: []spec.Component{}, Volumes: []spec.Volume{}}
	for _, f := range findings {
		s := p.Services[f.Service]
		if !f.Attached && s.NetworkMode != "" {
			continue // no name that the manager could resolve
		}
		n := spec.Node{
			Name: s.Name, Type: "Container", Image: spec.Image{Kind: spec.ImageService, Name: f.Image},
			Ports: portsOf(s), Protocol: protocol.Container(),
		}
		if f.Attached {
			n.Attached = &spec.Attached{Requires: cfg.programs(s.Name)}
			n.Unit = &spec.Unit{Port: f.Port, User: user}
		}
		app.Nodes = append(app.Nodes, n)
	}
	return app
}

// portsOf returns the ports that a service publishes, by container port.
func portsOf(s types.ServiceConfig) []spec.Port {
	ports := map[spec.Port]bool{}
	for _, c := range s.Ports {
		port := spec.Port{Container: int(c.Target), Protocol: "tcp"}
		if c.Protocol == "udp" {
			port.Protocol = "udp"
		}
		if host, err := strconv.Atoi(c.Published); err == nil { // not a range
			port.Host = host
		}
		ports[port] = true
	}
	return slices.SortedFunc(maps.Keys(ports), func(a, b spec.Port) int {
		return slices.Compare([]int{a.Container, len(a.Protocol), int(a.Protocol[0]), a.Host}, []int{b.Container, len(b.Protocol), int(b.Protocol[0]), b.Host})
	})
}
