package live

import (
	"cmp"
	"fmt"
	"io"
	"regexp"
	"time"

	"github.com/spf13/cobra"

	"github.com/toskose/toskose/cmd/toskose/cli"
	"github.com/toskose/toskose/internal/visible"
	"github.com/toskose/toskose/manager/client"
)

// logging are the flags of logs.
type logging struct {
	*session
	query           client.LogQuery
	tail            int // -1: all
	since, until    string
	follow, errors  bool
	noPrefix, times bool
}

func newLogs(s *session) *cobra.Command {
	l := logging{session: s}
	cmd := &cobra.Command{
		Use:   "logs [NAME...]",
		Short: "Print the output of the operations of a running application",
		Long: `Print the output of all operations of the application, on all replicas and in the
order in which the lines were written, or only that of a container (NODE), a component
(COMPONENT or NODE/COMPONENT), or an operation (COMPONENT/OPERATION or
NODE/COMPONENT/OPERATION). With --follow, keep printing until interrupted; after a
lost connection or a replaced manager, continue without losing or repeating a line.
Control characters are escaped; -o json prints each line as an object.`,
		Example: `  toskose logs --dir thinking-toskosed --follow --tail 20
  toskose logs --dir thinking-toskosed api gui/start --since 10m
  toskose logs --dir thinking-toskosed backend --stderr --grep '[Ee]rror' -o json`,
		RunE: func(cmd *cobra.Command, names []string) error {
			l.query.Of = names
			if err := l.check(time.Now()); err != nil {
				return err
			}
			return l.print(cmd)
		},
	}
	s.Register(cmd)
	s.output.Register(cmd)
	cmd.ValidArgsFunction = s.completion(logNames)
	flags := cmd.Flags()
	flags.BoolVarP(&l.follow, "follow", "f", false, "keep printing new lines")
	flags.IntVarP(&l.tail, "tail", "n", -1, "only the last `N` existing lines")
	flags.StringVar(&l.since, "since", "", "only lines since a `TIME` or duration: 2026-11-22T12:00:00Z, 10m")
	flags.StringVar(&l.until, "until", "", "only lines before a `TIME`, or older than a duration")
	flags.StringVar(&l.query.Match, "grep", "", "only lines that match a regular expression (`RE`)")
	flags.BoolVar(&l.errors, "stderr", false, "only standard error")
	flags.StringVar(&l.query.Replica, "replica", "", "only the replica with this address or instance (`REPLICA`)")
	flags.BoolVarP(&l.times, "timestamps", "t", false, "print the time of each line")
	flags.BoolVar(&l.noPrefix, "no-prefix", false, "do not prefix lines with their operation")
	_ = cmd.RegisterFlagCompletionFunc("replica", func(cmd *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
		return s.complete(cmd.Context(), replicaNames, nil, begun), cobra.ShellCompDirectiveNoFileComp
	}) // the flag is there
	return cmd
}

// logNames are the names of nodes and components, and of the operations of a component once
// its name is complete.
func logNames(app client.App, args []string) []string {
	all := allNames(app, args)
	for _, c := range app.Components {
		for _, o := range c.Operations {
			all = append(all, c.Name+"/"+o.Name)
		}
	}
	return all
}

// check parses the times, and rejects values that the manager would reject.
func (l *logging) check(now time.Time) error {
	for _, t := range []struct {
		flag, text string
		at         *time.Time
	}{{"since", l.since, &l.query.Since}, {"until", l.until, &l.query.Until}} {
		if t.text == "" {
			continue
		}
		at, err := time.Parse(time.RFC3339, t.text)
		if err != nil {
			ago, notAgo := time.ParseDuration(t.text)
			if notAgo != nil || ago < 0 {
				return cli.Misuse(fmt.Errorf("--%s %q is neither a time such as 2026-11-22T12:00:00Z nor a duration such as 10m", t.flag, t.text))
			}
			at = now.Add(-ago)
		}
		*t.at = at
	}
	if l.follow && l.until != "" {
		return cli.Misuse(fmt.Errorf("--until and --follow exclude each other"))
	}
	if l.tail < -1 {
		return cli.Misuse(fmt.Errorf("--tail %d is not a number of lines", l.tail))
	}
	if l.tail >= 0 {
		l.query.Tail = &l.tail
	}
	if _, err := regexp.Compile(l.query.Match); err != nil {
		return cli.Misuse(fmt.Errorf("--grep: %w", err))
	}
	if l.errors {
		l.query.Stream = "stderr"
	}
	return nil
}

func (l *logging) print(cmd *cobra.Command) error {
	ctx := cmd.Context()
	return l.Ask(func(c *client.Client) error {
		each := l.printJSON
		if !l.output.ForPrograms() {
			app, err := c.App(ctx)
			if err != nil {
				return err
			}
			each = l.printer(app)
		}
		if !l.follow {
			return c.Logs(ctx, l.query, each)
		}
		err := c.FollowLogs(ctx, l.query, each, func(err error) { l.say("%v; trying again", err) })
		if ctx.Err() != nil {
			return nil //nolint:nilerr // an interrupt is the normal end
		}
		return err
	})
}

func (l *logging) printJSON(line client.LogLine) error {
	if line.Kind == client.LogLive {
		return nil
	}
	return l.output.ShowNext(l.streams.Out, line)
}

// printer prints lines as text, with the replica if a component has several.
func (l *logging) printer(app client.App) func(client.LogLine) error {
	several := map[string]bool{}
	for _, c := range app.Components {
		several[c.Name] = len(c.Replicas) > 1
	}
	return func(line client.LogLine) error {
		switch line.Kind {
		case client.LogLive:
			return nil
		case client.LogLost, client.LogSilent:
			l.say("%s: %s", cmp.Or(line.Component, line.Node), line.Why)
			return nil
		case client.LogPrinted:
		}
		prefix := ""
		if l.times {
			prefix = line.Time.UTC().Format("2006-01-02T15:04:05.000Z") + " "
		}
		if !l.noPrefix {
			prefix += line.Component + ":" + line.Operation
			if several[line.Component] {
				prefix += "@" + line.Replica
			}
			prefix += " | "
		}
		_, err := io.WriteString(l.streams.Out, prefix+visible.Text(string(line.Line))+"\n")
		return err
	}
}
