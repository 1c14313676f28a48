package deploy

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/toskose/toskose/packager/command"
	"github.com/toskose/toskose/packager/deploy/backend"
)

// reasons explains the failure of each service to the user, with the end of its log. It is best effort.
func (d *deployer) reasons(ctx context.Context) string {
	list, err := d.observer.Failures(ctx)
	if err != nil {
		return ""
	}
	list = append(list, d.unresponsiveNodes(list)...)
	slices.SortFunc(list, func(a, b backend.Failure) int { return cmp.Compare(a.Service, b.Service) })
	var b strings.Builder
	for _, f := range list {
		if f.Young {
			continue
		}
		fmt.Fprintf(&b, "\n  %s: %s", f.Service, f.Why)
		if text, err := d.observer.Logs(ctx, f); err == nil {
			if f.Job {
				text = withoutRoutine(text)
			}
			b.WriteString(command.Indented(command.LastLines(text, 10)))
		}
	}
	return b.String()
}

// unresponsiveNodes returns a failure for each node whose unit did not answer in time and that has no other known failure.
func (d *deployer) unresponsiveNodes(known []backend.Failure) []backend.Failure {
	var out []backend.Failure
	for _, n := range d.unresponsive {
		if !slices.ContainsFunc(known, func(f backend.Failure) bool { return f.Service == n.Name && !f.Young }) {
			out = append(out, backend.Failure{Service: n.Name, Why: "its unit does not answer", Silent: true})
		}
	}
	return out
}

// routine matches the lines of a unit's log at levels DEBUG and INFO. The unit of a failed job logs the reason at level ERROR.
var routine = regexp.MustCompile(`(?m)^time=\S+ level=(DEBUG|INFO) .*\n?`)

// withoutRoutine returns a job's log without the unit's routine lines: the output of its scripts, and the reason why the unit
// exited.
func withoutRoutine(log string) string { return routine.ReplaceAllString(log, "") }
