// Package reason explains, in one sentence, why a component is not in its desired state. All clients of the manager show
// these sentences: goal, states, events and history.
package reason

import (
	"fmt"

	"github.com/toskose/toskose/spec/protocol"
	"github.com/toskose/toskose/unit/wire"
)

// Of returns why a component failed: because its last operation failed, its processes ended unexpectedly, or it is not
// live. It is empty if none of these holds.
func Of(c *wire.Checkpointed) string {
	switch {
	case c.Failing != nil:
		return "not live: " + c.Failing.Why
	case c.Completed:
		return ""
	case !c.Open() && c.Death != nil && c.External, !c.Open() && c.Death != nil && len(c.Recent) == 0:
		return c.Why + lastLine(c.Death.Last)
	}
	for i := len(c.Recent) - 1; i >= 0; i-- {
		switch x := &c.Recent[i]; {
		case !x.Outcome.Done() || x.Outcome == wire.OutcomeCancelled:
			continue
		case Failed(x) && c.Open() && operationKind(x) == protocol.KindRun:
			return "" // it runs, and another operation than a start or stop does not change that
		case Failed(x):
			return Failure(x, tries(c.Recent[:i+1]))
		case Died(x) && !c.Open():
			return Failure(x, c.Restarts+1)
		}
		return ""
	}
	return ""
}

func operationKind(x *wire.Execution) protocol.Kind {
	if x.Kind != "" {
		return x.Kind
	}
	return protocol.Operation{Interface: x.Interface, Name: x.Operation}.Kind()
}

// Failed reports whether an execution was unsuccessful.
func Failed(x *wire.Execution) bool {
	return x.Outcome == wire.OutcomeFailed || x.Outcome == wire.OutcomeTimeout || x.Outcome == wire.OutcomeLost
}

// Died reports whether the processes of a start ended unexpectedly.
func Died(x *wire.Execution) bool { return !x.Gone.IsZero() && !x.Stopped && !x.ContainerEnded }

// tries returns how often in a row the last operation failed.
func tries(recent []wire.Execution) int {
	n, last := 0, &recent[len(recent)-1]
	for i := len(recent) - 1; i >= 0; i-- {
		x := &recent[i]
		switch {
		case x.Interface != last.Interface || x.Operation != last.Operation || !x.Outcome.Done():
		case !Failed(x):
			return n
		default:
			n++
		}
	}
	return n
}

// Failure describes an unsuccessful execution, or the death of the processes that a successful one started, with the number
// of times in a row.
func Failure(x *wire.Execution, times int) string {
	if Died(x) {
		text := "ended unexpectedly" + nth(times, "time")
		if x.Death == nil { // a unit of an earlier release
			return text
		}
		return text + Exit(x.Death.Exit) + lastLine(x.Death.Last)
	}
	text := x.Operation
	if x.Part != nil {
		text = fmt.Sprintf("index %d", x.Part.Index)
	}
	return text + " failed" + try(times) + cause(x) + lastLine(x.Last)
}

// Death describes an unexpected end of processes.
func Death(d *wire.Death) string { return "ended unexpectedly" + Exit(d.Exit) + lastLine(d.Last) }

// cause says why an execution failed: the unit's reason, or else the exit code or signal.
func cause(x *wire.Execution) string {
	if x.Reason != "" {
		return ": " + x.Reason
	}
	return Exit(x.Exit)
}

// Exit says how a process ended, such as " with exit code 1"; empty if that is unknown.
func Exit(e wire.Exit) string {
	switch {
	case e.ExitCode != nil:
		return fmt.Sprintf(" with exit code %d", *e.ExitCode)
	case e.Signal != "":
		return " by " + e.Signal
	}
	return ""
}

func lastLine(line string) string {
	if line == "" {
		return ""
	}
	return fmt.Sprintf("; last line: %q", line)
}

// nth counts from the second time on, such as " (2nd try)".
func nth(n int, what string) string {
	if n < 2 {
		return ""
	}
	return fmt.Sprintf(" (%s %s)", Ordinal(n), what)
}

// try counts the tries that journals keep.
func try(n int) string {
	if n >= wire.MaxAttempts {
		return fmt.Sprintf(" (%s try or later)", Ordinal(wire.MaxAttempts))
	}
	return nth(n, "try")
}

// Ordinal returns 1st, 2nd, 3rd, 4th …
func Ordinal(n int) string {
	suffix := "th"
	if n/10%10 != 1 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return fmt.Sprintf("%d%s", n, suffix)
}
