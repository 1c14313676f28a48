package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/toskose/toskose/manager/client"
	"github.com/toskose/toskose/packager/deploy"
	"github.com/toskose/toskose/tosca/diag"
)

// managerFlags say which manager a command is for.
type managerFlags struct {
	dir, address string
	timeout      time.Duration
	noWait       bool
}

func (f *managerFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&f.dir, "dir", "C", ".", "the folder `DIR` that the application was packaged in, which has the credentials")
	cmd.Flags().StringVar(&f.address, "manager", "", "the manager's `URL` (default: the port of this machine that DIR names)")
}

func (f *managerFlags) registerWait(cmd *cobra.Command) {
	f.register(cmd)
	cmd.Flags().DurationVar(&f.timeout, "timeout", 10*time.Minute, "how long to wait until the goal is reached")
	cmd.Flags().BoolVar(&f.noWait, "no-wait", false, "do not wait until the goal is reached")
}

func (f *managerFlags) client() (*client.Client, error) {
	address, user, password, err := deploy.Manager(f.dir)
	if err != nil {
		return nil, fmt.Errorf("%w; name the folder with --dir", err)
	}
	return client.New(cmp.Or(f.address, address), user, password), nil
}

func newPs(env environment) *cobra.Command {
	var flags managerFlags
	cmd := &cobra.Command{
		Use:     "ps",
		Short:   "List the components of a running application with their states",
		Example: "  toskose ps --dir thinking-toskosed",
		Args:    args(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := flags.client()
			if err != nil {
				return err
			}
			app, err := c.App(cmd.Context())
			if err != nil {
				return err
			}
			printComponents(env.out, app)
			return nil
		},
	}
	flags.register(cmd)
	return cmd
}

// printComponents prints a line for each component on each replica, and for each
// container without components.
func printComponents(w io.Writer, app client.App) {
	table := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "NODE\tCOMPONENT\tREPLICA\tSTATE\tSINCE\tWHY")
	hosts := map[string]bool{}
	for _, c := range app.Components {
		hosts[c.Node] = true
		if len(c.Replicas) == 0 {
			fmt.Fprintf(table, "%s\t%s\t-\t%s\t-\tno container runs\n", c.Node, c.Name, c.State)
		}
		for _, r := range c.Replicas {
			since := "-"
			if !r.Since.IsZero() {
				since = r.Since.UTC().Format(time.RFC3339)
			}
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", c.Node, c.Name, r.Address, r.State, since, diag.Visible(cmp.Or(r.Problem, r.Why)))
		}
	}
	for _, n := range app.Nodes {
		if !hosts[n.Name] {
			fmt.Fprintf(table, "%s\t-\t-\t%s\t-\t%s\n", n.Name, n.State, diag.Visible(n.Why))
		}
	}
	table.Flush()
}

func newUp(env environment) *cobra.Command {
	return newGoalCommand(env, "up", "Bring a running application up, and keep it up",
		`Set the goal that the whole application is up, or the components, containers or
groups that are named, and wait until it is reached. The manager then keeps it so:
what dies is started again, and what is replaced is rebuilt.`)
}

func newDown(env environment) *cobra.Command {
	return newGoalCommand(env, "down", "Take the components of a running application down",
		`Set the goal that all components are deleted, or those of what is named, in the
order that their requirements need, and wait until it is reached. The containers go
on running: undeploy removes them.`)
}

