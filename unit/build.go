package unit

import (
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

// Credentials of the unit in its environment, which no child inherits.
const (
	envPassword     = "SUPERVISORD_PASSWORD"
	envPasswordFile = "SUPERVISORD_PASSWORD_FILE"
)

// labelPrefix begins the names of environment variables that say where the
// container runs.
const labelPrefix = "TOSKOSE_LABEL_"

// inherited is what children get of the unit's environment.
func inherited(env map[string]string) map[string]string {
	env = maps.Clone(env)
	if env == nil {
		env = map[string]string{}
	}
	delete(env, envPassword)
	delete(env, envPasswordFile)
	return env
}

// What labels are passed on: the first by name, none that is longer.
const (
	maxLabels     = 16
	maxLabelName  = 63
	maxLabelValue = 253
)

// labels returns the labels in an environment: TOSKOSE_LABEL_HOST is host. A value
// that is a template has met an orchestrator that fills in none.
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

// envOwner says whose documents the unit keeps.
const envOwner = "TOSKOSE_DOCUMENTS_OWNER"

var ownerForm = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// owner returns whose documents the unit keeps; none where an orchestrator does not
// fill in who it is.
func owner(env map[string]string) string {
	if ownerForm.MatchString(env[envOwner]) {
		return env[envOwner]
	}
	return ""
}

// serverURL is where children reach the unit, as Supervisor tells them.
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

// Groups is what of a configuration is in use.
type Groups struct {
	*core
	processes *Processes
	reread    func() (*config.Config, []config.Warning, error)
	rereading sync.Mutex     // one reload at a time
	available []*groupConfig // as last read; behind changing

	served sync.WaitGroup // goroutines that own programs
	begun  chan struct{}  // closed when every program is served
}

// listen makes the pool of an event listener's processes. It keeps events from
// now on, whether or not they run; u.events.Remove ends that. nil has none.
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

// build makes the programs and finds what belongs together.
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

// group makes a group and its programs, except those that it is given by name.
// pool is nil where they are not event listeners. Where it fails, it leaves nothing.
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

// closeLogs gives up the logs of programs that are not used any more.
func closeLogs(programs []*process.Program) error {
	var errs []error
	for _, p := range programs {
		errs = append(errs, p.Close())
	}
	return errors.Join(errs...)
}

// serve begins to own programs.
func (u *Groups) serve(programs []*process.Program) {
	for _, p := range programs {
		u.served.Go(func() { p.Serve(u.life) })
	}
}
