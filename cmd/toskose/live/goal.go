package live

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toskose/toskose/cmd/toskose/cli"
	"github.com/toskose/toskose/internal/visible"
	"github.com/toskose/toskose/manager/client"
)

// waiting is a session that sets a goal and waits until it is reached.
type waiting struct {
	*session
	timeout time.Duration
	noWait  bool
}

func (w *waiting) register(cmd *cobra.Command) {
	w.Register(cmd)
	w.output.Register(cmd)
	cmd.ValidArgsFunction = w.completion(allNames)
	cmd.Flags().DurationVar(&w.timeout, "timeout", 10*time.Minute, "how long to wait for the goal")
	cmd.Flags().BoolVar(&w.noWait, "no-wait", false, "do not wait for the goal")
}

func newUp(s *session) *cobra.Command {
	return newGoalCommand(s, "up", "Start a running application's components, and keep them running",
		`Set the goal that all components are up, or those of the given components,
containers or groups, and wait until it is reached. The manager then maintains it: it
restarts components that exit, and creates those of replaced containers again.`)
}

func newDown(s *session) *cobra.Command {
	return newGoalCommand(s, "down", "Stop and delete the components of a running application",
		`Set the goal that all components are deleted, or those of the given components,
containers or groups, in the order of their requirements, and wait until it is
reached. The containers keep running: undeploy removes them.`)
}

// newGoalCommand returns a command that sets the state it is named after as the goal.
func newGoalCommand(s *session, state, short, long string) *cobra.Command {
	w := waiting{session: s}
	cmd := &cobra.Command{
		Use: state + " [NAME...]", Short: short, Long: long,
		Example: fmt.Sprintf("  toskose %[1]s --dir thinking-toskosed\n  toskose %[1]s --dir thinking-toskosed gui", state),
		RunE: func(cmd *cobra.Command, names []string) error {
			return w.set(cmd.Context(), func(ctx context.Context, c *client.Client) (client.Goal, bool, error) {
				if len(names) == 0 {
					return c.SetGoal(ctx, state, nil)
				}
				states := map[string]string{}
				for _, name := range names {
					states[name] = state
				}
				if err := checkNames(ctx, c, states); err != nil {
					return client.Goal{}, false, err
				}
				return c.AddToGoal(ctx, states)
			})
		},
	}
	w.register(cmd)
	return cmd
}

func newGoal(s *session) *cobra.Command {
	w := waiting{session: s}
	cmd := &cobra.Command{
		Use:   "goal [NAME=STATE...]",
		Short: "Show or set the goal of a running application",
		Long: `Without arguments, show the goal, its progress, and obstacles. With arguments, set
the states of components, containers or groups: a state of the component's protocol,
up, down or none. Then wait until the goal is reached.`,
		Example: "  toskose goal --dir thinking-toskosed\n  toskose goal --dir thinking-toskosed gui=configured\n  toskose goal --dir thinking-toskosed resume api",
		RunE: func(cmd *cobra.Command, given []string) error {
			if len(given) > 0 {
				states, err := assignments(given)
				if err != nil {
					return err
				}
				return w.set(cmd.Context(), func(ctx context.Context, c *client.Client) (client.Goal, bool, error) {
					if err := checkNames(ctx, c, states); err != nil {
						return client.Goal{}, false, err
					}
					return c.AddToGoal(ctx, states)
				})
			}
			return s.Ask(func(c *client.Client) error {
				g, err := c.Goal(cmd.Context())
				if err != nil {
					return err
				}
				return s.output.Show(s.streams.Out, g, func(out io.Writer) { printGoal(out, g) })
			})
		},
	}
	w.register(cmd)
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		return w.complete(cmd.Context(), assignable, args, begun), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
	cmd.AddCommand(newResume(&session{Manager: s.Manager, streams: s.streams, quiet: s.quiet}))
	return cmd
}

func newResume(s *session) *cobra.Command {
	w := waiting{session: s}
	cmd := &cobra.Command{
		Use:   "resume [COMPONENT...]",
		Short: "Resume reconciling components that were put on hold",
		Long: `An operation that moves a component away from the goal puts it on hold. Resume ends
the hold of the given components, or of all, and waits until the goal is reached.`,
		RunE: func(cmd *cobra.Command, components []string) error {
			return w.set(cmd.Context(), func(ctx context.Context, c *client.Client) (client.Goal, bool, error) {
				return c.ResumeGoal(ctx, components)
			})
		},
	}
	w.register(cmd)
	return cmd
}

// assignments reads NAME=STATE.
func assignments(given []string) (map[string]string, error) {
	states := map[string]string{}
	for _, text := range given {
		name, state, ok := strings.Cut(text, "=")
		if !ok || name == "" || state == "" {
			return nil, cli.Misuse(fmt.Errorf("%q is not of the form NAME=STATE", text))
		}
		states[name] = state
	}
	return states, nil
}

// set sets a goal and waits until it is reached.
func (w *waiting) set(ctx context.Context, set func(context.Context, *client.Client) (client.Goal, bool, error)) error {
	return w.Ask(func(c *client.Client) error {
		g, kept, err := set(ctx, c)
		if err != nil {
			return err
		}
		Warn(w.streams.Err, g, kept)
		if !w.noWait {
			err = AwaitGoal(ctx, c, w.timeout, w.tell)
		}
		if err != nil || !w.output.ForPrograms() {
			return err
		}
		if g, err = c.Goal(ctx); err != nil {
			return err
		}
		return w.output.Show(w.streams.Out, g, nil)
	})
}

// tell prints the progress of a goal, even with output for programs.
func (w *waiting) tell(line string) {
	if w.output.ForPrograms() {
		w.say("%s", line)
	} else if !*w.quiet {
		fmt.Fprintln(w.streams.Out, line)
	}
}

// printGoal prints a goal as text.
func printGoal(w io.Writer, g client.Goal) {
	switch {
	case g.State == "" && len(g.States) == 0 && !g.Default:
		fmt.Fprintln(w, "No goal is set: the manager only observes.")
	case g.Default:
		fmt.Fprintln(w, "The goal is from toskose.yml; no client has set another.")
	default:
		fmt.Fprintf(w, "The goal %s, set by %s at %s:\n", g.Revision, cmp.Or(g.By, "an unknown user"), g.At.UTC().Format(time.RFC3339))
	}
	if g.State != "" {
		fmt.Fprintf(w, "  all components: %s\n", g.State)
	}
	for _, name := range slices.Sorted(maps.Keys(g.States)) {
		fmt.Fprintf(w, "  %s: %s\n", name, g.States[name])
	}
	fmt.Fprintf(w, "%d of %d components on replicas have reached the goal.\n", g.Reached, g.Wanted)
	if len(g.Settling) > 0 {
		fmt.Fprintf(w, "  started too recently to count as stable: %s\n", strings.Join(g.Settling, ", "))
	}
	for _, line := range running(g) {
		fmt.Fprintf(w, "  %s\n", visible.Text(line))
	}
	for _, o := range g.Obstacles {
		fmt.Fprintf(w, "  %s\n", visible.Text(o.String()+help(o)))
	}
	for _, r := range g.Rejected {
		fmt.Fprintf(w, "  %s\n", visible.Text(fmt.Sprintf("the unit of %s at %s has a goal that the manager has not signed (%s): %s", r.Node, r.Replica, r.Revision, r.Why)))
	}
	if !g.Acting {
		fmt.Fprintln(w, "The manager only observes: it does not know the goal of enough replicas.")
	}
}
