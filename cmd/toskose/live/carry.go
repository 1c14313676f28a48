package live

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/toskose/toskose/manager/client"
	"github.com/toskose/toskose/packager/endpoint"
	"github.com/toskose/toskose/tosca/diag"
)

// Carry takes the goal of an application over its deployment: units keep it, but may
// lose it together with their containers.
type Carry struct {
	Up      bool // have everything brought up afterwards, and wait for that
	Timeout time.Duration
	Say     func(line string)

	goal client.Goal // before
	app  client.App  // before
	then client.Goal // of the release that a rollback leads to, when it was replaced
}

// Kept returns the goal that the version had that ran before; nil: none, or it is not known.
func (c *Carry) Kept() []byte {
	if c.goal.None() {
		return nil
	}
	goal, err := json.Marshal(client.Goal{State: c.goal.State, States: c.goal.States, By: c.goal.By, At: c.goal.At})
	if err != nil {
		return nil
	}
	return goal
}

// Return has the goal hold again that Kept has returned when the release was replaced.
func (c *Carry) Return(goal []byte) {
	if err := json.Unmarshal(goal, &c.then); err != nil {
		c.then = client.Goal{}
	}
}

// Before asks the manager of the version that runs before. What it does not answer is
// not carried over.
func (c *Carry) Before(ctx context.Context, at endpoint.Access) {
	manager, err := ClientOf(at)
	var app client.App
	if err == nil {
		app, err = manager.App(ctx)
	}
	if err == nil {
		c.goal, err = manager.Goal(ctx)
	}
	if err != nil {
		c.Say("the goal before is not known: " + diag.Visible(err.Error()))
		return
	}
	c.app = app
}

// After has the new manager take over what the units have lost.
func (c *Carry) After(ctx context.Context, at endpoint.Access) error {
	switch {
	case at.Password == "" && c.Up:
		return errors.New("it is not brought up: the password of its manager is an external secret")
	case at.Password == "":
		return nil
	}
	manager, err := ClientOf(at)
	if err != nil {
		return err
	}
	now, err := c.settled(ctx, manager)
	if err != nil && c.goal.Revision == "" && !c.Up {
		c.Say("the goal is not known: " + diag.Visible(err.Error()))
		return nil
	}
	if err != nil {
		return err
	}
	if now, err = c.restore(ctx, manager, now); err != nil {
		return err
	}
	app, err := c.found(ctx, manager)
	if err != nil {
		return err
	}
	if anew := emptied(c.app, app); len(anew) > 0 {
		how := "toskose up does that"
		if c.Up || !now.None() {
			how = "the goal does that"
		}
		c.Say(fmt.Sprintf("in new containers, to be created again: %s; %s", strings.Join(anew, ", "), how))
	}
	if !c.Up {
		return c.rollBack(ctx, manager, now)
	}
	if now, _, err = manager.SetGoal(ctx, "up", nil); err != nil {
		return err
	}
	for _, note := range now.Notes {
		c.Say("warning: " + diag.Visible(note))
	}
	return AwaitGoal(ctx, manager, c.Timeout, c.Say)
}

// finding is how long a manager is given to find containers without a unit, which it looks
// for again and again.
const finding = 5 * time.Second

// found returns the application once the manager has found all containers that have no
// unit: until then it refuses what requires something of them.
func (c *Carry) found(ctx context.Context, manager *client.Client) (app client.App, err error) {
	waiting, cancel := context.WithTimeout(ctx, finding)
	defer cancel()
	away := func(n client.Node) bool { return n.Kind == "standalone" && n.State != "running" }
	err = client.Await(waiting, func(ctx context.Context) (bool, error) {
		now, err := manager.App(ctx)
		if err == nil {
			app = now
		}
		return !slices.ContainsFunc(app.Nodes, away), err
	})
	if !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
		return app, err
	}
	for _, n := range app.Nodes {
		if away(n) {
			c.Say(diag.Visible(fmt.Sprintf("warning: %s: %s; %s", n.Name, n.State, n.Why)))
		}
	}
	return app, nil
}

