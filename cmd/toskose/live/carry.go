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

	"github.com/toskose/toskose/internal/visible"
	"github.com/toskose/toskose/manager/client"
	"github.com/toskose/toskose/packager/deploy/backend"
)

// Carry preserves the goal of an application during a deployment: units store it, but can
// lose it with their containers.
type Carry struct {
	Up      bool // start all components afterwards, and wait for them
	Timeout time.Duration
	Say     func(line string)

	goal client.Goal // before
	app  client.App  // before
	then client.Goal // of the release to roll back to, when it was replaced
}

// Kept returns the goal of the previous version; nil: none, or it is not known.
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

// Return restores a goal that Kept returned when the release was replaced.
func (c *Carry) Return(goal []byte) {
	if err := json.Unmarshal(goal, &c.then); err != nil {
		c.then = client.Goal{}
	}
}

// Before reads the state from the manager of the previous version. What it does not return
// is not preserved.
func (c *Carry) Before(ctx context.Context, at backend.Access) {
	manager, err := ClientOf(at)
	var app client.App
	if err == nil {
		app, err = manager.App(ctx)
	}
	if err == nil {
		c.goal, err = manager.Goal(ctx)
	}
	if err != nil {
		c.Say("the previous goal is not known: " + visible.Text(err.Error()))
		return
	}
	c.app = app
}

// After restores the lost state of the units at the new manager.
func (c *Carry) After(ctx context.Context, at backend.Access) error {
	switch {
	case at.Password == "" && c.Up:
		return errors.New("components are not started: the manager's password is an external secret")
	case at.Password == "":
		return nil
	}
	manager, err := ClientOf(at)
	if err != nil {
		return err
	}
	now, err := c.settled(ctx, manager)
	if err != nil && c.goal.Revision == "" && !c.Up {
		c.Say("the goal is not known: " + visible.Text(err.Error()))
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
		how := "run toskose up"
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
		c.Say("warning: " + visible.Text(note))
	}
	return AwaitGoal(ctx, manager, c.Timeout, c.Say)
}

// finding is how long a manager may take to find containers without a unit.
const finding = 5 * time.Second

// found returns the application once the manager has found all containers that have no
// unit: until then it refuses operations that require one.
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
			c.Say(visible.Text(fmt.Sprintf("warning: %s: %s; %s", n.Name, n.State, n.Why)))
		}
	}
	return app, nil
}

// rollBack sets the goal of the release that is restored, if it is another one.
func (c *Carry) rollBack(ctx context.Context, manager *client.Client, now client.Goal) error {
	if c.then.None() || c.then.State == now.State && maps.Equal(c.then.States, now.States) {
		return nil
	}
	if _, _, err := manager.SetGoal(ctx, c.then.State, c.then.States); err != nil {
		return fmt.Errorf("cannot restore the goal of the release: %w", err)
	}
	c.Say("the goal of this release is restored: " + named(c.then))
	return nil
}

// Back restores the lost state of the units at the previous version's manager when that version is
// deployed again.
func (c *Carry) Back(ctx context.Context, at backend.Access) error {
	again := *c
	again.Up = false
	return again.After(ctx, at)
}

// asking is how long a new manager waits for the goal of all units, before more than half
// of them are enough.
const asking = 30 * time.Second

// settled returns the goal that a manager knows once the units have responded.
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
		err = nil // not enough units respond: their goal applies when they do
	}
	return g, err
}

// restore restores the previous goal, unless units have it or a newer one.
func (c *Carry) restore(ctx context.Context, manager *client.Client, now client.Goal) (client.Goal, error) {
	if c.goal.Revision == "" {
		if now.Revision != "" && !now.None() {
			c.Say("units still have a goal: " + named(now))
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
		c.Say("units have a newer goal: " + named(holds))
	case holds.Revision == now.Revision: // as a later revision
	case !kept:
		c.Say("the goal is restored, but not yet stored by more than half of the replicas: " + named(holds))
	default:
		c.Say("the goal is restored: " + named(holds))
	}
	return holds, nil
}

// sameGoal reports whether two goals have the same states.
func sameGoal(a, b client.Goal) bool { return a.State == b.State && maps.Equal(a.States, b.States) }

// named describes a goal in a line.
func named(g client.Goal) string {
	var states []string
	if g.State != "" {
		states = append(states, g.State)
	}
	for _, name := range slices.Sorted(maps.Keys(g.States)) {
		states = append(states, name+"="+g.States[name])
	}
	return visible.Text(fmt.Sprintf("%s, set by %s at %s", strings.Join(states, " "), cmp.Or(g.By, "an unknown user"), g.At.UTC().Format(time.RFC3339)))
}

// emptied returns the components that were created before and are in a new container now.
// The goal may have restored them already.
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
