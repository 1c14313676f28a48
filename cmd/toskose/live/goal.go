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
	"github.com/toskose/toskose/manager/client"
	"github.com/toskose/toskose/tosca/diag"
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
	cmd.Flags().DurationVar(&w.timeout, "timeout", 10*time.Minute, "how long to wait until the goal is reached")
	cmd.Flags().BoolVar(&w.noWait, "no-wait", false, "do not wait until the goal is reached")
}

func newUp(s *session) *cobra.Command {
	return newGoalCommand(s, "up", "Bring a running application up, and keep it up",
		`Set the goal that the whole application is up, or the components, containers or
groups that are named, and wait until it is reached. The manager then keeps it so:
what dies is started again, and what is replaced is rebuilt.`)
}

func newDown(s *session) *cobra.Command {
	return newGoalCommand(s, "down", "Take the components of a running application down",
		`Set the goal that all components are deleted, or those of what is named, in the
order that their requirements need, and wait until it is reached. The containers go
on running: undeploy removes them.`)
}

// newGoalCommand returns the command that asks for a state by its own name.
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
		Short: "Show where a running application should be, or set it",
		Long: `Without arguments, show the goal, how far it is, and what is in its way. With
arguments, ask for states of components, containers or groups: a state of the
component's protocol, up, down or none, and wait until they are reached.`,
		Example: "  toskose goal --dir thinking-toskosed\n  toskose goal --dir thinking-toskosed gui=configured\n  toskose goal --dir thinking-toskosed resume api",
		RunE: func(cmd *cobra.Command, given []string) error {
			if len(given) > 0 {
				states, err := assignments(given)
				if err != nil {
					return err
				}
				return w.set(cmd.Context(), func(ctx context.Context, c *client.Client) (client.Goal, bool, error) {
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
	cmd.AddCommand(newResume(&session{streams: s.streams, quiet: s.quiet}))
	return cmd
}

func newResume(s *session) *cobra.Command {
	w := waiting{session: s}
	cmd := &cobra.Command{
		Use:   "resume [COMPONENT...]",
		Short: "Let the goal have components again that it leaves alone",
		Long: `An operation that leads a component away from the goal puts it on hold. Resume
ends that, of the components given or of all, and waits until the goal is reached.`,
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
		if err != nil || w.output != cli.FormJSON {
			return err
		}
		if g, err = c.Goal(ctx); err != nil {
			return err
		}
		return w.output.Show(w.streams.Out, g, nil)
	})
}

// tell prints how far a goal is, beside the JSON that programs read.
func (w *waiting) tell(line string) {
	if w.output == cli.FormJSON {
		w.say("%s", line)
	} else if !*w.quiet {
		fmt.Fprintln(w.streams.Out, line)
	}
}

// printGoal prints a goal for people.
func printGoal(w io.Writer, g client.Goal) {
	switch {
	case g.State == "" && len(g.States) == 0 && !g.Default:
		fmt.Fprintln(w, "There is no goal: the manager observes.")
	case g.Default:
		fmt.Fprintln(w, "The goal is that of toskose.yml, since nobody has set another.")
	default:
		fmt.Fprintf(w, "The goal %s, of %s at %s:\n", g.Revision, cmp.Or(g.By, "nobody"), g.At.UTC().Format(time.RFC3339))
	}
	if g.State != "" {
		fmt.Fprintf(w, "  all components: %s\n", g.State)
	}
	for _, name := range slices.Sorted(maps.Keys(g.States)) {
		fmt.Fprintf(w, "  %s: %s\n", name, g.States[name])
	}
	fmt.Fprintf(w, "%d of %d components on replicas are where they should be.\n", g.Reached, g.Wanted)
	for _, s := range g.Underway {
		fmt.Fprintf(w, "  %s:%s is executing on %s\n", s.Component, operationOf(s.Operation.Interface, s.Operation.Name, s.Part), s.Instance)
	}
	for _, o := range g.Obstacles {
		fmt.Fprintf(w, "  %s\n", diag.Visible(o.String()))
	}
	for _, r := range g.Rejected {
		fmt.Fprintf(w, "  %s\n", diag.Visible(fmt.Sprintf("the unit of %s at %s keeps a goal that the manager has not signed (%s): %s", r.Node, r.Replica, r.Revision, r.Why)))
	}
	if !g.Acting {
		fmt.Fprintln(w, "The manager observes: not enough replicas have said which goal they keep.")
	}
}
