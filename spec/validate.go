package spec

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/toskose/toskose/internal/suggest"
	"github.com/toskose/toskose/spec/protocol"
)

// GoalUp is the goal that every component is in the last state that its protocol reaches.
const GoalUp = "up"

// The most completions of a task, and attempts of an operation, that units and managers count.
const (
	MaxCompletions = 32
	MaxAttempts    = 16
)

// Validate returns everything that is wrong with an application, joined: names that are
// missing, used twice or unknown, protocols that contradict themselves, and values out of range.
func (app *Application) Validate() error {
	v := validator{kinds: map[string]string{}, attachedNodes: map[string]bool{}}
	v.names(app)
	if app.Goal != "" && app.Goal != GoalUp {
		v.report("the goal %q is not %q", app.Goal, GoalUp)
	}
	for i := range app.Nodes {
		v.node(&app.Nodes[i])
	}
	for i := range app.Components {
		v.component(app, &app.Components[i])
	}
	for _, volume := range app.Volumes {
		v.protocol("volume", volume.Name, volume.Protocol)
	}
	for _, g := range app.Groups {
		for _, member := range g.Members {
			v.known(fmt.Sprintf("unit %q", g.Name), "members", member, "node", "component", "volume", "other")
		}
	}
	return errors.Join(v.problems...)
}

// validator collects the problems of one document.
type validator struct {
	kinds         map[string]string // by name: node, component, volume or other
	attachedNodes map[string]bool
	problems      []error
}

func (v *validator) report(format string, args ...any) {
	v.problems = append(v.problems, fmt.Errorf(format, args...))
}

// names gathers the names that others may refer to.
func (v *validator) names(app *Application) {
	if app.Name == "" {
		v.report("the application has no name")
	}
	add := func(kind, name string) {
		if name == "" {
			v.report("a %s has no name", kind)
		} else if other, taken := v.kinds[name]; taken {
			v.report("%s %q has the name of a %s", kind, name, other)
		}
		v.kinds[name] = kind
	}
	for _, n := range app.Nodes {
		add("node", n.Name)
		v.attachedNodes[n.Name] = n.Attached != nil
	}
	for _, c := range app.Components {
		add("component", c.Name)
	}
	for _, volume := range app.Volumes {
		add("volume", volume.Name)
	}
	for _, o := range app.Others {
		add("other", o.Name)
	}
}

// known reports a field of a subject that does not name an element of the given kinds.
func (v *validator) known(subject, field, name string, kinds ...string) bool {
	if slices.Contains(kinds, v.kinds[name]) {
		return true
	}
	var candidates []string
	for other, kind := range v.kinds {
		if slices.Contains(kinds, kind) {
			candidates = append(candidates, other)
		}
	}
	slices.Sort(candidates)
	hint := ""
	if near := suggest.Nearest(name, candidates); near != "" {
		hint = fmt.Sprintf(" (did you mean %q?)", near)
	}
	v.report("%s: %s names %q, which the application does not have%s", subject, field, name, hint)
	return false
}

func (v *validator) protocol(kind, name string, p protocol.Protocol) {
	for _, err := range p.Problems() {
		v.report("%s %q: protocol: %w", kind, name, err)
	}
}

func (v *validator) requirements(subject string, connections, depends []string, named []Requirement) {
	for _, target := range connections {
		v.known(subject, "connections", target, "node", "component")
	}
	for _, target := range depends {
		v.known(subject, "depends", target, "node", "component", "volume")
	}
	for _, r := range named {
		v.known(subject, fmt.Sprintf("requirement %q", r.Name), r.Target, "node", "component", "volume")
		if !slices.Contains([]string{protocol.Host, protocol.Connection, protocol.Dependency, protocol.Storage}, r.Class) {
			v.report("%s: requirement %q has the class %q, which is not host, connection, dependency or storage", subject, r.Name, r.Class)
		}
	}
}

func (v *validator) node(n *Node) {
	subject := fmt.Sprintf("node %q", n.Name)
	v.protocol("node", n.Name, n.Protocol)
	v.requirements(subject, n.Connections, n.Depends, n.Named)
	for _, s := range n.Storage {
		v.known(subject, "storage", s.Volume, "volume")
	}
	if n.MaxUnavailable < 0 {
		v.report("%s: max_unavailable is %d, and cannot be negative", subject, n.MaxUnavailable)
	}
	if n.Attached != nil {
		v.attached(subject, n)
	}
	if u := n.Unit; u != nil {
		if u.Port < 1 || u.Port > 65535 {
			v.report("%s: the port %d of its unit is not between 1 and 65535", subject, u.Port)
		}
		if u.User == "" {
			v.report("%s: its unit has no user", subject)
		}
	}
}

