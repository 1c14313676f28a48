package live

import (
	"bytes"
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

func newHistory(s *session) *cobra.Command {
	var q client.HistoryQuery
	var printed bool
	var index int
	cmd := &cobra.Command{
		Use:   "history [COMPONENT[/OPERATION]]",
		Short: "List the executions of a running application",
		Long: `List executions of operations, newest first, with their author (a user, or goal), time,
replica, result, and why they failed. For a start, this includes how its processes ended
if no one had stopped them: exit code or signal, and the last line of output. They are
read from the journals of the existing containers; of removed ones, the manager
remembers the last executions for an hour.`,
		Example: "  toskose history --dir thinking-toskosed\n  toskose history --dir thinking-toskosed api/push_default --limit 5\n  toskose history --dir thinking-toskosed api --outcome failed -o json\n  toskose history --dir pipeline-toskosed import --index 2 --printed",
		Args:    cli.Args(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("index") {
				q.Index = &index
			}
			if q.Limit < 1 {
				return cli.Misuse(fmt.Errorf("--limit %d is not a number of executions", q.Limit))
			}
			return s.Ask(func(c *client.Client) error {
				if len(args) > 0 {
					q.Component = args[0]
				}
				if strings.Contains(q.Component, "/") {
					app, err := c.App(cmd.Context())
					if err != nil {
						return err
					}
					q.Component, q.Operation = splitOperation(app, args[0])
				}
				q.Output = printed || s.output.ForPrograms()
				h, err := c.History(cmd.Context(), q)
				if err != nil {
					return err
				}
				for _, m := range h.Missing {
					s.say("executions on %s of %s are missing: %s", m.Replica, m.Node, m.Why)
				}
				return s.output.Show(s.streams.Out, h, func(w io.Writer) { printHistory(w, h) })
			})
		},
	}
	s.Register(cmd)
	s.output.Register(cmd)
	cmd.ValidArgsFunction = s.completion(componentNames)
	cmd.Flags().IntVarP(&q.Limit, "limit", "n", 20, "only the last `N` executions")
	cmd.Flags().BoolVar(&printed, "printed", false, "also print the end of the output of each, as -o json does")
	cmd.Flags().StringVar(&q.Node, "node", "", "only on this container (`NODE`)")
	cmd.Flags().IntVar(&index, "index", 0, "only this index of a task (`INDEX`)")
	cmd.Flags().StringVar(&q.By, "by", "", "only executions of this `USER`, or goal")
	cmd.Flags().StringVar(&q.Outcome, "outcome", "", "only executions with this outcome: succeeded, failed, cancelled, timeout, lost or running")
	_ = cmd.RegisterFlagCompletionFunc("outcome", cobra.FixedCompletions([]string{"succeeded", "failed", "cancelled", "timeout", "lost", "running"}, cobra.ShellCompDirectiveNoFileComp)) // the flag is there
	return cmd
}

// splitOperation returns the component and the operation, or "", of COMPONENT[/OPERATION]: names of programs have a slash.
func splitOperation(app client.App, text string) (component, operation string) {
	for _, c := range app.Components {
		rest, is := strings.CutPrefix(text, c.Name)
		if is && (rest == "" || rest[0] == '/') && len(c.Name) > len(component) {
			component, operation = c.Name, strings.TrimPrefix(rest, "/")
		}
	}
	if component == "" {
		component, operation, _ = strings.Cut(text, "/")
	}
	return component, operation
}

// printHistory prints a line for each run of an execution and, if requested, the end of its
// output below.
func printHistory(w io.Writer, h client.History) {
	var lines bytes.Buffer
	below := []string{""}
	table := tabwriter.NewWriter(&lines, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "STARTED\tCOMPONENT\tOPERATION\tBY\tREPLICA\tOUTCOME\tEXIT\tTOOK\tWHY")
	for _, x := range h.Executions {
		for _, r := range x.Runs {
			exit, took, started := "-", "-", x.Started
			if r.ExitCode != nil {
				exit = fmt.Sprint(*r.ExitCode)
			} else if r.Signal != "" {
				exit = r.Signal
			}
			if !r.Started.IsZero() {
				started = r.Started
			}
			if !r.Ended.IsZero() {
				took = r.Ended.Sub(started).Round(time.Millisecond).String()
			}
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", started.UTC().Format(time.RFC3339), x.Component, operationOf(x.Interface, x.Operation, x.Part),
				cmp.Or(visible.Text(x.By), "-"), replicaOf(r), r.Outcome, exit, took, cmp.Or(visible.Text(whyOf(r)), "-"))
			below = append(below, endOf(r))
		}
	}
	table.Flush()
	for _, more := range below {
		line, _ := lines.ReadString('\n')
		_, _ = io.WriteString(w, line+more)
	}
}

// replicaOf names the replica of a run, and says whether it was removed.
func replicaOf(r client.Run) string {
	name := cmp.Or(r.Replica, r.Instance)
	if !r.Removed.IsZero() {
		name += " (removed)"
	}
	return name
}

// whyOf says why a run failed, or when and how the processes that it started ended unexpectedly.
func whyOf(r client.Run) string {
	if r.Why == "" || r.Gone.IsZero() {
		return r.Why
	}
	return fmt.Sprintf("at %s it %s", r.Gone.UTC().Format(time.RFC3339), r.Why)
}

// operationOf is the name of an operation, with the index of a task in brackets.
func operationOf(iface, name string, part *client.Part) string {
	full := iface + "." + name
	if part != nil {
		full += fmt.Sprintf("[%d]", part.Index)
	}
	return full
}

// endOf is the end of a run's output, indented.
func endOf(r client.Run) string {
	var text strings.Builder
	if r.Truncated {
		text.WriteString("    …\n")
	}
	for _, stream := range []string{r.Stdout, r.Stderr} {
		for line := range strings.Lines(visible.Lines(stream)) {
			text.WriteString("    " + strings.TrimSuffix(line, "\n") + "\n")
		}
	}
	return text.String()
}
