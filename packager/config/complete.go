package config

import (
	"bytes"
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/toskose/toskose/spec"
)

// The defaults of a toskose.yml.
const (
	defaultUnitPort     = 9001 // of the first node; the others count on
	defaultManagerPort  = 10000
	defaultManagerAlias = "toskose-manager"
	DefaultManagerBind  = "127.0.0.1"
	defaultUser         = "admin"
	defaultLogLevel     = "INFO"
	defaultTag          = "latest"
	DefaultOutput       = "prefixed"
	DefaultStopSignal   = "TERM"
	defaultStopGrace    = "10s"
	defaultReadyTimeout = "60s"
	defaultInterval     = "200ms"
)

// defaultRestart configures how a goal restarts a component.
var defaultRestart = Restart{Stable: "60s", DelayMax: "300s", Attempts: 3}

// Target is the application that a toskose.yml configures.
type Target struct {
	App        string
	Nodes      []TargetNode // sorted by name
	Volumes    []string     // names
	Components map[string]TargetComponent
	Values     []string // values that can be secrets: COMPONENT.INPUT and CONTAINER.VARIABLE
}

// TargetComponent is a component of the application.
type TargetComponent struct {
	Node       string                     // the container that it is in
	Operations map[string]TargetOperation // operations with a script, by interface.operation
	Requires   []string                   // the names of its requirements, except for its host
	Port       int                        // declared port that accepts connections once it is started; 0: none
}

// TargetOperation is an operation of a component.
type TargetOperation struct {
	Kind   string   // by its name
	States []string // allowed values of states, if no transition names the operation; else none
}

// TargetNode is a container of the application.
type TargetNode struct {
	Name     string
	Toskosed bool // it hosts components, so it has a unit
	Built    bool // its image is built from a Dockerfile of the archive
	Ports    []spec.Port
	Env      []string // names of variables that the application sets
}

// node returns a container of the application, or nil if it is not known.
func (t *Target) node(name string) *TargetNode {
	if t == nil {
		return nil
	}
	if i := slices.IndexFunc(t.Nodes, func(n TargetNode) bool { return n.Name == name }); i >= 0 {
		return &t.Nodes[i]
	}
	return nil
}

// Complete sets the defaults of a configuration that was checked for the same target. It does
// not set passwords: missing ones are generated with the secrets.
func Complete(cfg Config, target Target) Config {
	done := cfg
	done.Nodes = map[string]Node{}
	taken := map[int]bool{cfg.Manager.Port: true}
	names := map[string]bool{}
	for _, n := range cfg.Nodes {
		taken[n.Port] = true
		names[n.Docker.Name] = true
	}
	done.Manager = completeManager(cfg.Manager, cfg.Nodes, target, taken, names)
	port := defaultUnitPort
	for _, t := range target.Nodes {
		n := cfg.Nodes[t.Name]
		n.Alias = cmp.Or(n.Alias, t.Name)
		if t.Toskosed {
			if n.Port == 0 {
				own := map[int]bool{}
				for _, p := range t.published(n) {
					own[p.Container] = true
				}
				for taken[port] || own[port] {
					port++
				}
				n.Port, taken[port] = port, true
			}
			n.User = cmp.Or(n.User, defaultUser)
			n.LogLevel = cmp.Or(n.LogLevel, defaultLogLevel)
			completeDocker(&n.Docker, target.App+"-"+t.Name+"-toskosed", names)
			n.Components = completeComponents(n.Components, t.Name, target)
		} else if t.Built {
			completeDocker(&n.Docker, target.App+"-"+t.Name, names)
		}
		done.Nodes[t.Name] = n
	}
	return done
}

// completeComponents returns the components of a container.
func completeComponents(given map[string]Component, node string, target Target) map[string]Component {
	var all map[string]Component
	for name, t := range target.Components {
		if t.Node != node {
			continue
		}
		c := given[name]
		c.Readiness = completeReadiness(c.Readiness, t.Port, t.starts(c))
		c.Liveness = completeLiveness(c.Liveness)
		c.Output = cmp.Or(c.Output, DefaultOutput)
		c.StopSignal = cmp.Or(Signal(c.StopSignal), DefaultStopSignal)
		c.StopGrace = cmp.Or(c.StopGrace, defaultStopGrace)
		c.Restart.Stable = cmp.Or(c.Restart.Stable, defaultRestart.Stable)
		c.Restart.DelayMax = cmp.Or(c.Restart.DelayMax, defaultRestart.DelayMax)
		c.Restart.Attempts = cmp.Or(c.Restart.Attempts, defaultRestart.Attempts)
		if all == nil {
			all = map[string]Component{}
		}
		all[name] = c
	}
	return all
}

