package fakeunit

import (
	"context"
	"net/netip"
	"slices"

	"github.com/toskose/toskose/manager/discovery"
	"github.com/toskose/toskose/spec"
	"github.com/toskose/toskose/spec/protocol"
)

// Containers are the containers that the test has set, by alias.
type Containers map[string][]netip.AddrPort

// Replicas implements the manager's Containers.
func (c Containers) Replicas(_ context.Context, alias string, _ int) ([]netip.AddrPort, error) {
	if len(c[alias]) == 0 {
		return nil, discovery.ErrNone
	}
	return c[alias], nil
}

// Clients implements the manager's Containers: names resolve to all replicas.
func (c Containers) Clients(context.Context, string) ([]netip.Addr, bool, error) {
	return nil, true, nil
}

// Running implements the manager's Containers.
func (c Containers) Running(ctx context.Context, alias string, _ []int) ([]netip.Addr, error) {
	found, err := c.Replicas(ctx, alias, 0)
	if err != nil {
		return nil, err
	}
	return []netip.Addr{found[0].Addr()}, nil
}

// Thinking is a small application: backend hosts api, frontend hosts gui, store
// is standalone.
func Thinking() *spec.Application {
	script := func(name string, inputs ...string) spec.Operation {
		op := spec.Operation{Name: name, Script: "scripts/" + name + ".sh"}
		for _, input := range inputs {
			op.Inputs = append(op.Inputs, spec.OperationInput{Name: input})
		}
		return op
	}
	op := func(iface, name string) protocol.Operation { return protocol.Operation{Interface: iface, Name: name} }
	lifecycle := protocol.Protocol{
		Initial: "created",
		Transitions: []protocol.Transition{
			{Source: "created", Target: "configured", Operation: op("Standard", "configure")},
			{Source: "configured", Target: "started", Operation: op("Standard", "start")},
			{Source: "configured", Target: "started", Operation: op("api_interface", "start")},
			{Source: "started", Target: "configured", Operation: op("Standard", "stop")},
			{Source: "configured", Target: "configured", Operation: op("api_interface", "push_default")},
		},
	}
	page := lifecycle
	page.Transitions = slices.DeleteFunc(slices.Clone(page.Transitions), func(t protocol.Transition) bool { return t.Interface != "Standard" })
	page.States = []protocol.State{{Name: "configured"}, {Name: "created"}, {Name: "started", Requires: []string{protocol.Connection}}}
	lifecycle.States = []protocol.State{{Name: "configured"}, {Name: "created"}, {Name: "started", Offers: []string{protocol.Endpoint}}}
	return &spec.Application{
		Name: "thinking",
		Nodes: []spec.Node{
			{Name: "backend", Type: "tosker.nodes.Container", Protocol: protocol.Container().Hosting(), Unit: &spec.Unit{Port: 9001, User: User}},
			{Name: "frontend", Type: "tosker.nodes.Container", Protocol: protocol.Container().Hosting(), Unit: &spec.Unit{Port: 9002, User: User}},
			{Name: "store", Type: "tosker.nodes.Container", Protocol: protocol.Container().Hosting(), Storage: []spec.Storage{{Volume: "dbvolume", Location: "/data"}}},
		},
		Components: []spec.Component{
			{Name: "api", Type: "thinking.Api", Host: "backend", Node: "backend", Protocol: lifecycle, Interfaces: []spec.Interface{
				{Name: "Standard", Operations: []spec.Operation{script("configure", "port", "code"), script("start", "port"), {Name: "stop"}}},
				{Name: "api_interface", Operations: []spec.Operation{script("push_default"), script("start")}},
			}},
			{Name: "gui", Type: "thinking.Gui", Host: "frontend", Node: "frontend", Protocol: page, Connections: []string{"api"}, Interfaces: []spec.Interface{
				{Name: "Standard", Operations: []spec.Operation{script("start")}},
			}},
		},
		Volumes: []spec.Volume{{Name: "dbvolume", Type: "tosker.nodes.Volume", Protocol: protocol.Volume()}},
	}
}

// PasswordOf returns the passwords of Thinking's units.
func PasswordOf(node string) []string {
	return map[string][]string{"backend": {Password}, "frontend": {Password}}[node]
}

// Backend is a unit with api in state configured. start waits for hold.
func Backend(instance string, hold <-chan struct{}, end End) *Unit {
	return &Unit{
		Instance: instance,
		Logs:     map[string]string{"api:Standard.start": "hello " + instance},
		UnitLog:  "unit " + instance,
		Operations: map[string]map[string]Operation{"api": {
			"Standard.configure":         {From: []string{"created"}, End: End{Target: "configured"}},
			"Standard.start":             {From: []string{"configured"}, Hold: hold, End: end},
			"api_interface.push_default": {From: []string{"configured"}, End: End{Target: "configured"}},
		}},
	}
}
