package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toskose/toskose/cmd/toskose/cli"
	"github.com/toskose/toskose/manager/client"
)

func newWait(s *session) *cobra.Command {
	var state string
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "wait [NAME...]",
		Short: "Wait until components of a running application reach a state, or the goal",
		Long: `Wait until components, containers or groups are in a state on all replicas: with
--for, a state of the component's protocol, or up or down; otherwise their state in
the goal. The states of a container are running, degraded, stopped and unreachable;
any other state applies to its components. Without a NAME, wait for the whole goal.

When waiting for one task to be completed, the exit code is that of the task: the
command exits as soon as the task has failed, with the code of its first failed
index, or 124 if the deadline or a time limit ended it.

With -o json or -o yaml, it ends by printing the goal and its progress.`,
		Example: `  toskose wait --dir thinking-toskosed
  toskose wait --dir thinking-toskosed api --for running --timeout 30s
  toskose wait --dir thinking-toskosed backend --for running
  toskose wait --dir pipeline-toskosed migrate --for completed`,
		RunE: func(cmd *cobra.Command, names []string) error {
			if len(names) == 0 && cmd.Flags().Changed("for") {
				return cli.Misuse(errors.New("--for needs the name of a component, container or group"))
			}
			return s.Ask(func(c *client.Client) error {
				var err error
				if len(names) == 0 {
					err = s.awaitGoal(cmd.Context(), c, timeout)
				} else {
					err = awaitStates(cmd.Context(), c, names, state, timeout)
				}
				if err != nil || !s.output.ForPrograms() {
					return err
				}
				g, err := c.Goal(cmd.Context())
				if err != nil {
					return err
				}
				return s.output.Show(s.streams.Out, g, nil)
			})
		},
	}
	s.Register(cmd)
	s.output.Register(cmd)
	cmd.ValidArgsFunction = s.completion(allNames)
	cmd.Flags().StringVar(&state, "for", "", "the `STATE` to wait for (default: the state in the goal)")
	cmd.Flags().DurationVar(&timeout, "timeout", 10*time.Minute, "how long to wait")
	return cmd
}

// awaitGoal waits for the current goal.
func (s *session) awaitGoal(ctx context.Context, c *client.Client, timeout time.Duration) error {
	g, err := c.Goal(ctx)
	switch {
	case err != nil:
		return err
	case g.Acting && g.None():
		return errors.New("no goal is set that could be waited for: `toskose up` sets one, and --for waits for a state")
	}
	return AwaitGoal(ctx, c, timeout, func(line string) { s.say("%s", line) })
}

// The states of a container.
var nodeStates = []string{"running", "degraded", "stopped", "unreachable"}

// awaitStates waits until the named nodes and components are in a state; empty: in their state of the goal.
func awaitStates(ctx context.Context, c *client.Client, names []string, state string, timeout time.Duration) error {
	app, err := c.App(ctx)
	if err != nil {
		return err
	}
	wanted, err := targets(ctx, c, app, names, state)
	if err != nil {
		return err
	}
	if of, err := component(app, names[0]); err == nil && len(names) == 1 && of.Task != nil {
		up, err := c.Plan(ctx, "", map[string]string{of.Name: "up"})
		if err == nil && up.Targets[of.Name] == wanted.components[of.Name] { // completed, as its protocol calls it
			return awaitCompleted(ctx, c, of, timeout)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	err = client.Await(ctx, func(ctx context.Context) (bool, error) {
		now, err := c.App(ctx)
		if err != nil {
			return false, err
		}
		app = now
		return len(wanted.missed(app)) == 0, nil
	})
	if errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, client.ErrNoAnswer) {
		return fmt.Errorf("after %s %s", timeout, strings.Join(wanted.missed(app), ", "))
	}
	return err
}

// waited has the states to wait for, by name.
type waited struct{ nodes, components map[string]string }

// missed lists the nodes and components that have not reached their state.
func (w waited) missed(app client.App) (all []string) {
	for _, n := range app.Nodes {
		if want := w.nodes[n.Name]; want != "" && n.State != want {
			all = append(all, fmt.Sprintf("%s is %s, not %s", n.Name, n.State, want))
		}
	}
	for _, c := range app.Components {
		if want := w.components[c.Name]; want != "" && c.State != want {
			all = append(all, fmt.Sprintf("%s is %s, not %s", c.Name, c.State, want))
		}
	}
	return all
}

// targets resolves names and a state, with the manager's help.
func targets(ctx context.Context, c *client.Client, app client.App, names []string, state string) (waited, error) {
	w := waited{map[string]string{}, map[string]string{}}
	for _, name := range names {
		if slices.Contains(nodeStates, state) && isNode(app, name) {
			w.nodes[name] = state
			continue
		}
		var states map[string]string
		if state != "" {
			states = map[string]string{name: state}
		}
		if err := checkNames(ctx, c, map[string]string{name: cmp.Or(state, "up")}); err != nil {
			return w, err
		}
		plan, err := c.Plan(ctx, "", states)
		if err != nil {
			return w, err
		}
		asked := concerned(app, name, plan.Targets, state != "")
		if len(asked) == 0 && state == "" {
			// It may be a group: a plan for down has no dependents, so its targets are the members.
			members, err := c.Plan(ctx, "", map[string]string{name: "down"})
			if err != nil {
				return w, err
			}
			maps.DeleteFunc(plan.Targets, func(component, _ string) bool { return members.Targets[component] == "" })
			asked, plan.Notes = plan.Targets, members.Notes
		}
		if len(asked) == 0 {
			return w, errors.New(cmp.Or(strings.Join(plan.Notes, "; "), fmt.Sprintf("the goal does not include %q: --for waits for a state", name)))
		}
		maps.Copy(w.components, asked)
	}
	return w, nil
}

func isNode(app client.App, name string) bool {
	return slices.ContainsFunc(app.Nodes, func(n client.Node) bool { return n.Name == name })
}

// concerned returns the targets of a name: the component itself or the components of a container,
// without their dependencies; for a group, only its direct members.
func concerned(app client.App, name string, targets map[string]string, own bool) map[string]string {
	of := map[string]string{}
	known := isNode(app, name)
	for _, c := range app.Components {
		known = known || c.Name == name
		if target := targets[c.Name]; target != "" && (c.Name == name || c.Node == name) {
			of[c.Name] = target
		}
	}
	if !known && own {
		return targets
	}
	return of
}
