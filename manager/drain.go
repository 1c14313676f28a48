package manager

import (
	"context"
	"errors"
	"time"

	"github.com/toskose/toskose/manager/fleet"
	"github.com/toskose/toskose/manager/rest"
)

// Drain blocks new operations on the current replicas of a node until the lease expires, and returns the
// executions that still run there; another call extends the lease. Requests to run operations wait until EndDrain,
// also those for the replacements of these replicas.
func (a *App) Drain(ctx context.Context, node string, lease time.Duration) (rest.Drain, error) {
	n, err := a.model.Node(node)
	if err != nil {
		return rest.Drain{}, err
	}
	replicas, err := a.fleet.Replicas(ctx, n, "")
	if err != nil && !errors.Is(err, rest.ErrUnreachable) {
		return rest.Drain{}, err
	}
	now := a.engine.Drain(n, lease)
	fleet.EachLimited(replicas, func(r fleet.Replica) struct{} {
		a.fleet.CatchUp(ctx, r)
		return struct{}{}
	})
	out := rest.Drain{Node: n.Name(), Instances: append([]string{}, now.Instances...), Underway: []rest.Busy{}, Until: now.Until.UTC()}
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
				out.Underway = append(out.Underway, rest.Busy{Component: c.Component, Operation: x.Interface + "." + x.Operation, Execution: x.ID, By: x.By})
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
