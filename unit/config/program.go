package config

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// maxProcs limits numprocs, so that a typo does not exhaust the memory.
const maxProcs = 10000

// programs returns the processes of a [program:x] or [eventlistener:x] section. If
// no [group:x] has the program, group is empty: then the group is named after the
// component or the program. The caller reads the accepted keys.
func (p *parser) programs(sec *section, name, group string, accepted ...string) []Program {
	s := p.scope(sec)
	s.accept(accepted...)
	if why := checkName(name); why != "" {
		s.problem("", "has a name that %s", why)
	}
	count := s.number("numprocs", 1, 0, maxProcs)
	first := s.number("numprocs_start", 0, 0, maxCount)
	names := s.names
	base := map[string]any{"program_name": name, "group_name": cmp.Or(group, p.implicitGroup(sec, name)), "numprocs": count}
	var list []Program
	for number := first; number < first+count; number++ {
		s.names = maps.Clone(names)
		maps.Copy(s.names, base)
		s.names["process_num"] = number
		program := Program{Section: name, Group: base["group_name"].(string), Number: number}
		s.program(&program)
		if strings.HasPrefix(sec.name, fcgiPrefix) {
			program.Socket = s.socket(program.User)
		}
		s.toskose(&program, group != "", count)
		list = append(list, program)
	}
	if v, ok := s.written("process_name"); count > 1 && (!ok || !strings.Contains(v.text, "%(process_num)")) {
		s.problem("process_name", "numprocs is %d, so process_name must have %%(process_num)s in it", count)
	}
	if count > 0 {
		s.finish()
	}
	return list
}

// implicitGroup returns the group of a program that is in no [group:x].
func (p *parser) implicitGroup(sec *section, name string) string {
	if _, ok := sec.keys["toskose_component"]; ok {
		s := p.scope(sec)
		s.names["program_name"] = name
		return s.textOr("toskose_component", name)
	}
	return name
}

// program reads Supervisor's keys.
func (s *scope) program(p *Program) {
	// All other keys can refer to its environment.
	s.env = nil
	s.env = s.environment("environment")
	p.Environment = maps.Clone(s.config.Supervisord.Environment)
	if p.Environment == nil {
		p.Environment = map[string]string{}
	}
	maps.Copy(p.Environment, s.env)

	p.Name = strings.TrimSpace(s.textOr("process_name", p.Section))
	if why := checkName(p.Name); why != "" && checkName(p.Section) == "" {
		s.problem("process_name", "process_name %s", why)
	}
	s.command(p)
	if text, ok := s.text("directory"); ok && text != "" {
		p.Directory = s.absolute(text)
	}
	p.Umask = s.octal("umask", -1)
	p.User = s.user("user")
	if text := strings.TrimSpace(s.textOr("serverurl", "AUTO")); !strings.EqualFold(text, "AUTO") {
		p.ServerURL = text
	}
	p.Priority = s.number("priority", 999, -maxCount, maxCount)
	p.Autostart = s.boolean("autostart", true)
	p.Autorestart = s.autorestart()
	p.StartSecs = s.number("startsecs", 1, 0, maxCount)
	p.StartRetries = s.number("startretries", 3, -maxCount, maxCount)
	if p.StartRetries < 0 {
		s.warn("startretries", "startretries=%d means the same as 0: the first failed start is the last", p.StartRetries)
	}
	p.ExitCodes = s.exitCodes()
	p.StopSignal = s.signal("stopsignal", syscall.SIGTERM)
	p.StopWaitSecs = s.number("stopwaitsecs", 10, 0, maxCount)
	p.StopAsGroup = s.boolean("stopasgroup", false)
	p.KillAsGroup = s.boolean("killasgroup", p.StopAsGroup)
	if p.StopAsGroup && !p.KillAsGroup {
		s.problem("killasgroup", "killasgroup=false cannot be combined with stopasgroup=true")
	}
	p.RedirectStderr = s.boolean("redirect_stderr", false)
	p.Stdout, p.Stderr = s.log("stdout"), s.log("stderr")
	if p.RedirectStderr {
		if p.Stderr.Kind == LogFile {
			s.warn("stderr_logfile", "stderr_logfile is ignored, because redirect_stderr is true")
		}
		p.Stderr.Kind, p.Stderr.Path = LogNone, ""
	}
}

func (s *scope) command(p *Program) {
	text, ok := s.text("command")
	if !ok {
		if _, set := s.written("command"); !set {
			s.problem("command", "lacks command")
		}
		return
	}
	argv, err := words(text)
	switch {
	case err != nil:
		s.problem("command", "command %s", err)
	case len(argv) == 0 || argv[0] == "":
		s.problem("command", "command is empty")
	}
	p.Command, p.Argv = text, argv
}

func (s *scope) autorestart() Autorestart {
	text, ok := s.text("autorestart")
	if !ok || strings.EqualFold(text, string(RestartUnexpected)) {
		return RestartUnexpected
	}
	set, ok := booleans[strings.ToLower(text)]
	switch {
	case !ok:
		s.wrong("autorestart", "true, false or unexpected")
		return RestartUnexpected
	case set:
		return RestartAlways
	}
	return RestartNever
}

func (s *scope) exitCodes() []int {
	if _, ok := s.written("exitcodes"); !ok {
		return []int{0}
	}
	var codes []int
	for _, text := range s.list("exitcodes") {
		code, err := strconv.Atoi(text)
		if err != nil || code < 0 || code > 255 {
			s.wrong("exitcodes", "a list of numbers from 0 to 255")
			return []int{0}
		}
		codes = append(codes, code)
	}
	slices.Sort(codes)
	return slices.Compact(codes)
}

// log reads the keys of one stream.
func (s *scope) log(stream string) Log {
	l := Log{
		MaxBytes:        s.size(stream+"_logfile_maxbytes", defaultLogBytes),
		Backups:         s.number(stream+"_logfile_backups", 10, 0, maxCount),
		CaptureMaxBytes: s.size(stream+"_capture_maxbytes", 0),
		EventsEnabled:   s.boolean(stream+"_events_enabled", false),
		Syslog:          s.boolean(stream+"_syslog", false),
	}
	key := stream + "_logfile"
	text := s.textOr(key, "AUTO")
	switch strings.ToLower(text) {
	case "auto":
		if l.MaxBytes == 0 {
			s.warn(stream+"_logfile_maxbytes", "%s is AUTO and is never rotated; it may fill the disk", key)
		}
	case "none", "off", "":
		l.Kind = LogNone
	case "syslog":
		l.Kind, l.Syslog = LogNone, true
	default:
		l.Kind, l.Path = LogFile, s.path(text)
	}
	return l
}
