package tosca

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/toskose/toskose/internal/visible"
	"github.com/toskose/toskose/spec"
	"github.com/toskose/toskose/spec/protocol"
	"github.com/toskose/toskose/tosca/internal/data"
)

// Describe returns a text that describes an application.
func Describe(app *spec.Application) []byte {
	d := &description{}
	d.line(0, "%s", strings.TrimSpace(app.Name+" "+app.Version))
	if app.Description != "" {
		d.line(1, "%s", oneLine(app.Description))
	}
	d.inputs(app.Inputs)
	hosted := map[string][]string{}
	for _, m := range app.Components {
		hosted[m.Node] = append(hosted[m.Node], m.Name)
	}
	for _, n := range app.Nodes {
		d.node(n, hosted[n.Name])
	}
	for _, m := range app.Components {
		d.component(m)
	}
	for _, v := range app.Volumes {
		d.volume(v)
	}
	for _, u := range app.Groups {
		d.title("deployment unit %s", u.Name)
		d.list("members", u.Members)
	}
	for _, o := range app.Others {
		d.other(o)
	}
	return d.Bytes()
}

type description struct{ bytes.Buffer }

func (d *description) line(depth int, format string, args ...any) {
	d.WriteString(strings.Repeat("  ", depth))
	d.WriteString(visible.Text(fmt.Sprintf(format, args...)))
	d.WriteByte('\n')
}

// title begins the description of an item.
func (d *description) title(format string, args ...any) {
	d.WriteByte('\n')
	d.line(0, format, args...)
}

// field writes a name with its values, one a line. It writes nothing without values.
func (d *description) field(name string, values ...string) {
	for i, v := range values {
		if i > 0 {
			name = ""
		}
		if v != "" {
			d.line(1, "%-12s %s", name, v)
		}
	}
}

// list writes names in one line.
func (d *description) list(name string, values []string) { d.field(name, strings.Join(values, ", ")) }

func (d *description) inputs(inputs []spec.Input) {
	if len(inputs) == 0 {
		return
	}
	d.title("inputs")
	tab := tabwriter.NewWriter(d, 0, 8, 2, ' ', 0)
	for _, in := range inputs {
		value := shownValue(in.Value)
		if in.Secret {
			value = "(secret)"
		}
		fmt.Fprintf(tab, "  %s\t%s\t%s", visible.Text(in.Name), visible.Text(in.Type), visible.Text(value))
		if in.Description != "" {
			fmt.Fprintf(tab, "\t%s", visible.Text(oneLine(in.Description)))
		}
		fmt.Fprintln(tab)
	}
	tab.Flush()
}

func (d *description) node(n spec.Node, hosts []string) {
	d.title("container %s", n.Name)
	d.field("type", n.Type)
	d.field("image", fmt.Sprintf("%s (%s)", n.Image.Name, n.Image.Kind))
	if n.Command != "" {
		d.field("command", shownText(n.Command))
	}
	var ports, shares, storage []string
	for _, p := range n.Ports {
		port := fmt.Sprintf("%d/%s", p.Container, p.Protocol)
		if p.Host != 0 {
			port += ", published as " + p.Published()
		}
		ports = append(ports, port)
	}
	for _, s := range n.Shares {
		share := fmt.Sprintf("%s of the host at %s", shownText(s.Host), shownText(s.Container))
		if mode := s.Mode(); mode != "" {
			share += " (" + mode + ")"
		}
		shares = append(shares, share)
	}
	for _, s := range n.Storage {
		storage = append(storage, fmt.Sprintf("%s at %s", s.Volume, shownText(s.Location)))
	}
	d.list("hosts", hosts)
	d.field("ports", ports...)
	d.field("variables", pairs(n.Env)...)
	d.field("shares", shares...)
	d.field("storage", storage...)
	d.list("connects to", n.Connections)
	d.list("depends on", n.Depends)
	d.protocol(n.Protocol, protocol.Container())
}

func (d *description) component(m spec.Component) {
	d.title("component %s", m.Name)
	d.field("type", m.Type)
	host := m.Host
	if m.Host != m.Node {
		host += ", in container " + m.Node
	}
	d.field("host", host)
	d.list("connects to", m.Connections)
	d.list("depends on", m.Depends)
	var artifacts []string
	for _, a := range m.Artifacts {
		artifacts = append(artifacts, a.Name+" = "+shownText(a.Path))
	}
	d.field("artifacts", artifacts...)
	for name, o := range m.Operations() {
		d.operation(name, o)
	}
	usual := protocol.Software()
	if m.Task != nil {
		d.task(*m.Task)
		usual = protocol.Task()
	}
	d.protocol(m.Protocol, usual)
}

