package live

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/toskose/toskose/cmd/toskose/cli"
	"github.com/toskose/toskose/internal/visible"
	"github.com/toskose/toskose/manager/client"
)

const longestSince = time.Hour // of what the manager remembers

// topSince shows the numbers of components over time.
func (s *session) topSince(ctx context.Context, c *client.Client, names []string, since time.Duration) error {
	app, err := c.App(ctx)
	if err != nil {
		return err
	}
	var wanted []string
	known := map[string]bool{}
	for i := range app.Components {
		of := &app.Components[i]
		known[of.Name], known[of.Node] = true, true
		if len(names) == 0 || slices.Contains(names, of.Name) || slices.Contains(names, of.Node) {
			wanted = append(wanted, of.Name)
		}
	}
	for _, name := range names {
		if !known[name] {
			return fmt.Errorf("%q is neither a component nor a container with components", name)
		}
	}
	series, err := c.Series(ctx, since, wanted)
	if err != nil {
		return err
	}
	return s.output.Show(s.streams.Out, series, func(w io.Writer) { printSeries(w, series) })
}

// checkSince returns an error if the manager does not remember that long.
func checkSince(since time.Duration, follow bool) error {
	switch {
	case since < time.Second || since > longestSince:
		return cli.Misuse(fmt.Errorf("--since %s is not from 1s to %s", since, longestSince))
	case follow:
		return cli.Misuse(fmt.Errorf("--since and --follow exclude each other"))
	}
	return nil
}

func printSeries(w io.Writer, all client.Series) {
	if len(all.At) == 0 {
		fmt.Fprintln(w, "The manager has no samples yet: it takes one every 15 seconds.")
		return
	}
	table := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprintf(table, "COMPONENT\tSTATE\tCPU %% since %s\tNOW\tMAX\tMEMORY\tNOW\tMAX\tRESTARTS\n", all.At[0].UTC().Format("15:04:05 UTC"))
	for _, c := range all.Components {
		state := "-"
		if n := len(c.States); n > 0 && c.States[n-1] != "" {
			state = c.States[n-1]
		}
		percent := func(v float64) string { return fmt.Sprintf("%.1f", v) }
		bytes := func(v float64) string { return amount(int64(v)) }
		count := func(v float64) string { return fmt.Sprintf("%.0f", v) }
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", c.Name, visible.Text(state),
			spark(c.CPU), latest(c.CPU, percent), highest(c.CPU, percent), spark(c.Memory), latest(c.Memory, bytes), highest(c.Memory, bytes), latest(c.Restarts, count))
	}
	table.Flush()
}

const sparkWidth = 24

// spark draws numbers as blocks; a space is unknown.
func spark(all []*float64) string {
	blocks := []rune("▁▂▃▄▅▆▇█")
	most := 0.0
	for _, v := range all {
		if v != nil {
			most = max(most, *v)
		}
	}
	var b strings.Builder
	for i := range min(sparkWidth, len(all)) {
		from, to := i*len(all)/min(sparkWidth, len(all)), (i+1)*len(all)/min(sparkWidth, len(all))
		height, known := 0.0, false
		for _, v := range all[from:to] {
			if v != nil {
				height, known = max(height, *v), true
			}
		}
		switch {
		case !known:
			b.WriteByte(' ')
		case most == 0:
			b.WriteRune(blocks[0])
		default:
			b.WriteRune(blocks[int(height/most*float64(len(blocks)-1))])
		}
	}
	return b.String()
}

// latest formats the last number.
func latest(all []*float64, format func(float64) string) string {
	if len(all) == 0 || all[len(all)-1] == nil {
		return "-"
	}
	return format(*all[len(all)-1])
}

// highest formats the largest number.
func highest(all []*float64, format func(float64) string) string {
	known := slices.DeleteFunc(slices.Clone(all), func(v *float64) bool { return v == nil })
	if len(known) == 0 {
		return "-"
	}
	most := *known[0]
	for _, v := range known {
		most = max(most, *v)
	}
	return format(most)
}
