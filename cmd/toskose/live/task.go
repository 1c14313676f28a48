package live

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/toskose/toskose/cmd/toskose/cli"
	"github.com/toskose/toskose/manager/client"
)

// runTask makes the completion of a task part of the goal, and follows it to its end.
func (s *session) runTask(ctx context.Context, c *client.Client, of client.Component, again bool) error {
	if of.Task == nil {
		return cli.Misuse(fmt.Errorf("component %q is not a task: name the OPERATION to run: %s", of.Name, strings.Join(operations(of), ", ")))
	}
	g, kept, err := c.RunTask(ctx, of.Name, again)
	if err != nil {
		return err
	}
	Warn(s.streams.Err, g, kept)
	said := ""
	now, err := awaitTask(ctx, c, of, func(ctx context.Context, t *client.Task) {
		way := inTheWay(ctx, c, of.Name, t)
		if now := fmt.Sprint(t.Completed, t.Running, t.Failed, t.Until, way); now != said { // not for every second of the delay
			said = now
			s.say("%s: %s%s", of.Name, counted(t, time.Now()), way)
		}
	})
	if errors.Is(err, context.Canceled) {
		return fmt.Errorf("task %q continues: %w", of.Name, err)
	}
	if err != nil {
		return err
	}
	if err := s.output.Show(s.streams.Out, now, func(w io.Writer) { printIndexes(w, now) }); err != nil {
		return err
	}
	return ended(of.Name, now)
}

func operations(of client.Component) []string {
	names := make([]string, len(of.Operations))
	for i, o := range of.Operations {
		names[i] = o.Name
	}
	return names
}

// awaitTask waits until a task is completed or has failed.
func awaitTask(ctx context.Context, c *client.Client, of client.Component, tell func(context.Context, *client.Task)) (last *client.Task, err error) {
	err = client.Await(ctx, func(ctx context.Context) (bool, error) {
		now, err := c.Component(ctx, of.Node, of.Name)
		if err != nil {
			return false, err
		}
		if last = now.Task; last == nil {
			return false, fmt.Errorf("component %q is no longer a task", of.Name)
		}
		tell(ctx, last)
		return last.Phase == client.TaskCompleted || last.Phase == client.TaskFailed, nil
	})
	return last, err
}

// inTheWay returns the obstacles of a task that has not failed yet.
func inTheWay(ctx context.Context, c *client.Client, name string, t *client.Task) (all string) {
	if t.Phase != client.TaskWaiting {
		return ""
	}
	g, err := c.Goal(ctx)
	if err != nil {
		return "" // it is requested again
	}
	for _, o := range g.Obstacles {
		if o.Component == name {
			all += "; " + o.String()
		}
	}
	return all
}

// ended returns an error with the exit code of a failed task: the exit code of its first failed
// index, 128+n after signal n, else 1.
func ended(name string, t *client.Task) error {
	if t.Phase != client.TaskFailed {
		return nil
	}
	exit := cli.ExitError{Code: cli.ExitFailed, Err: fmt.Errorf("task %q has failed: %s", name, t.Reason)}
	switch {
	case t.ExitCode != nil && *t.ExitCode > 0:
		exit.Code = *t.ExitCode
	case signals[t.Signal] > 0:
		exit.Code = 128 + signals[t.Signal]
	}
	return exit
}

// signals are the numbers of Linux' terminating signals, on every platform of this command.
var signals = map[string]int{
	"SIGHUP": 1, "SIGINT": 2, "SIGQUIT": 3, "SIGILL": 4, "SIGTRAP": 5, "SIGABRT": 6, "SIGBUS": 7, "SIGFPE": 8, "SIGKILL": 9,
	"SIGUSR1": 10, "SIGSEGV": 11, "SIGUSR2": 12, "SIGPIPE": 13, "SIGALRM": 14, "SIGTERM": 15, "SIGXCPU": 24, "SIGXFSZ": 25, "SIGSYS": 31,
}

// counted describes the progress of a task: "3 of 5, 1 failed, next try in 8 s".
func counted(t *client.Task, now time.Time) string {
	parts := []string{fmt.Sprintf("%d of %d", t.Completed, t.Completions)}
	if t.Running > 0 {
		parts = append(parts, fmt.Sprintf("%d running", t.Running))
	}
	if t.Failed > 0 {
		parts = append(parts, fmt.Sprintf("%d failed", t.Failed))
	}
	if again := nextTry(t.Until, now); again != "" {
		parts = append(parts, "next try "+again)
	}
	return strings.Join(parts, ", ")
}

// nextTry returns the time until the next attempt, or "" if there is none.
func nextTry(until, now time.Time) string {
	switch left := until.Sub(now); {
	case until.IsZero():
		return ""
	case left <= 0:
		return "now"
	default:
		return fmt.Sprintf("in %d s", int((left+time.Second-1)/time.Second))
	}
}

// printIndexes prints a line for each index of a task.
func printIndexes(w io.Writer, t *client.Task) {
	table := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "INDEX\tPHASE\tREPLICA\tATTEMPTS\tEXIT\tNEXT TRY\tEXECUTION")
	for _, x := range t.Indexes {
		exit := x.Signal
		if x.ExitCode != nil {
			exit = strconv.Itoa(*x.ExitCode)
		}
		if x.TimedOut {
			exit = "timeout"
		}
		fmt.Fprintf(table, "%d\t%s\t%s\t%d\t%s\t%s\t%s\n", x.Index, x.Phase, orDash(x.Replica), x.Attempts, orDash(exit), orDash(nextTry(x.Until, time.Now())), orDash(x.Execution))
	}
	table.Flush()
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// awaitCompleted waits until a task is completed, and returns its exit code at once if it has failed.
func awaitCompleted(ctx context.Context, c *client.Client, of client.Component, timeout time.Duration) error {
	waiting, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	now, err := awaitTask(waiting, c, of, func(context.Context, *client.Task) {})
	if errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, client.ErrNoAnswer) && now != nil {
		return fmt.Errorf("after %s task %q is %s: %s%s", timeout, of.Name, now.Phase, counted(now, time.Now()), inTheWay(ctx, c, of.Name, now))
	}
	if err != nil {
		return err
	}
	return ended(of.Name, now)
}
