package unit

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"strconv"
	"strings"

	"github.com/toskose/toskose/unit/config"
	"github.com/toskose/toskose/unit/events"
	"github.com/toskose/toskose/unit/logs"
	"github.com/toskose/toskose/unit/wire"
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

// labels gives the labels in an environment: TOSKOSE_LABEL_HOST is host.
func labels(env map[string]string) map[string]string {
	found := map[string]string{}
	for name, value := range env {
		if label, ok := strings.CutPrefix(name, labelPrefix); ok && label != "" && value != "" {
			found[strings.ToLower(label)] = value
		}
	}
	return found
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

// build makes the programs and finds what belongs together.
func (u *Unit) build() error {
	if !u.config.Supervisord.NoCleanup && u.config.Supervisord.ChildLogDir != "" {
		if err := logs.CleanAuto(u.config.Supervisord.ChildLogDir, u.config.Supervisord.Identifier); err != nil {
			u.log.Warn("cannot remove old logs", "error", err)
		}
	}
	var groups []group
	for _, from := range u.available {
		g, err := u.group(from, nil, u.listen(from.listener))
		if err != nil {
			return err
		}
		groups = append(groups, g)
		u.events.Emit(events.GroupAdded(g.name))
	}
	u.names.replace(groups)
	u.roster.enlist(u.names.inOrder())
	return nil
}

// group makes a group and its programs, except those that it is given by name.
// pool is nil where they are no event listeners. Where it fails, it leaves nothing.
func (u *Unit) group(from arrangement, kept map[string]*program, pool *events.Pool) (group, error) {
	g := group{
		name: from.group.Name, priority: from.group.Priority, component: from.component, listener: from.listener, pool: pool,
	}
	var made []*program
	for i := range from.group.Programs {
		cfg := &from.group.Programs[i]
		p, ok := kept[cfg.Name]
		if !ok {
			var err error
			if p, err = u.program(cfg); err != nil {
				return group{}, errors.Join(err, u.release(made))
			}
			p.pool = pool
			made = append(made, p)
		}
		g.programs = append(g.programs, p)
	}
	return g, nil
}

func (u *Unit) program(cfg *config.Program) (*program, error) {
	number, err := u.roster.number(cfg.Group + ":" + cfg.Name)
	if err != nil {
		return nil, err
	}
	p := &program{
		cfg: cfg, number: number, world: u.world, rules: rulesOf(cfg),
		commands: make(chan command), rest: make(chan uint64), closed: make(chan struct{}),
		verdicts: make(chan readyVerdict, 1), changed: make(chan struct{}), stopWatch: func() {},
	}
	p.live.Store(cfg)
	p.stdoutLog = u.logOf(cfg, cfg.Stdout, wire.Stdout)
	if !cfg.RedirectStderr {
		p.stderrLog = u.logOf(cfg, cfg.Stderr, wire.Stderr)
	}
	return p, nil
}

// release gives up the logs of programs that are not used any more.
func (u *Unit) release(programs []*program) error {
	var err error
	for _, p := range programs {
		for _, f := range []*logs.File{p.stdoutLog, p.stderrLog} {
			if f != nil {
				err = errors.Join(err, u.logs.Release(f))
			}
		}
	}
	return err
}

// rulesOf is what the state machine of a program obeys.
func rulesOf(cfg *config.Program) rules {
	return rules{
		kind: cfg.Kind, settles: cfg.StartSecs > 0, checked: cfg.Ready != nil, retries: cfg.StartRetries,
		restart: restartOf(cfg.Autorestart), exitCodes: cfg.ExitCodes,
	}
}

func restartOf(a config.Autorestart) restart {
	switch a {
	case config.RestartAlways:
		return restartAlways
	case config.RestartUnexpected:
		return restartUnexpected
	case config.RestartNever:
	}
	return restartNever
}

// logOf gives a process's log. A log that cannot be made does not keep a
// program from running.
func (u *Unit) logOf(cfg *config.Program, l config.Log, stream wire.Stream) *logs.File {
	path := l.Path
	switch l.Kind {
	case config.LogNone:
		return nil
	case config.LogAuto:
		var err error
		d := u.config.Supervisord
		if path, err = logs.AutoFile(d.ChildLogDir, cfg.Name, string(stream), d.Identifier); err != nil {
			u.log.Warn("cannot make a log", "component", cfg.Group, "operation", cfg.Name, "error", err)
			return nil
		}
	case config.LogFile:
	}
	return u.logs.File(path, logs.Options{MaxBytes: l.MaxBytes, Backups: l.Backups})
}
