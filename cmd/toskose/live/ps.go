package live

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/toskose/toskose/cmd/toskose/cli"
	"github.com/toskose/toskose/internal/visible"
	"github.com/toskose/toskose/manager/client"
)

func newPs(s *session) *cobra.Command {
	var absolute bool
	cmd := &cobra.Command{
		Use:     "ps [TASK]",
		Aliases: []string{"status"},
		Short:   "List the components of a running application with their states, or the indexes of a task",
		Long: `List the components with their states, since when they have them, how often they were
restarted after they ended unexpectedly, and why they are in that state. The replicas
are shown if a container has several, or with -o wide.`,
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
				return s.output.Show(s.streams.Out, app, func(w io.Writer) {
					l := listing{now: time.Now(), absolute: absolute, replicas: s.output == cli.FormWide || several(app)}
					l.print(w, app)
				})
			})
		},
	}
	s.Register(cmd)
	s.output.Register(cmd)
	cmd.ValidArgsFunction = s.completion(taskNames)
	cmd.Flags().BoolVar(&absolute, "time", false, "show times in UTC instead of ages")
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

// several reports whether a component has more than one replica.
func several(app client.App) bool {
	return slices.ContainsFunc(app.Components, func(c client.Component) bool { return len(c.Replicas) > 1 })
}

// listing prints the components of an application as a table.
type listing struct {
	now                time.Time
	absolute, replicas bool // show times instead of ages; show the replicas' addresses
}

// print prints a line for each component on each replica, and for each container
// that the manager does not operate.
func (l listing) print(w io.Writer, app client.App) {
	table := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	l.row(table, "NODE", "COMPONENT", "REPLICA", "STATE", "SINCE", "RESTARTS", "WHY")
	hosts := map[string]bool{}
	for _, c := range app.Components {
		hosts[c.Node] = true
		if len(c.Replicas) == 0 {
			l.row(table, c.Node, c.Name, "-", c.State, "-", "-", "no running container is found: `toskose deploy` or, for a stopped container, `docker start` runs it again")
		}
		for _, r := range c.Replicas {
			state := r.State
			if f := r.Failing; f != nil {
				state = fmt.Sprintf("%s, failing since %s", r.State, l.time(f.Since))
			}
			l.row(table, c.Node, c.Name, r.Address, state, l.time(r.Since), fmt.Sprint(r.Restarts), visible.Text(l.why(c, r)))
		}
	}
	for _, n := range app.Nodes {
		if !hosts[n.Name] {
			l.row(table, n.Name, orDash(strings.Join(n.Job, ", ")), "-", n.State, "-", "-", visible.Text(n.Why))
		}
	}
	table.Flush()
}

// why explains the state of a component on a replica.
func (l listing) why(c client.Component, r client.Replica) string {
	why := cmp.Or(r.Problem, r.Reason, r.Why)
	if c.Task != nil && r.Problem == "" {
		why = counted(c.Task, l.now)
	}
	if r.Degraded {
		lacks := make([]string, len(r.Lacks))
		for i, lack := range r.Lacks {
			lacks[i] = fmt.Sprintf("%s of %s", lack.Requirement, lack.Provider)
		}
		why = fmt.Sprintf("degraded, unmet %s: %s", strings.Join(lacks, ", "), why)
	}
	if r.Outdated {
		why = "outdated, not operated: " + why
	}
	return why
}

func (l listing) row(w io.Writer, node, component, replica string, more ...string) {
	columns := []string{node, component}
	if l.replicas {
		columns = append(columns, replica)
	}
	fmt.Fprintln(w, strings.Join(append(columns, more...), "\t"))
}

// time returns a time as an age, or in UTC.
func (l listing) time(at time.Time) string {
	switch {
	case at.IsZero():
		return "-"
	case l.absolute:
		return at.UTC().Format(time.RFC3339)
	}
	return age(l.now.Sub(at))
}

// age returns a duration with its two largest units, such as 3m12s or 5d2h.
func age(d time.Duration) string {
	const day = 24 * time.Hour
	d = max(d, 0).Truncate(time.Second)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm%ds", d/time.Minute, d%time.Minute/time.Second)
	case d < day:
		return fmt.Sprintf("%dh%dm", d/time.Hour, d%time.Hour/time.Minute)
	}
	return fmt.Sprintf("%dd%dh", d/day, d%day/time.Hour)
}
