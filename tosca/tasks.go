package tosca

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/toskose/toskose/spec"
	"github.com/toskose/toskose/spec/protocol"
	"github.com/toskose/toskose/tosca/internal/code"
	"github.com/toskose/toskose/tosca/internal/data"
	"github.com/toskose/toskose/tosca/internal/inherit"
	"github.com/toskose/toskose/tosca/internal/resolve"
	"github.com/toskose/toskose/tosca/internal/source"
)

const typeTask = "toskose.nodes.Task"

func (n *node) isTask() bool { return n.Typ != nil && n.Typ.Is(typeTask) }

// task returns the model of a Task, or nil for another component. The type checks
// ranges, so missing values occur in drafts only.
func (c *compiler) task(n *node, ifaces map[string]*inherit.Interface) *spec.Task {
	if !n.isTask() {
		return nil
	}
	c.checkTaskRun(n, ifaces)
	t := &spec.Task{
		Completions: number(n, "completions", 1), Parallelism: number(n, "parallelism", 1), BackoffLimit: number(n, "backoff_limit", 3),
		Deadline: number(n, "deadline", 0), Rerun: cmp.Or(data.Text(n.Property("rerun").Node), spec.RerunReplaced),
	}
	t.Parallelism = min(t.Parallelism, t.Completions)
	if codes := n.Property("fail_on").Node; !codes.IsNull() {
		for _, item := range codes.Items {
			if v, err := strconv.Atoi(data.Text(item)); err == nil {
				t.FailOn = append(t.FailOn, v)
			}
		}
	}
	slices.Sort(t.FailOn)
	t.FailOn = slices.Compact(t.FailOn)
	return t
}

func number(n *node, property string, otherwise int) int {
	if v, err := strconv.Atoi(data.Text(n.Property(property).Node)); err == nil {
		return v
	}
	return otherwise
}

// checkTaskRun reports a Task without a script, and inputs with the names of a Task's
// own inputs.
func (c *compiler) checkTaskRun(n *node, ifaces map[string]*inherit.Interface) {
	var run *inherit.Operation
	if i := ifaces[protocol.TaskRun.Interface]; i != nil {
		run = i.Operations[protocol.TaskRun.Name]
	}
	if run == nil || run.At.Implementation.Name == "" && run.At.Primary == nil {
		c.Incomplete(n.Pos, code.TaskRun, "%s is a Task, and its operation %q has no script", n.Of(), protocol.TaskRun)
	}
	if run == nil {
		return
	}
	for _, name := range inherit.Keys(run.Inputs) {
		if upper := strings.ToUpper(name); upper == spec.TaskIndex || upper == spec.TaskCompletions {
			c.Errorf(run.Inputs[name].At.Pos, code.TaskInput, "%s: operation %q: input %q is one that every Task has, so it cannot be declared", n.Of(), protocol.TaskRun, name)
		}
	}
}

// declareParts adds the inputs that each Task has: the index, unless the caller sets it,
// and the number of indices.
func declareParts(interfaces []spec.Interface, completions int) {
	for _, i := range interfaces {
		for j := range i.Operations {
			if o := &i.Operations[j]; (protocol.Operation{Interface: i.Name, Name: o.Name}) == protocol.TaskRun {
				o.Inputs = append(o.Inputs,
					spec.OperationInput{Name: spec.TaskCompletions, Value: strconv.Itoa(completions)}, spec.OperationInput{Name: spec.TaskIndex, Value: "0"})
				sortBy(o.Inputs, func(in *spec.OperationInput) string { return in.Name })
			}
		}
	}
}

// checkTaskTarget reports a requirement that a Task cannot fulfil.
func (c *compiler) checkTaskTarget(e *edge, of string) {
	offered := map[string]string{protocol.Connection: "an endpoint", protocol.Host: "a host"}[e.class]
	if offered != "" && e.target.isTask() {
		c.Errorf(e.Node.Pos, code.TaskTarget, "%s names %q, which is a Task: it finishes, and offers %s to no one: \"dependency\" waits for its end", of, e.target.Name, offered)
	}
}

// withRun returns the protocol of a Task, as given by a policy, with repeatable runs. It
// reports a protocol that never runs it.
func (r *protocolReader) withRun(p protocol.Protocol, at *source.Node, of *resolve.Policy) protocol.Protocol {
	var runs []protocol.Transition
	for _, t := range p.Transitions {
		if t.Operation == protocol.TaskRun {
			runs = append(runs, t)
		}
	}
	if !slices.ContainsFunc(runs, func(t protocol.Transition) bool { return t.Source != t.Target }) {
		pos := of.Pos
		if at != nil {
			pos = at.Pos()
		}
		r.Errorf(pos, code.TaskProtocol, "%s: %s is a Task, and no transition leads from one state to another by %q", r.of, r.n.Of(), protocol.TaskRun)
	}
	for _, run := range runs {
		if !slices.ContainsFunc(runs, func(t protocol.Transition) bool { return t.Source == run.Target }) {
			again := run
			again.Source = run.Target
			runs, p.Transitions = append(runs, again), append(p.Transitions, again)
		}
	}
	return p
}
