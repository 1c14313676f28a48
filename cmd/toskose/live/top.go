package live

import (
	"bytes"
	"context"
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

// usage is the resource usage of a component on a replica.
type usage struct {
	Node      string           `json:"node"`
	Component string           `json:"component"` // empty: processes of none
	Replica   string           `json:"replica"`
	State     string           `json:"state,omitempty"`
	Problem   string           `json:"problem,omitempty"`
	CPU       float64          `json:"cpu_percent"` // of one processor, between two measurements
	Seconds   float64          `json:"cpu_seconds"`
	Memory    int64            `json:"memory_bytes"`
	Processes []client.Process `json:"processes"`
}

func newTop(s *session) *cobra.Command {
	var follow bool
	var interval, since time.Duration
	cmd := &cobra.Command{
		Use:   "top [NAME...]",
		Short: "Show processes, processor time and memory of a running application's components",
		Long: `Show, for each component on each replica or only for the named components and
containers, the number of its processes, their use of a processor in the last
interval and since they started, and their resident memory. Processes that belong to
no component are on a line of their own. It measures twice, --interval apart; with
--follow, it repeats until interrupted: in place on a terminal, otherwise one table
after the other. -o json has each process. With --since, it shows processor time, memory
and restarts over that time instead, as the manager has sampled them: at most an hour.`,
		Example: "  toskose top --dir thinking-toskosed\n  toskose top --dir thinking-toskosed backend --follow --interval 5s\n  toskose top --dir thinking-toskosed api -o json\n  toskose top --dir thinking-toskosed --since 1h",
		RunE: func(cmd *cobra.Command, names []string) error {
			if interval <= 0 {
				return cli.Misuse(fmt.Errorf("--interval %s is not positive", interval))
			}
			if cmd.Flags().Changed("since") {
				if err := checkSince(since, follow); err != nil {
					return err
				}
				return s.Ask(func(c *client.Client) error { return s.topSince(cmd.Context(), c, names, since) })
			}
			ctx := cmd.Context()
			return s.Ask(func(c *client.Client) error {
				err := s.top(ctx, c, names, follow, interval)
				if follow && ctx.Err() != nil {
					return nil //nolint:nilerr // an interrupt is the normal end
				}
				return err
			})
		},
	}
	s.Register(cmd)
	s.output.Register(cmd)
	cmd.ValidArgsFunction = s.completion(allNames)
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "repeat until interrupted")
	cmd.Flags().DurationVar(&since, "since", longestSince, "show numbers over this time instead")
	cmd.Flags().DurationVar(&interval, "interval", time.Second, "the time between two measurements")
	return cmd
}

func (s *session) top(ctx context.Context, c *client.Client, names []string, follow bool, interval time.Duration) error {
	before, err := look(ctx, c, names)
	if err != nil {
		return err
	}
	for last := time.Now(); ; {
		select {
		case <-time.After(interval):
		case <-ctx.Done():
			return ctx.Err()
		}
		now, err := look(ctx, c, names)
		if err != nil {
			return err
		}
		at := time.Now()
		compare(before, now, at.Sub(last))
		before, last = now, at
		if err := s.showUsage(now, follow, at); err != nil || !follow {
			return err
		}
	}
}

func (s *session) showUsage(now []usage, follow bool, at time.Time) error {
	if follow && s.output.ForPrograms() {
		return s.output.ShowNext(s.streams.Out, now)
	}
	return s.output.Show(s.streams.Out, now, func(w io.Writer) {
		if !follow {
			printUsage(w, now)
			return
		}
		var page bytes.Buffer
		fmt.Fprintf(&page, "%s\n", at.UTC().Format(time.RFC3339))
		printUsage(&page, now)
		if s.streams.Screen {
			repaint(s.streams.Raw, visible.Lines(page.String()))
		} else {
			fmt.Fprintln(w, page.String())
		}
	})
}

// repaint writes a page over the previous one, line by line so that it does not flicker, and
// erases the rest.
func repaint(w io.Writer, page string) {
	const home, eraseLine, eraseBelow = "\x1b[H", "\x1b[K", "\x1b[J"
	_, _ = io.WriteString(w, home+strings.ReplaceAll(page, "\n", eraseLine+"\n")+eraseBelow)
}

// look takes one measurement of the components with the given names, or of all.
func look(ctx context.Context, c *client.Client, names []string) ([]usage, error) {
	nodes, err := c.Processes(ctx)
	if err != nil {
		return nil, err
	}
	wanted := map[string]bool{}
	for _, name := range names {
		wanted[name] = false
	}
	all := []usage{}
	add := func(u usage, processes []client.Process) {
		_, node := wanted[u.Node]
		_, component := wanted[u.Component]
		if len(names) > 0 && !node && !component {
			return
		}
		for name := range wanted {
			wanted[name] = wanted[name] || name == u.Node || name == u.Component
		}
		u.Processes = append([]client.Process{}, processes...)
		for _, p := range processes {
			u.Seconds, u.Memory = u.Seconds+p.CPU, u.Memory+p.Memory
		}
		all = append(all, u)
	}
	for _, n := range nodes {
		for _, component := range n.Components {
			for _, r := range component.Replicas {
				add(usage{Node: n.Name, Component: component.Name, Replica: r.Address, State: r.State, Problem: r.Problem}, r.Processes)
			}
		}
		for _, r := range n.Replicas {
			if len(r.Unclaimed) > 0 {
				add(usage{Node: n.Name, Replica: r.Address}, r.Unclaimed)
			}
		}
	}
	for _, name := range names {
		if !wanted[name] {
			return nil, fmt.Errorf("%q is neither a running component nor a container with components", name)
		}
	}
	return all, nil
}

// compare computes the use of a processor between two measurements. Processes that have
// exited meanwhile do not count.
func compare(before, now []usage, apart time.Duration) {
	type process struct {
		replica string
		pid     int
	}
	used := map[process]float64{}
	for _, u := range before {
		for _, p := range u.Processes {
			used[process{u.Replica, p.PID}] = p.CPU
		}
	}
	for i := range now {
		for _, p := range now[i].Processes {
			took := p.CPU - used[process{now[i].Replica, p.PID}]
			if took < 0 {
				took = p.CPU // another process has the pid
			}
			now[i].CPU += 100 * took / apart.Seconds()
		}
	}
}

func printUsage(w io.Writer, all []usage) {
	table := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "NODE\tCOMPONENT\tREPLICA\tSTATE\tPROCESSES\tCPU %\tCPU TIME\tMEMORY\tWHY")
	for _, u := range all {
		name, state := u.Component, u.State
		if name == "" {
			name, state = "(none)", "-"
		}
		if u.Problem != "" {
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\t-\t-\t-\t-\t%s\n", u.Node, name, u.Replica, state, visible.Text(u.Problem))
			continue
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%d\t%.1f\t%s\t%s\t\n", u.Node, name, u.Replica, state, len(u.Processes), u.CPU,
			time.Duration(u.Seconds*float64(time.Second)).Round(10*time.Millisecond), amount(u.Memory))
	}
	table.Flush()
}

// amount formats a number of bytes.
func amount(n int64) string {
	const units = "KMGT"
	size, unit := float64(n), -1
	for size >= 1024 && unit < len(units)-1 {
		size, unit = size/1024, unit+1
	}
	if unit < 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %ciB", size, units[unit])
}
