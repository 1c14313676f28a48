package live

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/toskose/toskose/cmd/toskose/cli"
	"github.com/toskose/toskose/internal/visible"
	"github.com/toskose/toskose/manager/client"
)

func newPs(s *session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "ps [TASK]",
		Short: "List the components of a running application with their states, or the indexes of a task",
		Example: `  toskose ps --dir thinking-toskosed
  toskose ps --dir thinking-toskosed -o json
  toskose ps --dir pipeline-toskosed import`,
		Args: cli.Args(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.Ask(func(c *client.Client) error {
				app, err := c.App(cmd.Context())
				if err != nil {
					return err
				}
				if len(args) == 1 {
					return s.showTask(app, args[0])
				}
				return s.output.Show(s.streams.Out, app, func(w io.Writer) { printComponents(w, app) })
			})
		},
	}
	s.Register(cmd)
	s.output.Register(cmd)
	cmd.ValidArgsFunction = s.completion(taskNames)
	return cmd
}

// showTask shows each index of a task.
func (s *session) showTask(app client.App, name string) error {
	of, err := component(app, name)
	if err != nil {
		return err
	}
	if of.Task == nil {
		return fmt.Errorf("component %q is not a task: only tasks have indexes", name)
	}
	return s.output.Show(s.streams.Out, of.Task, func(w io.Writer) {
		fmt.Fprintf(w, "%s: %s, %s\n", name, of.Task.Phase, counted(of.Task, time.Now()))
		printIndexes(w, of.Task)
	})
}

// printComponents prints a line for each component on each replica, and for each container
// that the manager does not operate.
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
			state, why := r.State, cmp.Or(r.Problem, r.Why)
			if f := r.Failing; f != nil {
				state, why = fmt.Sprintf("%s, failing since %s", r.State, f.Since.UTC().Format(time.RFC3339)), f.Why
			}
			if c.Task != nil && r.Problem == "" {
				why = counted(c.Task, time.Now())
			}
			if r.Degraded {
				lacks := make([]string, len(r.Lacks))
				for i, l := range r.Lacks {
					lacks[i] = fmt.Sprintf("%s of %s", l.Requirement, l.Provider)
				}
				why = fmt.Sprintf("degraded, unmet %s: %s", strings.Join(lacks, ", "), why)
			}
			if r.Outdated {
				why = "outdated, not operated: " + why
			}
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", c.Node, c.Name, r.Address, state, since, visible.Text(why))
		}
	}
	for _, n := range app.Nodes {
		if !hosts[n.Name] {
			fmt.Fprintf(table, "%s\t%s\t-\t%s\t-\t%s\n", n.Name, orDash(strings.Join(n.Job, ", ")), n.State, visible.Text(n.Why))
		}
	}
	table.Flush()
}