// rollBack sets the goal of the release that a rollback leads to, if it is another one.
func (c *Carry) rollBack(ctx context.Context, manager *client.Client, now client.Goal) error {
	if c.then.None() || c.then.State == now.State && maps.Equal(c.then.States, now.States) {
		return nil
	}
	if _, _, err := manager.SetGoal(ctx, c.then.State, c.then.States); err != nil {
		return fmt.Errorf("cannot set the goal of before: %w", err)
	}
	c.Say("the goal is again the one of this release: " + named(c.then))
	return nil
}

// Back has the manager of the version before take over what the units have lost, where
// that is deployed again.
func (c *Carry) Back(ctx context.Context, at endpoint.Access) error {
	again := *c
	again.Up = false
	return again.After(ctx, at)
}

// asking is how long a manager that begins asks all units for the goal, before more
// than half of the answers are enough for it.
const asking = 30 * time.Second

// settled returns the goal as a manager knows it once the units have answered.
func (c *Carry) settled(ctx context.Context, manager *client.Client) (g client.Goal, err error) {
	ctx, cancel := context.WithTimeout(ctx, asking+10*time.Second)
	defer cancel()
	err = client.Await(ctx, func(ctx context.Context) (bool, error) {
		now, err := manager.Goal(ctx)
		if err == nil {
			g = now
		}
		return now.Acting, err
	})
	if errors.Is(err, context.DeadlineExceeded) {
		err = nil // not enough units answer: what they know counts when they do
	}
	return g, err
}

// restore has the goal before hold again, unless units know it or a newer one.
func (c *Carry) restore(ctx context.Context, manager *client.Client, now client.Goal) (client.Goal, error) {
	if c.goal.Revision == "" {
		if now.Revision != "" && !now.None() {
			c.Say("units still keep a goal: " + named(now))
		}
		return now, nil
	}
	if now.Revision == c.goal.Revision {
		return now, nil
	}
	holds, kept, err := manager.RestoreGoal(ctx, c.goal)
	switch {
	case err != nil:
		return now, fmt.Errorf("cannot restore the goal: %w", err)
	case !sameGoal(holds, c.goal):
		c.Say("units keep a newer goal: " + named(holds))
	case holds.Revision == now.Revision: // as a later revision
	case !kept:
		c.Say("the goal is restored, and not yet kept by more than half of the replicas: " + named(holds))
	default:
		c.Say("the goal is restored: " + named(holds))
	}
	return holds, nil
}

// sameGoal reports whether two goals ask for the same states.
func sameGoal(a, b client.Goal) bool { return a.State == b.State && maps.Equal(a.States, b.States) }

// named says which goal it is.
func named(g client.Goal) string {
	var states []string
	if g.State != "" {
		states = append(states, g.State)
	}
	for _, name := range slices.Sorted(maps.Keys(g.States)) {
		states = append(states, name+"="+g.States[name])
	}
	return diag.Visible(fmt.Sprintf("%s, set by %s at %s", strings.Join(states, " "), cmp.Or(g.By, "nobody"), g.At.UTC().Format(time.RFC3339)))
}

// emptied returns the components to which something had been done before, and that are
// in a new container. The goal may have led them back already.
func emptied(before, now client.App) (names []string) {
	instances, touched := map[string]bool{}, map[string]bool{}
	for _, c := range before.Components {
		for _, r := range c.Replicas {
			instances[r.Instance] = true
			touched[c.Name] = touched[c.Name] || r.Why != client.Untouched
		}
	}
	for _, c := range now.Components {
		if touched[c.Name] && slices.ContainsFunc(c.Replicas, func(r client.Replica) bool { return r.Instance != "" && !instances[r.Instance] }) {
			names = append(names, c.Name)
		}
	}
	return names
}
