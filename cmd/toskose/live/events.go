package live

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toskose/toskose/cmd/toskose/cli"
	"github.com/toskose/toskose/internal/visible"
	"github.com/toskose/toskose/manager/client"
)

func newEvents(s *session) *cobra.Command {
	var follow, states bool
	var since string
	var last int
	cmd := &cobra.Command{
		Use:   "events",
		Short: "Print events of the components of a running application",
		Long: `Print the last 20 events, or those since --since: the start and end of operations, how
processes ended, the progress of tasks, replicas that were found or lost. With
--follow, keep printing until interrupted, and reconnect without a gap when the
manager is replaced or cannot be reached for a while. With -o json, each event is an
object on a line, with its id. The manager keeps the last 10,000 events; if older ones
are missing, an event of kind "missing" comes first, and the states follow again.`,
		Example: "  toskose events --dir thinking-toskosed\n  toskose events --dir thinking-toskosed --follow -o json",
		Args:    cli.Args(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			print := s.printEvent
			if s.output.ForPrograms() {
				print = func(e client.Event) error { return s.output.ShowNext(s.streams.Out, e) }
			}
			if last < 0 {
				return cli.Misuse(fmt.Errorf("--last %d is not a number of events", last))
			}
			if since == "" && !states {
				since = client.Latest(last)
			}
			ctx := cmd.Context()
			return s.Ask(func(c *client.Client) error {
				if !follow {
					return c.Events(ctx, since, print)
				}
				err := c.Follow(ctx, since, print, func(err error) { s.say("%v; trying again", err) })
				if ctx.Err() != nil {
					return nil //nolint:nilerr // an interrupt is the normal end
				}
				return err
			})
		},
	}
	s.Register(cmd)
	s.output.Register(cmd)
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "keep printing new events")
	cmd.Flags().IntVarP(&last, "last", "n", 20, "start with the last `N` events")
	cmd.Flags().StringVar(&since, "since", "", "start after the event with this `ID`")
	cmd.Flags().BoolVar(&states, "states", false, "start with the current state of each component")
	cmd.MarkFlagsMutuallyExclusive("last", "since", "states")
	return cmd
}

func (s *session) printEvent(e client.Event) error {
	where := e.Node
	if e.Component != "" {
		where += "/" + e.Component
	}
	if e.Replica != "" {
		where += " on " + e.Replica
	}
	var what []string
	if x := e.Execution; x != nil {
		what = append(what, operationOf(x.Interface, x.Operation, x.Part))
		if x.By != "" {
			what[0] += " by " + x.By
		}
		var run client.Run
		run.Fill(*x)
		what = append(what, sentence(run))
		if x.Last != "" {
			what = append(what, fmt.Sprintf("last line: %q", x.Last))
		}
	} else if e.Task != nil {
		var t client.Task
		if err := json.Unmarshal(e.Task, &t); err != nil {
			return err
		}
		what = append(what, string(t.Phase), counted(&t, e.Time))
	} else {
		what = slices.DeleteFunc([]string{e.State, cmp.Or(e.Reason, e.Why)}, func(text string) bool { return text == "" })
	}
	_, err := io.WriteString(s.streams.Out, visible.Text(fmt.Sprintf("%s  %-11s  %s  %s", e.Time.UTC().Format(time.RFC3339), e.Kind, where, strings.Join(what, ": ")))+"\n")
	return err
}