// completeReadiness adds a check of the declared port if no other check is configured.
func completeReadiness(r Readiness, port int, starts bool) Readiness {
	if !starts || r.None || !r.checks() && port == 0 {
		return Readiness{None: true}
	}
	if !r.checks() {
		r.TCP = strconv.Itoa(port)
	}
	r.Timeout, r.Interval = cmp.Or(r.Timeout, defaultReadyTimeout), cmp.Or(r.Interval, defaultInterval)
	return r
}

// defaultLiveness are the settings of a liveness check that are not configured; the unit's own are the same.
var defaultLiveness = Liveness{Status: "200-399", Interval: "10s", Timeout: "3s", Failures: 3, Grace: "0s", Then: "restart"}

// completeLiveness adds the defaults if a check is configured.
func completeLiveness(l Liveness) Liveness {
	if !l.checks() {
		return l
	}
	l.Interval, l.Timeout = cmp.Or(l.Interval, defaultLiveness.Interval), cmp.Or(l.Timeout, defaultLiveness.Timeout)
	l.Failures, l.Grace = cmp.Or(l.Failures, defaultLiveness.Failures), cmp.Or(l.Grace, defaultLiveness.Grace)
	l.Then = cmp.Or(l.Then, defaultLiveness.Then)
	if l.HTTP != "" {
		l.Status = cmp.Or(l.Status, defaultLiveness.Status)
	}
	return l
}

func completeManager(m Manager, nodes map[string]Node, target Target, taken map[int]bool, names map[string]bool) Manager {
	m.Alias = cmp.Or(m.Alias, defaultManagerAlias)
	m.User = cmp.Or(m.User, defaultUser)
	m.Bind = cmp.Or(m.Bind, DefaultManagerBind)
	m.Mode = cmp.Or(m.Mode, modeProduction)
	m.Goal = cmp.Or(m.Goal, GoalNone)
	if m.Port == 0 {
		published := map[int]bool{}
		for _, p := range target.hostPorts(nodes) {
			published[p] = true
		}
		m.Port = defaultManagerPort
		for taken[m.Port] || published[m.Port] {
			m.Port++
		}
		taken[m.Port] = true
	}
	completeDocker(&m.Docker, target.App+"-manager", names)
	return m
}

func completeDocker(d *Docker, name string, names map[string]bool) {
	if d.Name == "" {
		base := imageName(name)
		d.Name = base
		for i := 2; names[d.Name]; i++ {
			d.Name = fmt.Sprintf("%s-%d", base, i)
		}
		names[d.Name] = true
	}
	d.Tag = cmp.Or(d.Tag, defaultTag)
}

var notInImageNames = regexp.MustCompile(`[^a-z0-9]+`)

// imageName converts any text to a valid repository name.
func imageName(s string) string {
	return strings.Trim(notInImageNames.ReplaceAllString(strings.ToLower(s), "-"), "-")
}

// BaseName returns the reference of a base image built from a Dockerfile of the archive. It is not
// pushed.
func BaseName(app, node string) string { return imageName(app+"-"+node+"-base") + ":" + defaultTag }

// Image returns the reference of the image to build.
func (d Docker) Image() string { return d.Name + ":" + d.Tag }

// Base returns the reference of the base image; fallback is the application's.
func (d Docker) Base(fallback string) (string, error) {
	switch {
	case d.BaseImage == "" && d.BaseTag == "":
		return fallback, nil
	case d.BaseTag == "":
		return d.BaseImage, nil
	case d.BaseImage == "":
		return withTag(fallback, d.BaseTag)
	}
	return d.BaseImage + ":" + d.BaseTag, nil
}

// Encode returns a toskose.yml without passwords and keys, the same fields that JSON omits.
func Encode(cfg Config) ([]byte, error) {
	public := cfg
	public.Manager.Password, public.Manager.SecretKey, public.Manager.Docker.RegistryPassword = "", "", ""
	public.Nodes = map[string]Node{}
	for name, n := range cfg.Nodes {
		n.Password, n.Docker.RegistryPassword = "", ""
		public.Nodes[name] = n
	}
	var buf bytes.Buffer
	enc := yaml.NewEncoder(&buf)
	enc.SetIndent(2)
	if err := enc.Encode(public); err != nil {
		return nil, fmt.Errorf("cannot encode toskose.yml: %w", err)
	}
	return buf.Bytes(), enc.Close()
}
