package live

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/toskose/toskose/internal/visible"
	"github.com/toskose/toskose/manager/client"
)

// Warn prints the warnings about a goal that was set.
func Warn(w io.Writer, g client.Goal, kept bool) {
	for _, note := range g.Notes {
		fmt.Fprintln(w, "warning: "+visible.Text(note))
	}
	if !kept {
		fmt.Fprintf(w, "warning: until more than half of the replicas have stored the goal, it is lost if the manager exits; missing: %s\n", strings.Join(g.Lacking, ", "))
	}
}

// AwaitGoal prints the progress until the goal is reached, nothing is tried again, or the time limit passes.
func AwaitGoal(ctx context.Context, c *client.Client, timeout time.Duration, say func(line string)) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var said string
	g, err := c.AwaitGoal(ctx, func(g client.Goal) {
		if now := progress(g); now != said {
			said = now
			say(now)
		}
	})
	lines := make([]string, 0, len(g.Obstacles))
	for _, o := range g.Obstacles {
		lines = append(lines, "\n"+o.String()+help(o))
	}
	switch {
	case errors.Is(err, client.ErrStuck):
		return fmt.Errorf("%d of %d components have reached the goal, and nothing is tried again:%s", g.Reached, g.Wanted, strings.Join(lines, ""))
	case !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, client.ErrNoAnswer):
		return err
	}
	for _, line := range underway(ctx, c, g) {
		lines = append(lines, "\n"+line)
	}
	return fmt.Errorf("the goal is not reached after %s: %d of %d components have reached it%s", timeout, g.Reached, g.Wanted, strings.Join(lines, ""))
}

// reasonsTimeout is how long the manager may take to return the reasons of earlier failures.
const reasonsTimeout = 5 * time.Second

// underway describes the running operations of a goal. Their components are not among the obstacles, so it adds why they
// failed before.
func underway(ctx context.Context, c *client.Client, g client.Goal) (lines []string) {
	if len(g.Underway) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reasonsTimeout)
	defer cancel()
	reasons := map[[2]string]string{} // by component and instance
	if app, err := c.App(ctx); err == nil {
		for _, of := range app.Components {
			for _, r := range of.Replicas {
				reasons[[2]string{of.Name, r.Instance}] = r.Reason
			}
		}
	}
	for i, line := range running(g) {
		if reason := reasons[[2]string{g.Underway[i].Component, g.Underway[i].Instance}]; reason != "" {
			line += "; before: " + reason
		}
		lines = append(lines, line)
	}
	return lines
}

// running describes the running operations of a goal. It names the instance only if an operation runs on several.
func running(g client.Goal) []string {
	lines, times := make([]string, len(g.Underway)), map[string]int{}
	for i, s := range g.Underway {
		lines[i] = s.Component + ":" + operationOf(s.Operation.Interface, s.Operation.Name, s.Part)
		times[lines[i]]++
	}
	for i, operation := range lines {
		if lines[i] += " is running"; times[operation] > 1 {
			lines[i] += " on " + g.Underway[i].Instance
		}
	}
	return lines
}

// help returns the commands that help with an obstacle; it may be empty.
func help(o client.Obstacle) string {
	switch {
	case o.Missing:
		return "; `toskose deploy` or, for a stopped container, `docker start` runs it again"
	case o.Final && o.Component != "":
		return fmt.Sprintf("; see `toskose logs %s`", o.Component)
	}
	return ""
}

// progress is a line with the progress of a goal, running operations and obstacles.
func progress(g client.Goal) string {
	now := fmt.Sprintf("%d of %d", g.Reached, g.Wanted)
	if g.State == "up" || g.State == "down" {
		now += " " + g.State
	}
	if g.Done && len(g.Settling) > 0 {
		return visible.Text(now + ", settling")
	}
	for _, s := range g.Underway {
		now += fmt.Sprintf("; %s:%s", s.Component, operationOf(s.Operation.Interface, s.Operation.Name, s.Part))
	}
	for _, o := range g.Obstacles {
		if len(g.Underway) == 0 || !o.Waits && o.Component != "" {
			now += "; " + o.String()
		}
	}
	return visible.Text(now)
}
