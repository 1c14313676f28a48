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
	"github.com/toskose/toskose/manager/client"
	"github.com/toskose/toskose/tosca/diag"
)

func newHistory(s *session) *cobra.Command {
	var q client.HistoryQuery
	var printed bool
	var index int
	cmd := &cobra.Command{
		Use:   "history [COMPONENT[/OPERATION]]",
		Short: "List what was executed in a running application",
		Long: `List executions of operations, the latest first: who asked for them (a user, or the
goal), when, on which replica, and how they ended. They are read from the journals of
the containers that are there, and go back as far as these.`,
		Example: "  toskose history --dir thinking-toskosed\n  toskose history --dir thinking-toskosed api/push_default --limit 5\n  toskose history --dir thinking-toskosed api --outcome failed -o json\n  toskose history --dir pipeline-toskosed import --index 2 --printed",
		Args:    cli.Args(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				q.Component, q.Operation, _ = strings.Cut(args[0], "/")
			}
			if cmd.Flags().Changed("index") {
				q.Index = &index
			}
			if q.Limit < 1 {
				return cli.Misuse(fmt.Errorf("--limit %d is not a number of executions", q.Limit))
			}
			return s.Ask(func(c *client.Client) error {
				q.Output = printed || s.output == cli.FormJSON
				h, err := c.History(cmd.Context(), q)
				if err != nil {
					return err
				}
				for _, m := range h.Missing {
					s.say("what was executed on %s of %s is missing: %s", m.Replica, m.Node, m.Why)
				}
				return s.output.Show(s.streams.Out, h, func(w io.Writer) { printHistory(w, h) })
			})
		},
	}
	s.Register(cmd)
	s.output.Register(cmd)
	cmd.ValidArgsFunction = s.completion(componentNames)
	cmd.Flags().IntVarP(&q.Limit, "limit", "n", 20, "the latest so many (`N`)")
	cmd.Flags().BoolVar(&printed, "printed", false, "show the end of what each printed, too, as -o json does")
	cmd.Flags().StringVar(&q.Node, "node", "", "only on this container (`NODE`)")
	cmd.Flags().IntVar(&index, "index", 0, "only this index of a task (`INDEX`)")
	cmd.Flags().StringVar(&q.By, "by", "", "only what this `USER` asked for, or goal")
	cmd.Flags().StringVar(&q.Outcome, "outcome", "", "only what ended so: succeeded, failed, cancelled, timeout, lost or running")
	_ = cmd.RegisterFlagCompletionFunc("outcome", cobra.FixedCompletions([]string{"succeeded", "failed", "cancelled", "timeout", "lost", "running"}, cobra.ShellCompDirectiveNoFileComp)) // the flag is there
	return cmd
}

// printHistory prints a line for each run of an execution and, below it, the end of what
// it printed, if that was asked for.
func printHistory(w io.Writer, h client.History) {
	var lines bytes.Buffer
	below := []string{""}
	table := tabwriter.NewWriter(&lines, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "STARTED\tCOMPONENT\tOPERATION\tBY\tREPLICA\tOUTCOME\tEXIT\tTOOK")
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
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", started.UTC().Format(time.RFC3339), x.Component, operationOf(x.Interface, x.Operation, x.Part),
				cmp.Or(diag.Visible(x.By), "-"), cmp.Or(r.Replica, r.Instance), r.Outcome, exit, took)
			below = append(below, endOf(r))
		}
	}
	table.Flush()
	for _, more := range below {
		line, _ := lines.ReadString('\n')
		_, _ = io.WriteString(w, line+more)
	}
}

// operationOf is the name of an operation, with the index of a task in brackets.
func operationOf(iface, name string, part *client.Part) string {
	full := iface + "." + name
	if part != nil {
		full += fmt.Sprintf("[%d]", part.Index)
	}
	return full
}

// endOf is the end of what a run printed, indented.
func endOf(r client.Run) string {
	var text strings.Builder
	if r.Truncated {
		text.WriteString("    …\n")
	}
	for _, stream := range []string{r.Stdout, r.Stderr} {
		for line := range strings.Lines(diag.VisibleLines(stream)) {
			text.WriteString("    " + strings.TrimSuffix(line, "\n") + "\n")
		}
	}
	return text.String()
}
