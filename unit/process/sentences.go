package process

import (
	"fmt"
	"io"
	"slices"

	"github.com/toskose/toskose/unit/logs"
	"github.com/toskose/toskose/unit/reaper"
	"github.com/toskose/toskose/unit/wire"
)

// logTransition logs a state change in Supervisor's words, which scripts rely on.
func (p *owner) logTransition(from, to wire.ProcessState) {
	log, text := p.table.log.Info, "process"
	exit := p.status.Exit
	expected := exit != nil && slices.Contains(p.Settings().ExitCodes, supervisorStatus(*exit))
	unexpected := func() {
		if !expected {
			log = p.table.log.Warn
		}
	}
	switch {
	case to == wire.Running:
		text = fmt.Sprintf("success: %s entered RUNNING state, process has stayed up for > than %d seconds (startsecs)",
			p.cfg.Name, p.Settings().StartSecs)
	case to == wire.Fatal && from == wire.Backoff:
		text = fmt.Sprintf("gave up: %s entered FATAL state, too many start retries too quickly", p.cfg.Name)
	case exit == nil:
	case to == wire.Stopped && from == wire.Stopping:
		unexpected()
		text = fmt.Sprintf("stopped: %s (%s)", p.cfg.Name, exitDescription(*exit))
	case to == wire.Exited && expected:
		text = fmt.Sprintf("exited: %s (%s; expected)", p.cfg.Name, exitDescription(*exit))
	case to == wire.Exited, to == wire.Backoff:
		unexpected()
		text = fmt.Sprintf("exited: %s (%s; not expected)", p.cfg.Name, exitDescription(*exit))
	}
	log(text, "component", p.cfg.Group, "operation", p.cfg.Name, "state", to.String())
}

// exitDescription describes an exit in Supervisor's words.
func exitDescription(exit Exit) string {
	if !exit.Signalled() {
		return fmt.Sprintf("exit status %d", exit.Code)
	}
	text := "terminated by " + reaper.SignalName(exit.Signal)
	if exit.Core {
		text += " (core dumped)"
	}
	return text
}

// withDebug also copies a log to the unit's own log at debug level.
func (p *owner) withDebug(to io.Writer, stream wire.Stream) io.Writer {
	if !p.table.opts.Debug {
		return to
	}
	return debugWriter{to, p, stream}
}

type debugWriter struct {
	to     io.Writer
	p      *owner
	stream wire.Stream
}

func (w debugWriter) Write(data []byte) (int, error) {
	n, err := w.to.Write(data)
	w.p.table.log.Debug(fmt.Sprintf("'%s' %s output:\n%s", w.p.cfg.Name, w.stream, data))
	return n, err
}

// syslog returns the connection shared by the program's streams.
func (p *owner) syslog() *logs.Syslog {
	if p.toSyslog == nil {
		p.toSyslog = logs.NewSyslog(logs.SyslogSocket, p.cfg.Name+" ", p.table.opts.Now)
	}
	return p.toSyslog
}

// withSyslog also copies a log to syslog.
func withSyslog(log io.Writer, to *logs.Syslog) io.Writer { return syslogWriter{log, to} }

type syslogWriter struct {
	log io.Writer
	to  *logs.Syslog
}

func (w syslogWriter) Write(p []byte) (int, error) {
	_, _ = w.to.Write(p)
	return w.log.Write(p)
}
