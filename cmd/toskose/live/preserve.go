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

// PreservedGoal preserves the goal of an application during a deployment: units store it, but can
// lose it with their containers. It implements deploy.Goal.
type PreservedGoal struct {
	Up      bool // start all components afterwards, and wait for them
	Timeout time.Duration
	Say     func(line string)

	before client.Goal // of the previous version
	app    client.App  // state of the previous version
	saved  client.Goal // of the release to roll back to, when it was replaced
}

// Saved returns the goal of the previous version; nil: none, or it is unknown.
func (g *PreservedGoal) Saved() []byte {
	if g.before.None() {
		return nil
	}
	goal, err := json.Marshal(client.Goal{State: g.before.State, States: g.before.States, By: g.before.By, At: g.before.At})
	if err != nil {
		return nil
	}
	return goal
}

// Load takes a goal that Saved returned when the release was replaced.
func (g *PreservedGoal) Load(goal []byte) {
	if err := json.Unmarshal(goal, &g.saved); err != nil {
		g.saved = client.Goal{}
	}
}

// Read reads the goal and the state from the manager of the previous version.
func (g *PreservedGoal) Read(ctx context.Context, at backend.Access) {
	manager, err := ClientOf(at)
	var app client.App
	if err == nil {
		app, err = manager.App(ctx)
	}
	if err == nil {
		g.before, err = manager.Goal(ctx)
	}
	if err != nil {
		g.Say("the previous goal is not known: " + visible.Text(err.Error()))
		return
	}
	g.app = app
}

// Restore restores the goal at the deployed version's manager if the units have lost it. If the deployment was undone, it
// starts no components.
func (g *PreservedGoal) Restore(ctx context.Context, at backend.Access, undone bool) error {
	if undone {
		again := *g
		again.Up = false
		g = &again
	}
	switch {
	case at.Password == "" && g.Up:
		return errors.New("components are not started: the manager's password is an external secret")
	case at.Password == "":
		return nil
	}
	manager, err := ClientOf(at)
	if err != nil {
		return err
	}
	now, err := g.settled(ctx, manager)
	if err != nil && g.before.Revision == "" && !g.Up {
		g.Say("the goal is not known: " + visible.Text(err.Error()))
		return nil
	}
	if err != nil {
		return err
	}
	if now, err = g.restore(ctx, manager, now); err != nil {
		return err
	}
	app, err := g.found(ctx, manager)
	if err != nil {
		return err
	}
	if anew := emptied(g.app, app); len(anew) > 0 {
		how := "run toskose up"
		if g.Up || !now.None() {
			how = "the goal does that"
		}
		g.Say(fmt.Sprintf("in new containers, to be created again: %s; %s", strings.Join(anew, ", "), how))
	}
	if !g.Up {
		return g.rollBack(ctx, manager, now)
	}
	if now, _, err = manager.SetGoal(ctx, "up", nil); err != nil {
		return err
	}
	for _, note := range now.Notes {
		g.Say("warning: " + visible.Text(note))
	}
	return AwaitGoal(ctx, manager, g.Timeout, g.Say)
}

// findTimeout is how long a manager may take to find containers without a unit.
const findTimeout = 5 * time.Second

// found returns the application once the manager has found all containers that have no
// unit: until then it refuses operations that require one.
func (g *PreservedGoal) found(ctx context.Context, manager *client.Client) (app client.App, err error) {
	waiting, cancel := context.WithTimeout(ctx, findTimeout)
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
			g.Say(visible.Text(fmt.Sprintf("warning: %s: %s; %s", n.Name, n.State, n.Why)))
		}
	}
	return app, nil
}

// rollBack sets the goal of the release that is restored, if it is another one.
func (g *PreservedGoal) rollBack(ctx context.Context, manager *client.Client, now client.Goal) error {
	if g.saved.None() || g.saved.State == now.State && maps.Equal(g.saved.States, now.States) {
		return nil
	}
	if _, _, err := manager.SetGoal(ctx, g.saved.State, g.saved.States); err != nil {
		return fmt.Errorf("cannot restore the goal of the release: %w", err)
	}
	g.Say("the goal of this release is restored: " + named(g.saved))
	return nil
}

// goalTimeout is how long a new manager waits until all units have reported the goal that they
// store; afterwards, a majority is enough.
const goalTimeout = 30 * time.Second

// settled returns the goal that a manager knows once the units have responded.
func (g *PreservedGoal) settled(ctx context.Context, manager *client.Client) (goal client.Goal, err error) {
	ctx, cancel := context.WithTimeout(ctx, goalTimeout+10*time.Second)
	defer cancel()
	err = client.Await(ctx, func(ctx context.Context) (bool, error) {
		now, err := manager.Goal(ctx)
		if err == nil {
			goal = now
		}
		return now.Acting, err
	})
	if errors.Is(err, context.DeadlineExceeded) {
		err = nil // not enough units respond: their goal applies when they do
	}
	return goal, err
}

// restore restores the previous goal, unless units have it or a newer one.
func (g *PreservedGoal) restore(ctx context.Context, manager *client.Client, now client.Goal) (client.Goal, error) {
	if g.before.Revision == "" {
		if now.Revision != "" && !now.None() {
			g.Say("units still have a goal: " + named(now))
		}
		return now, nil
	}
	if now.Revision == g.before.Revision {
		return now, nil
	}
	holds, kept, err := manager.RestoreGoal(ctx, g.before)
	switch {
	case err != nil:
		return now, fmt.Errorf("cannot restore the goal: %w", err)
	case !sameGoal(holds, g.before):
		g.Say("units have a newer goal: " + named(holds))
	case holds.Revision == now.Revision: // as a later revision
	case !kept:
		g.Say("the goal is restored, but not yet stored by more than half of the replicas: " + named(holds))
	default:
		g.Say("the goal is restored: " + named(holds))
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
			touched[c.Name] = touched[c.Name] || !client.Untouched(r)
		}
	}
	for _, c := range now.Components {
		if touched[c.Name] && slices.ContainsFunc(c.Replicas, func(r client.Replica) bool { return r.Instance != "" && !instances[r.Instance] }) {
			names = append(names, c.Name)
		}
	}
	return names
}