func (d *description) task(t spec.Task) {
	text := fmt.Sprintf("%d to complete, %d at a time, each tried again %d times", t.Completions, t.Parallelism, t.BackoffLimit)
	if t.Deadline > 0 {
		text += fmt.Sprintf(", all within %d s", t.Deadline)
	}
	d.field("task", text)
	d.field(" ", "rerun = "+t.Rerun)
	if len(t.FailOn) > 0 {
		d.field(" ", "fail_on = "+strings.Trim(fmt.Sprint(t.FailOn), "[]"))
	}
}

func (d *description) operation(name protocol.Operation, o spec.Operation) {
	if o.Script == "" && len(o.Inputs) == 0 {
		return // it only changes the state
	}
	text := name.String()
	if o.Script != "" {
		text += " = " + shownText(o.Script)
	}
	if o.Timeout > 0 {
		text += fmt.Sprintf(", within %d s", o.Timeout)
	}
	d.field("operation", text)
	for _, f := range o.Files {
		d.field(" ", "  with "+shownText(f))
	}
	for _, in := range o.Inputs {
		value := in.Resolve(func(owner, artifact string) string { return "{" + owner + ":" + artifact + "}" })
		d.field(" ", "  "+in.Name+" = "+shownText(value))
	}
}

func (d *description) volume(v spec.Volume) {
	d.title("volume %s", v.Name)
	d.field("type", v.Type)
	d.field("options", pairs(v.Options)...)
	d.protocol(v.Protocol, protocol.Volume())
}

func (d *description) other(o spec.Other) {
	d.title("node template %s (not to be packaged)", o.Name)
	d.field("type", o.Type)
	d.field("host", o.Host)
	var values, reached []string
	for _, name := range slices.Sorted(maps.Keys(o.Properties)) {
		values = append(values, name+" = "+shownAny(o.Properties[name]))
	}
	d.field("properties", values...)
	for _, r := range o.Requirements {
		reached = append(reached, r.Name+" -> "+r.Target)
	}
	d.field("requires", reached...)
}

// protocol writes a protocol, unless it is the default one.
func (d *description) protocol(p, usual protocol.Protocol) {
	for _, f := range p.Free {
		d.field("any time", f.String()+" in "+strings.Join(f.States, ", "))
	}
	if p.Free = nil; p.Equal(usual) {
		return
	}
	d.field("protocol", "begins "+p.Initial)
	for _, s := range p.States {
		var says []string
		if len(s.Requires) > 0 {
			says = append(says, "requires "+strings.Join(s.Requires, ", "))
		}
		if len(s.Offers) > 0 {
			says = append(says, "offers "+strings.Join(s.Offers, ", "))
		}
		if len(says) > 0 {
			d.field(" ", s.Name+": "+strings.Join(says, "; "))
		}
	}
	for _, t := range p.Transitions {
		text := t.String()
		if len(t.Requires) > 0 {
			text += ", requires " + strings.Join(t.Requires, ", ")
		}
		d.field(" ", text)
	}
	for _, f := range p.FaultHandlers {
		d.field(" ", fmt.Sprintf("%s -> %s on a fault", f.Source, f.Target))
	}
}

func pairs(m map[string]string) []string {
	var all []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		all = append(all, k+" = "+shownText(m[k]))
	}
	return all
}

// shownText quotes a text unless it is plain.
func shownText(s string) string {
	quoted := strconv.Quote(s)
	if s != "" && quoted == `"`+s+`"` && strings.TrimSpace(s) == s {
		return s
	}
	return quoted
}

func shownValue(v any) string {
	switch v := v.(type) {
	case nil:
		return "(no value)"
	case string:
		return strconv.Quote(v)
	default:
		return data.JSON(v)
	}
}

// shownAny returns a plain text as it is, and any other value as JSON.
func shownAny(v any) string {
	if text, ok := v.(string); ok {
		return shownText(text)
	}
	return data.JSON(v)
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