func (v *validator) attached(subject string, n *Node) {
	if n.Unit == nil {
		v.report(`%s is attached, but the application does not say how to reach its unit: set "unit" of the node`, subject)
	}
	if len(n.Job) > 0 {
		v.report("%s is attached, and cannot be a job", subject)
	}
	for _, program := range slices.Sorted(maps.Keys(n.Attached.Requires)) {
		for _, target := range n.Attached.Requires[program] {
			node, of, found := strings.Cut(target, "/")
			field := fmt.Sprintf("requires of program %q", program)
			if v.known(subject, field, node, "node") && found && (of == "" || !v.attachedNodes[node]) {
				v.report("%s: %s names %q, and node %q has no programs: only attached nodes have", subject, field, target, node)
			}
		}
	}
}

func (v *validator) component(app *Application, c *Component) {
	subject := fmt.Sprintf("component %q", c.Name)
	v.protocol("component", c.Name, c.Protocol)
	v.requirements(subject, c.Connections, c.Depends, c.Named)
	if v.known(subject, "node", c.Node, "node") && v.known(subject, "host", c.Host, "node", "component") {
		if end := app.containerOf(c); end != c.Node {
			v.report("%s: its node is %q, but its hosts lead to %q", subject, c.Node, end)
		}
	}
	if v.attachedNodes[c.Node] && c.Program == nil {
		v.report("%s: node %q is attached, and has the programs of its unit as components", subject, c.Node)
	}
	seen := map[protocol.Operation]bool{}
	for name := range c.Operations() {
		if name.Interface == "" || name.Name == "" {
			v.report("%s: an operation or its interface has no name", subject)
		}
		if seen[name] {
			v.report("%s: operation %q is there twice", subject, name)
		}
		seen[name] = true
	}
	v.task(subject, c)
	if c.Policy != nil {
		v.policy(subject, c)
	}
}

// containerOf returns the node at the end of a component's hosts, or "".
func (app *Application) containerOf(c *Component) string {
	host := c.Host
	for range app.Components { // a cycle is longer
		i := slices.IndexFunc(app.Components, func(o Component) bool { return o.Name == host })
		if i < 0 {
			return host
		}
		host = app.Components[i].Host
	}
	if slices.ContainsFunc(app.Nodes, func(n Node) bool { return n.Name == host }) {
		return host
	}
	return ""
}

func (v *validator) task(subject string, c *Component) {
	t := c.Task
	if t == nil {
		return
	}
	if t.Completions < 1 || t.Completions > MaxCompletions {
		v.report("%s: its task has %d completions, which is not between 1 and %d", subject, t.Completions, MaxCompletions)
	}
	if t.Parallelism < 1 {
		v.report("%s: its task has a parallelism of %d, which is less than 1", subject, t.Parallelism)
	}
	if t.BackoffLimit < 0 || t.Deadline < 0 {
		v.report("%s: its task has a negative backoff_limit or deadline", subject)
	}
	if t.Rerun != RerunReplaced && t.Rerun != RerunNever {
		v.report("%s: rerun of its task is %q, which is neither %q nor %q", subject, t.Rerun, RerunReplaced, RerunNever)
	}
}

func (v *validator) policy(subject string, c *Component) {
	p := c.Policy
	if p.Stable < 0 || p.MaxDelay < 0 {
		v.report("%s: its policy has a negative duration", subject)
	}
	for name, n := range p.Attempts {
		if n < 1 || n > MaxAttempts {
			v.report("%s: its policy has %d attempts of %q, which is not between 1 and %d", subject, n, name, MaxAttempts)
		}
		if operation, err := protocol.ParseOperation(name); err != nil || !c.has(operation) {
			v.report("%s: its policy names operation %q, which the component does not have", subject, name)
		}
	}
}

func (c *Component) has(operation protocol.Operation) bool {
	for name := range c.Operations() {
		if name == operation {
			return true
		}
	}
	return false
}
