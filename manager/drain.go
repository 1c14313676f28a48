package manager

import (
	"context"
	"errors"
	"time"

	"github.com/toskose/toskose/manager/fleet"
	"github.com/toskose/toskose/manager/rest"
)

// Drain is a node whose containers are about to be replaced.
type Drain struct {
	Node      string    `json:"node"`
	Instances []string  `json:"instances"`        // on which new operations are blocked
	Underway  []Busy    `json:"underway"`         // executions that are still running there
	Silent    []string  `json:"silent,omitempty"` // unresponsive replicas
	Empty     bool      `json:"empty"`            // no operation is running there, and new ones are blocked
	Until     time.Time `json:"until"`
}

// Busy is an execution that has not ended.
type Busy struct {
	Component string `json:"component"`
	Operation string `json:"operation"`
	Execution string `json:"execution"`
	By        string `json:"by,omitempty"`
}

// Drain blocks new operations on the current replicas of a node until the lease expires, and returns the
// executions that still run there; another call extends the lease. Requests to run operations wait until EndDrain,
// also those for the replacements of these replicas.
func (a *App) Drain(ctx context.Context, node string, lease time.Duration) (Drain, error) {
	n, err := a.model.Node(node)
	if err != nil {
		return Drain{}, err
	}
	replicas, err := a.fleet.Replicas(ctx, n, "")
	if err != nil && !errors.Is(err, rest.ErrUnreachable) {
		return Drain{}, err
	}
	now := a.engine.Drain(n, lease)
	fleet.EachLimited(replicas, func(r fleet.Replica) struct{} {
		a.fleet.CatchUp(ctx, r)
		return struct{}{}
	})
	out := Drain{Node: n.Name(), Instances: append([]string{}, now.Instances...), Underway: []Busy{}, Until: now.Until.UTC()}
	if err != nil {
		out.Silent = append(out.Silent, err.Error())
	}
	for _, at := range a.fleet.Snapshot().Node(n.Name()).Replicas {
		switch {
		case !at.Gone.IsZero():
			continue
		case !at.Reachable():
			out.Silent = append(out.Silent, at.Address.String())
		}
		for _, c := range at.Components {
			if x := c.Executing(); x != nil {
				out.Underway = append(out.Underway, Busy{c.Component, x.Interface + "." + x.Operation, x.ID, x.By})
			}
		}
	}
	out.Empty = now.Running == 0 && len(out.Underway) == 0 && len(out.Silent) == 0
	return out, nil
}

// EndDrain allows operations on a node again.
func (a *App) EndDrain(node string) error {
	n, err := a.model.Node(node)
	if err != nil {
		return err
	}
	if !n.Toskosed {
		return n.Unattended("it has no unit, so nothing of it was drained")
	}
	a.engine.EndDrain(n)
	return nil
}
