package rotate

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/toskose/toskose/cmd/toskose/live"
	manager "github.com/toskose/toskose/manager/client"
	"github.com/toskose/toskose/packager/deploy"
	"github.com/toskose/toskose/packager/rotate"
)

// swarm gives rotate.Rotate the services of an application in a swarm.
type swarm struct{ *deploy.Running }

// Services returns the services that mount secrets.
func (s swarm) Services(ctx context.Context) ([]rotate.Service, error) {
	found, err := s.Running.Services(ctx)
	all := make([]rotate.Service, len(found))
	for i, one := range found {
		all[i] = rotate.Service(one)
	}
	return all, err
}

// jobs returns the names of the containers that exit when they are done.
func (s swarm) jobs(ctx context.Context) (names []string, err error) {
	all, err := s.Running.Services(ctx)
	for _, one := range all {
		if !one.Manager && !one.Managed && one.Node != "" {
			names = append(names, one.Node)
		}
	}
	return names, err
}

// components queries the manager for components, with the folder's current credentials.
type components struct{ running *deploy.Running }

func (c components) client(ctx context.Context) (*manager.Client, error) {
	at, err := c.running.Access(ctx)
	if err != nil {
		return nil, err
	}
	return live.ClientOf(at)
}

const (
	drained = time.Minute      // unless the drain is renewed
	settled = 10 * time.Second // after which a component on hold counts as stopped
)

// Drain blocks new operations on a node's containers.
func (c components) Drain(ctx context.Context, node string) (waits []string, err error) {
	asking, err := c.client(ctx)
	if err != nil {
		return nil, err
	}
	defer asking.Close()
	now, err := asking.Drain(ctx, node, drained)
	return waiting(now), err
}

// waiting lists the activities that keep a drained node busy.
func waiting(now manager.Drain) (waits []string) {
	for _, x := range now.Underway {
		waits = append(waits, fmt.Sprintf("%s of %s runs", x.Operation, x.Component))
	}
	for _, name := range now.Silent {
		waits = append(waits, "no answer: "+name)
	}
	if len(waits) == 0 && !now.Empty {
		waits = append(waits, "an operation is starting")
	}
	return waits
}

// Undrain ends the drain of a node.
func (c components) Undrain(ctx context.Context, node string) error {
	asking, err := c.client(ctx)
	if err != nil {
		return err
	}
	defer asking.Close()
	return asking.EndDrain(ctx, node)
}

// can returns an error if the manager does not support draining.
func (c components) can(ctx context.Context, nodes []string) error {
	if len(nodes) == 0 {
		return nil
	}
	err := c.Undrain(ctx, nodes[0])
	var problem *manager.Problem
	if errors.As(err, &problem) && problem.Status == http.StatusNotFound {
		return fmt.Errorf("the manager is of an earlier version, which does not support draining: package the application again and deploy it first (%w)", err)
	}
	return err
}

// State returns the states of the components of a node.
func (c components) State(ctx context.Context, node string) (rotate.NodeState, error) {
	asking, err := c.client(ctx)
	if err != nil {
		return rotate.NodeState{}, err
	}
	defer asking.Close()
	goal, err := asking.Goal(ctx)
	if err != nil {
		return rotate.NodeState{}, err
	}
	app, err := asking.App(ctx)
	return standing(node, app, goal, time.Now()), err
}

func standing(node string, app manager.App, goal manager.Goal, now time.Time) rotate.NodeState {
	s := rotate.NodeState{Goal: !goal.None(), Done: goal.Done && goal.Acting, States: map[string]string{}}
	if !goal.Acting {
		s.Changing = append(s.Changing, "the manager does not know the goal yet")
	}
	for _, of := range app.Components {
		if of.Node != node {
			continue
		}
		if slices.ContainsFunc(of.Replicas, func(r manager.Replica) bool { return !manager.Untouched(r) }) {
			s.Created = append(s.Created, of.Name)
		}
		switch hold, held := goal.Holds[of.Name]; {
		case !held:
			s.States[of.Name] = of.State
		case now.Sub(hold.At) < settled:
			s.Changing = append(s.Changing, fmt.Sprintf("%s has just been stopped by %s", of.Name, hold.By))
		}
	}
	return s
}
