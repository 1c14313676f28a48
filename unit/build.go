package unit

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/toskose/toskose/unit/config"
	"github.com/toskose/toskose/unit/events"
	"github.com/toskose/toskose/unit/logs"
	"github.com/toskose/toskose/unit/process"
)

// Variables of the unit itself, which children do not inherit.
const (
	envPassword     = "SUPERVISORD_PASSWORD"
	envPasswordFile = "SUPERVISORD_PASSWORD_FILE"
)

// labelPrefix begins the names of environment variables that describe where the container runs.
const labelPrefix = "TOSKOSE_LABEL_"

// inherited returns the part of the unit's environment that children inherit.
func inherited(env map[string]string, joined bool) map[string]string {
	if joined {
		return WithoutOwn(env)
	}
	env = maps.Clone(env)
	if env == nil {
		env = map[string]string{}
	}
	delete(env, envPassword)
	delete(env, envPasswordFile)
	return env
}

// noLocale reports whether an environment leaves the character type to the C locale.
func noLocale(env map[string]string) bool {
	chosen := cmp.Or(env["LC_ALL"], env["LC_CTYPE"], env["LANG"], "C")
	return (chosen == "C" || chosen == "POSIX") && env["LC_ALL"] == "" && env["PYTHONCOERCECLOCALE"] != "0"
}

// WithoutOwn returns an environment without the variables that a unit reads when it joins an
// application by its environment: the rest is what supervisord would see. Its interpreter adds
// LC_CTYPE where no locale is chosen (PEP 538), and so programs have it.
func WithoutOwn(env map[string]string) map[string]string {
	rest := map[string]string{}
	for name, value := range env {
		switch {
		case name == envPassword, name == envPasswordFile, name == "SUPERVISORD_USER", name == envOwner,
			strings.HasPrefix(name, "TOSKOSE_UNIT_"), strings.HasPrefix(name, labelPrefix):
		default:
			rest[name] = value
		}
	}
	if noLocale(rest) {
		rest["LC_CTYPE"] = "C.UTF-8"
	}
	return rest
}

// Limits of labels: the first ones by name are used, and none that is longer.
const (
	maxLabels     = 16
	maxLabelName  = 63
	maxLabelValue = 253
)

// labels returns the labels in an environment: TOSKOSE_LABEL_HOST is host. An unresolved template
// means that the orchestrator does not support it.
func labels(env map[string]string) map[string]string {
	found := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		label, ok := strings.CutPrefix(name, labelPrefix)
		value := strings.ToValidUTF8(env[name], "")
		if !ok || label == "" || len(label) > maxLabelName || value == "" || len(value) > maxLabelValue || strings.Contains(value, "{{") {
			continue
		}
		if found[strings.ToLower(label)] = value; len(found) == maxLabels {
			break
		}
	}
	return found
}

// envOwner is the variable with the owner of the documents.
const envOwner = "TOSKOSE_DOCUMENTS_OWNER"

var ownerForm = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// owner returns the owner of the documents, or "" if the orchestrator did not resolve it.
func owner(env map[string]string) string {
	if ownerForm.MatchString(env[envOwner]) {
		return env[envOwner]
	}
	return ""
}

// serverURL returns SUPERVISOR_SERVER_URL, as Supervisor sets it for children.
func serverURL(c *config.Config) string {
	if len(c.Unix) > 0 {
		return "unix://" + c.Unix[0].File
	}
	if len(c.Inet) == 0 {
		return ""
	}
	host := c.Inet[0].Host
	if host == "" {
		host = "localhost"
	}
	scheme := "http"
	if c.Inet[0].TLS != nil {
		scheme = "https"
	}
	return fmt.Sprintf("%s://%s", scheme, net.JoinHostPort(host, strconv.Itoa(c.Inet[0].Port)))
}

// Groups manages the groups in use and reloads the configuration.
type Groups struct {
	*core
	processes *Processes
	reread    func() (*config.Config, []config.Warning, error)
	rereading sync.Mutex     // serialises reloads
	available []*groupConfig // as last read; guarded by changing

	served    sync.WaitGroup // goroutines that own programs
	allServed chan struct{}  // closed when every program is served
}

// listen creates the pool of an event listener, or returns nil for nil. The pool buffers events
// from now on, even if no process runs, until u.events.Remove.
func (u *Groups) listen(l *config.Listener) *events.Pool {
	if l == nil {
		return nil
	}
	types := make([]events.Type, 0, len(l.Events))
	for _, name := range l.Events {
		types = append(types, events.Type(name))
	}
	o := events.PoolOptions{
		Name: l.Name, Server: u.config.Supervisord.Identifier, Events: types, BufferSize: l.BufferSize, Logger: u.log,
	}
	if l.Relays() {
		o.Relay = u.programs.Relay(l)
	}
	pool := events.NewPool(o)
	u.events.Add(pool)
	return pool
}

// build creates the programs and the groups.
func (u *Groups) build() error {
	if !u.config.Supervisord.NoCleanup && u.config.Supervisord.ChildLogDir != "" {
		if err := logs.CleanAuto(u.config.Supervisord.ChildLogDir, u.config.Supervisord.Identifier); err != nil {
			u.log.Warn("cannot remove old logs", "error", err)
		}
	}
	var groups []*group
	for _, from := range u.available {
		g, err := u.group(from, nil, u.listen(from.listener))
		if err != nil {
			return err
		}
		groups = append(groups, g)
		u.events.Emit(events.GroupAdded(g.name))
	}
	u.names.replace(groups)
	u.programs.Register(u.names.inOrder())
	return nil
}

// group creates a group and its programs, except those in kept. pool is nil unless they are event
// listeners. If it fails, it leaves nothing behind.
func (u *Groups) group(from *groupConfig, kept map[string]*process.Program, pool *events.Pool) (*group, error) {
	g := &group{
		name: from.group.Name, priority: from.group.Priority, component: from.component, listener: from.listener, pool: pool,
	}
	var made []*process.Program
	for i := range from.group.Programs {
		cfg := &from.group.Programs[i]
		p, ok := kept[cfg.Name]
		if !ok {
			var err error
			if p, err = u.programs.Program(cfg, pool); err != nil {
				return nil, errors.Join(err, closeLogs(made))
			}
			made = append(made, p)
		}
		g.programs = append(g.programs, p)
	}
	return g, nil
}

// closeLogs closes the logs of programs that are not used any more.
func closeLogs(programs []*process.Program) error {
	var errs []error
	for _, p := range programs {
		errs = append(errs, p.Close())
	}
	return errors.Join(errs...)
}

// serve starts the goroutines that own programs.
func (u *Groups) serve(programs []*process.Program) {
	for _, p := range programs {
		u.served.Go(func() { p.Serve(u.lifetime) })
	}
}
