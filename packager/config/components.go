package config

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toskose/toskose/internal/located"
)

var (
	kinds   = []string{"run", "start", "stop"}
	thens   = []string{"restart", "report", "exit"}
	outputs = []string{"prefixed", "json", "none"}
	aways   = []string{whileAwayKeep, WhileAwayDown}

	// stopSignals are the signals that programs treat as a request to exit.
	stopSignals = []string{"TERM", "INT", "QUIT", "HUP", "KILL", "USR1", "USR2", "WINCH", "ABRT", "ALRM", "PIPE", "PWR"}

	// commentForm is text that begins a comment in supervisord.conf.
	commentForm = regexp.MustCompile(`\s[;#]`)

	userForm = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*(:[A-Za-z0-9_][A-Za-z0-9_.-]*)?$`)
)

// The minimum time that a unit can wait for readiness, and the maximum of all durations.
const (
	leastWait = 10 * time.Millisecond
	mostWait  = 1e9 * time.Second
)

// ParseDuration returns the value of a duration in toskose.yml, or 0 if it is empty.
func ParseDuration(text string) time.Duration {
	d, _ := time.ParseDuration(text) // checked when it was read
	return d
}

// Signal returns the name of a signal without SIG, in capitals.
func Signal(text string) string { return strings.TrimPrefix(strings.ToUpper(text), "SIG") }

// moveComponents moves the components at the top level into their nodes. It does not change the maps of c.
func (c *Config) moveComponents(target *Target) {
	c.Nodes = maps.Clone(c.Nodes)
	for name, component := range c.Components {
		at := target.Components[name].Node
		n := c.Nodes[at]
		n.Components = maps.Clone(n.Components)
		if n.Components == nil {
			n.Components = map[string]Component{}
		}
		n.Components[name] = component
		if c.Nodes == nil {
			c.Nodes = map[string]Node{}
		}
		c.Nodes[at] = n
	}
	c.Components = nil
}

// checkComponents reports invalid settings of the components at a path. node is the node of the
// components, or empty if they may be on any node.
func (d *decoder) checkComponents(path, node string, components map[string]Component, target *Target) {
	for _, name := range located.Keys(components) {
		path := path + "." + name
		d.checkComponent(path, components[name])
		if target == nil {
			continue
		}
		t, known := target.Components[name]
		switch {
		case !known:
			d.ReportAt(path, "the application has no component of this name%s", located.DidYouMean(name, located.Keys(target.Components)))
		case node != "" && t.Node != node:
			d.ReportAt(path, "the component is in the container %q", t.Node)
		case node == "" && d.has("nodes."+t.Node+".components."+name):
			d.ReportAt(path, "is configured by nodes.%s.components.%s, too", t.Node, name)
		default:
			d.fits(path, components[name], t)
		}
	}
}

// checkComponent reports invalid settings that do not depend on the application.
func (d *decoder) checkComponent(path string, c Component) {
	d.checkReadiness(path+".readiness", c.Readiness)
	d.checkLiveness(path+".liveness", c.Liveness)
	d.oneOf(path+".output", c.Output, outputs)
	d.checkLogs(path+".logs", c.Logs)
	d.oneOf(path+".stop_signal", Signal(c.StopSignal), stopSignals)
	d.wait(path+".stop_grace", c.StopGrace, 0)
	if at := path + ".stop_grace"; ParseDuration(c.StopGrace)%time.Second != 0 {
		d.ReportAt(at, "%q is not a whole number of seconds", c.StopGrace)
	}
	d.user(path+".user", c.User)
	d.wait(path+".restart.stable", c.Restart.Stable, 0)
	d.wait(path+".restart.delay_max", c.Restart.DelayMax, 0)
	d.attempts(path+".restart.attempts", c.Restart.Attempts)
	for name, r := range c.Requirements {
		d.oneOf(path+".requirements."+name+".while_away", r.WhileAway, aways)
	}
	for name, o := range c.Operations {
		path := path + ".operations." + name
		d.oneOf(path+".kind", o.Kind, kinds)
		d.wait(path+".timeout", o.Timeout, 0)
		d.user(path+".user", o.User)
		d.checkLogs(path+".logs", o.Logs)
		d.attempts(path+".attempts", o.Attempts)
	}
}

// checkProbes reports invalid checks of readiness or liveness.
func (d *decoder) checkProbes(path, tcp, http, command string) {
	if tcp != "" {
		host, port, err := net.SplitHostPort(tcp)
		if !strings.Contains(tcp, ":") {
			host, port, err = "", tcp, nil
		}
		if n, numberErr := strconv.ParseUint(port, 10, 16); err != nil || numberErr != nil || n == 0 || strings.ContainsAny(host, " %") {
			d.ReportAt(path+".tcp", "%q is neither PORT nor HOST:PORT", tcp)
		}
	}
	if http != "" {
		if u, err := url.Parse(http); err != nil || u.Scheme != "http" || u.Hostname() == "" || u.User != nil || hasControl(http) {
			d.ReportAt(path+".http", "%q is not an address of the form http://HOST:PORT/PATH", http)
		}
	}
	if at := path + ".command"; d.has(at) && !d.Bad[at] {
		if words, err := SplitWords(command); err != nil {
			d.ReportAt(at, "%v", err)
		} else if len(words) == 0 || words[0] == "" || hasControl(strings.Join(words, "")) {
			d.ReportAt(at, "must be a command without a line break or other control character")
		}
	}
}

func (d *decoder) checkLiveness(path string, l Liveness) {
	d.checkProbes(path, l.TCP, l.HTTP, l.Command)
	if !l.checks() && d.has(path) && !d.Bad[path] && !d.Bad[path+".tcp"] && !d.Bad[path+".http"] && !d.Bad[path+".command"] {
		d.ReportAt(path, "needs tcp, http or command")
	}
	low, high, isRange := strings.Cut(l.Status, "-")
	if !isRange {
		high = low
	}
	first, err := strconv.Atoi(low)
	last, err2 := strconv.Atoi(high)
	if l.Status != "" && (err != nil || err2 != nil || first < 100 || last > 599 || first > last) {
		d.ReportAt(path+".status", "%q is neither a status such as 200 nor a range such as 200-299", l.Status)
	}
	switch {
	case hasControl(l.Text):
		d.ReportAt(path+".text", "%q has a line break or another control character", l.Text)
	case strings.TrimSpace(l.Text) != l.Text, commentForm.MatchString(l.Text):
		d.ReportAt(path+".text", "%q begins or ends with white space, or has ; or # after white space, which cannot be passed to the unit", l.Text)
	}
	for key, value := range map[string]string{"status": l.Status, "text": l.Text} {
		if value != "" && l.HTTP == "" {
			d.ReportAt(path+"."+key, "needs http")
		}
	}
	d.wait(path+".interval", l.Interval, leastWait)
	d.wait(path+".timeout", l.Timeout, leastWait)
	d.wait(path+".grace", l.Grace, 0)
	d.atLeastOne(path+".failures", l.Failures)
	d.oneOf(path+".then", l.Then, thens)
}

func (d *decoder) checkReadiness(path string, r Readiness) {
	d.checkProbes(path, r.TCP, r.HTTP, r.Command)
	if _, err := regexp.Compile(r.Log); err != nil || hasControl(r.Log) {
		d.ReportAt(path+".log", "%q is not a regular expression (RE2)", r.Log)
	}
	d.wait(path+".timeout", r.Timeout, leastWait)
	d.wait(path+".interval", r.Interval, leastWait)
}

// wait reports a duration that is invalid or out of range.
func (d *decoder) wait(path, text string, least time.Duration) {
	d.duration(path, text)
	switch n, err := time.ParseDuration(text); {
	case err != nil || n < 0: // already reported, or empty
	case n < least:
		d.ReportAt(path, "%q is less than %s", text, least)
	case n > mostWait:
		d.ReportAt(path, "%q is too long", text)
	}
}

func (d *decoder) user(path, text string) {
	if text != "" && !userForm.MatchString(text) {
		d.ReportAt(path, "%q is neither USER nor USER:GROUP, by name or number", text)
	}
}

func (d *decoder) atLeastOne(path string, n int) {
	if d.has(path) && !d.Bad[path] && n < 1 {
		d.ReportAt(path, "%d is less than 1", n)
	}
}

// MaxAttempts is the maximum number of attempts of an operation: the manager counts up to as many
// in the history that it and the units keep.
const MaxAttempts = 16

func (d *decoder) attempts(path string, n int) {
	d.atLeastOne(path, n)
	if d.has(path) && !d.Bad[path] && n > MaxAttempts {
		d.ReportAt(path, "%d is more than %d, which is as far as attempts are counted", n, MaxAttempts)
	}
}

// fits reports references to requirements and operations that the application does not have.
func (d *decoder) fits(path string, c Component, t TargetComponent) {
	for _, name := range located.Keys(c.Requirements) {
		at := path + ".requirements." + name
		switch {
		case name == "host" || name == "alive":
			d.ReportAt(at, "a component always goes down with its host")
		case !slices.Contains(t.Requires, name):
			d.ReportAt(at, "the component has no requirement of this name%s", located.DidYouMean(name, t.Requires))
		}
	}
	for _, name := range located.Keys(c.Operations) {
		o, known := t.Operations[name]
		if at := path + ".operations." + name; known {
			d.checkStates(at+".states", c.Operations[name].States, o.States)
		} else {
			d.ReportAt(at, "the component has no operation of this name with a script%s", located.DidYouMean(name, located.Keys(t.Operations)))
		}
	}
	if at := path + ".liveness"; d.has(at) && !d.Bad[at] && !t.starts(c) {
		d.ReportAt(at, "no operation of the component starts it")
	}
	at := path + ".readiness"
	switch r := c.Readiness; {
	case !d.has(at) || d.Bad[at] || r.None:
	case !t.starts(c):
		d.ReportAt(at, "no operation of the component starts it")
	case !r.checks() && t.Port == 0:
		d.ReportAt(at, "needs tcp, http, command, log or notify: the component has no port to be ready at")
	}
}

// starts reports whether one of the operations is a start.
func (t TargetComponent) starts(c Component) bool {
	for name, o := range t.Operations {
		if cmp.Or(c.Operations[name].Kind, o.Kind) == "start" {
			return true
		}
	}
	return false
}

func (d *decoder) checkStates(path string, written, states []string) {
	if len(states) == 0 && d.has(path) {
		d.ReportAt(path, "the component's protocol says in which states the operation may run")
		return
	}
	for i, state := range written {
		at := fmt.Sprintf("%s.%d", path, i)
		switch {
		case d.Bad[at]:
		case slices.Contains(written[:i], state):
			d.ReportAt(at, "%q is listed twice", state)
		case !slices.Contains(states, state):
			d.ReportAt(at, "%q is not a state that it may run in, which are %s%s", state, strings.Join(states, ", "), located.DidYouMean(state, states))
		}
	}
}