// newGoalCommand returns the command that asks for a state by its own name.
func newGoalCommand(env environment, state, short, long string) *cobra.Command {
	var flags managerFlags
	cmd := &cobra.Command{
		Use: state + " [NAME...]", Short: short, Long: long,
		Example: fmt.Sprintf("  toskose %[1]s --dir thinking-toskosed\n  toskose %[1]s --dir thinking-toskosed gui", state),
		RunE: func(cmd *cobra.Command, names []string) error {
			return flags.ask(cmd.Context(), env, func(ctx context.Context, c *client.Client) (client.Goal, bool, error) {
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
	flags.registerWait(cmd)
	return cmd
}

func newGoal(env environment) *cobra.Command {
	var flags managerFlags
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
				return flags.ask(cmd.Context(), env, func(ctx context.Context, c *client.Client) (client.Goal, bool, error) {
					return c.AddToGoal(ctx, states)
				})
			}
			c, err := flags.client()
			if err != nil {
				return err
			}
			g, err := c.Goal(cmd.Context())
			if err != nil {
				return err
			}
			printGoal(env.out, g)
			return nil
		},
	}
	flags.registerWait(cmd)
	cmd.AddCommand(newResume(env))
	return cmd
}

func newResume(env environment) *cobra.Command {
	var flags managerFlags
	cmd := &cobra.Command{
		Use:   "resume [COMPONENT...]",
		Short: "Let the goal have components again that it leaves alone",
		Long: `An operation that leads a component away from the goal puts it on hold. Resume
ends that, of the components given or of all, and waits until the goal is reached.`,
		RunE: func(cmd *cobra.Command, components []string) error {
			return flags.ask(cmd.Context(), env, func(ctx context.Context, c *client.Client) (client.Goal, bool, error) {
				return c.ResumeGoal(ctx, components)
			})
		},
	}
	flags.registerWait(cmd)
	return cmd
}

// assignments reads NAME=STATE.
func assignments(given []string) (map[string]string, error) {
	states := map[string]string{}
	for _, text := range given {
		name, state, ok := strings.Cut(text, "=")
		if !ok || name == "" || state == "" {
			return nil, usageError{fmt.Errorf("%q is not of the form NAME=STATE", text)}
		}
		states[name] = state
	}
	return states, nil
}

// ask sets a goal and waits until it is reached.
func (f *managerFlags) ask(ctx context.Context, env environment, set func(context.Context, *client.Client) (client.Goal, bool, error)) error {
	c, err := f.client()
	if err != nil {
		return err
	}
	g, kept, err := set(ctx, c)
	if err != nil {
		return err
	}
	for _, note := range g.Notes {
		fmt.Fprintln(env.err, "warning: "+diag.Visible(note))
	}
	if !kept {
		fmt.Fprintf(env.err, "warning: not more than half of the replicas keep the goal yet; it is lost with the manager until they do: %s\n", strings.Join(g.Lacking, ", "))
	}
	if f.noWait {
		return nil
	}
	return f.await(ctx, env, c)
}

// await prints what changes until the goal is reached.
func (f *managerFlags) await(ctx context.Context, env environment, c *client.Client) error {
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	var said string
	g, err := c.AwaitGoal(ctx, func(g client.Goal) {
		now := fmt.Sprintf("%d of %d", g.Reached, g.Wanted)
		for _, s := range g.Underway {
			now += fmt.Sprintf("; %s:%s.%s", s.Component, s.Operation.Interface, s.Operation.Name)
		}
		if len(g.Underway) == 0 {
			for _, o := range g.Obstacles {
				now += "; " + o.String()
			}
		}
		if now != said {
			said = now
			fmt.Fprintln(env.out, diag.Visible(now))
		}
	})
	if errors.Is(err, context.DeadlineExceeded) {
		var lines []string
		for _, o := range g.Obstacles {
			lines = append(lines, o.String())
		}
		return fmt.Errorf("the goal is not reached after %s: %d of %d components are where they should be\n%s",
			f.timeout, g.Reached, g.Wanted, strings.Join(lines, "\n"))
	}
	return err
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
		fmt.Fprintf(w, "  %s:%s.%s is executing on %s\n", s.Component, s.Operation.Interface, s.Operation.Name, s.Instance)
	}
	for _, o := range g.Obstacles {
		fmt.Fprintf(w, "  %s\n", diag.Visible(o.String()))
	}
	if !g.Acting {
		fmt.Fprintln(w, "The manager observes: not enough replicas have said which goal they keep.")
	}
}
