package process

import (
	"fmt"
	"time"

	"github.com/toskose/toskose/unit/config"
	"github.com/toskose/toskose/unit/logs"
	"github.com/toskose/toskose/unit/wire"
)

// Info returns Supervisor's description of the program.
func (p *Program) Info(now time.Time) wire.ProcessInfo {
	s := p.Status()
	i := wire.ProcessInfo{
		Name: p.cfg.Name, Group: p.cfg.Group, Start: unixOf(s.Started), Stop: unixOf(s.Stopped), Now: now.Unix(),
		State: s.State, StateName: s.State.String(), SpawnErr: s.SpawnErr, PID: s.PID,
		StdoutLogfile: pathOf(p.stdoutLog), StderrLogfile: pathOf(p.stderrLog),
		Description: description(p.cfg.Name, s, now),
	}
	i.Logfile = i.StdoutLogfile
	if s.Exit != nil {
		i.ExitStatus = supervisorStatus(*s.Exit)
	}
	return i
}

func unixOf(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}

func pathOf(f *logs.File) string {
	if f == nil {
		return ""
	}
	return f.Path()
}

// description returns the text that supervisorctl prints next to a state.
func description(name string, s Status, now time.Time) string {
	if s.WaitsFor != "" {
		return s.WaitsFor
	}
	switch s.State {
	case wire.Running:
		return fmt.Sprintf("pid %d, uptime %s", s.PID, timedelta(now.Sub(s.Started)))
	case wire.Fatal, wire.Backoff:
		if s.SpawnErr == "" {
			return fmt.Sprintf("unknown error (try \"tail %s\")", name)
		}
		return s.SpawnErr
	case wire.Stopped, wire.Exited:
		if s.Started.IsZero() {
			return "Not started"
		}
		return s.Stopped.Local().Format("Jan 02 03:04 PM")
	case wire.Starting, wire.Stopping, wire.Unknown:
	}
	return ""
}

// timedelta formats a duration as Python does: "1 day, 0:00:03".
func timedelta(d time.Duration) string {
	seconds := max(int64(d/time.Second), 0)
	const day = 24 * 60 * 60
	text := fmt.Sprintf("%d:%02d:%02d", seconds%day/3600, seconds%3600/60, seconds%60)
	switch days := seconds / day; days {
	case 0:
		return text
	case 1:
		return "1 day, " + text
	default:
		return fmt.Sprintf("%d days, %s", days, text)
	}
}

// none replaces null, which XML-RPC does not have, as in Supervisor.
const none = "none"

// ConfigInfo describes a configuration. p is the program that uses it, or nil; the path of an AUTO
// log is known only for a program in use.
func (p *Program) ConfigInfo(c *config.Program, groupPriority int) wire.ConfigInfo {
	stdout, stderr := logName(c.Stdout), logName(c.Stderr)
	if p != nil && c.Stdout.Kind == config.LogAuto {
		stdout = orNone(pathOf(p.stdoutLog))
	}
	if p != nil && c.Stderr.Kind == config.LogAuto {
		stderr = orNone(pathOf(p.stderrLog))
	}
	i := wire.ConfigInfo{
		Autostart: c.Autostart, Directory: orNone(c.Directory), UID: none,
		Command: c.Command, ExitCodes: c.ExitCodes, Group: c.Group, GroupPrio: groupPriority,
		InUse: p != nil, KillAsGroup: c.KillAsGroup, Name: c.Name, ProcessPrio: c.Priority, RedirectStderr: c.RedirectStderr,
		StartRetries: c.StartRetries, StartSecs: c.StartSecs,
		StdoutCaptureMaxBytes: c.Stdout.CaptureMaxBytes, StdoutEventsEnabled: c.Stdout.EventsEnabled,
		StdoutLogfile: stdout, StdoutLogfileBackups: c.Stdout.Backups,
		StdoutLogfileMaxBytes: c.Stdout.MaxBytes, StdoutSyslog: c.Stdout.Syslog,
		StderrCaptureMaxBytes: c.Stderr.CaptureMaxBytes, StderrEventsEnabled: c.Stderr.EventsEnabled,
		StderrLogfile: stderr, StderrLogfileBackups: c.Stderr.Backups,
		StderrLogfileMaxBytes: c.Stderr.MaxBytes, StderrSyslog: c.Stderr.Syslog,
		StopSignal: int(c.StopSignal), StopWaitSecs: c.StopWaitSecs, ServerURL: orNone(c.ServerURL),
	}
	if c.User != nil {
		i.UID = c.User.UID
	}
	switch c.Autorestart {
	case config.RestartNever:
		i.Autorestart = false
	case config.RestartUnexpected:
		i.Autorestart = "unexpected"
	case config.RestartAlways:
		i.Autorestart = "auto"
	}
	return i
}

func orNone(s string) string {
	if s == "" {
		return none
	}
	return s
}

func logName(l config.Log) string {
	switch l.Kind {
	case config.LogAuto:
		return "auto"
	case config.LogFile:
		return l.Path
	case config.LogNone:
	}
	return none
}
