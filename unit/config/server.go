package config

import (
	"strings"

	"github.com/toskose/toskose/spec"
	"github.com/toskose/toskose/unit/wire"
)

const (
	defaultLogBytes = 50 << 20
	maxCount        = 1 << 30
)

func (p *parser) supervisord(sec *section) {
	p.override(sec)
	s := p.scope(sec)
	d := &p.config.Supervisord
	*d = Supervisord{
		LogMaxBytes: s.size("logfile_maxbytes", defaultLogBytes),
		LogBackups:  s.number("logfile_backups", 10, 0, maxCount),
		Umask:       s.octal("umask", 0o22),
		NoDaemon:    s.boolean("nodaemon", false),
		Silent:      s.boolean("silent", false),
		MinFDs:      s.number("minfds", 1024, 0, maxCount),
		MinProcs:    s.number("minprocs", 200, 0, maxCount),
		NoCleanup:   s.boolean("nocleanup", false),
		ChildLogDir: s.path(s.textOr("childlogdir", p.tempDir())),
		User:        s.user("user"),
		StripANSI:   s.boolean("strip_ansi", false),
		CoreMark:    s.boolean("toskose_coredump_mark", true),
		Identifier:  s.textOr("identifier", "supervisor"),
	}
	d.LogFile = s.ownLog("logfile", "supervisord.log")
	d.PIDFile = s.path(s.textOr("pidfile", "supervisord.pid"))
	if text, ok := s.text("directory"); ok {
		d.Directory = s.path(text)
	}
	d.Output = s.output(OutputNone)
	d.LogLevel = LogLevel(strings.ToLower(s.textOr("loglevel", string(LevelInfo))))
	if _, ok := slogLevels[d.LogLevel]; !ok {
		s.wrong("loglevel", "critical, error, warn, info, debug, trace or blather")
	}
	if text, ok := s.text("toskose_journal"); ok && text != "" {
		d.Journal = s.path(text)
	}
	d.Documents = s.path(s.textOr("toskose_documents", "/toskose/documents"))
	if text, ok := s.text("toskose_job"); ok {
		var job spec.Job
		if s.json("toskose_job", text, &job) {
			d.Job = &job
		}
		if job.Completions < 1 || job.Completions > wire.MaxIndexes {
			s.problem("toskose_job", "toskose_job has completions %d, and not 1 to %d", job.Completions, wire.MaxIndexes)
		}
	}
	if p.container.Job != nil {
		d.Job = p.container.Job
	}
	d.Environment = s.environment("environment")
	s.finish()
	for key, text := range d.Environment {
		p.env[key] = text
	}
}

// commandLine is the file name of overridden values in messages.
const commandLine = "command line"

// override sets the values of [supervisord] given on the command line.
func (p *parser) override(sec *section) {
	for key, text := range p.o.Overrides {
		sec.keys[key] = &value{text: strings.ReplaceAll(text, "%", "%%"), file: commandLine, lines: []int{0}, here: p.o.Dir}
	}
	p.report.files = append([]string{commandLine}, p.report.files...)
}

func (p *parser) tempDir() string {
	for _, key := range []string{"TMPDIR", "TEMP", "TMP"} {
		if dir := p.env[key]; dir != "" {
			return dir
		}
	}
	return "/tmp"
}

// ownLog returns Supervisord.LogFile.
func (s *scope) ownLog(key, fallback string) string {
	text := s.textOr(key, fallback)
	switch strings.ToLower(text) {
	case "none", "off", "":
		return ""
	case "syslog":
		return LogToSyslog
	}
	return s.path(text)
}

func (p *parser) inetServer(sec *section) {
	s := p.scope(sec)
	server := InetServer{Section: sec.name}
	server.Username, server.Password, server.AuthRequired = s.credentials()
	server.TLS = s.tls()
	if address, ok := s.text("port"); ok {
		server.Host, server.Port = s.address(address)
	} else if _, set := s.written("port"); !set {
		s.problem("port", "lacks port")
	}
	s.finish()
	p.config.Inet = append(p.config.Inet, server)
}

// address reads HOST:PORT, where HOST may be `*` or empty, or PORT alone.
func (s *scope) address(text string) (host string, port int) {
	host, number := "", strings.TrimSpace(text)
	if i := strings.LastIndexByte(number, ':'); i >= 0 {
		host, number = strings.ToLower(number[:i]), number[i+1:]
	}
	if host == "*" {
		host = ""
	}
	if strings.HasPrefix(host, "[") && strings.HasSuffix(host, "]") {
		host = host[1 : len(host)-1] // an IPv6 address
	}
	port, ok := portNumber(number)
	if !ok {
		s.wrong("port", "HOST:PORT with a port from 1 to 65535")
	}
	return host, port
}

func portNumber(text string) (int, bool) {
	port := 0
	for _, c := range text {
		if c < '0' || c > '9' || port > 65535 {
			return 0, false
		}
		port = port*10 + int(c-'0')
	}
	return port, 1 <= port && port <= 65535
}

// credentials reads the user name and password of clients. With toskose_auth=required, either may
// be missing: the environment then sets it.
func (s *scope) credentials() (username, password string, required bool) {
	if text, ok := s.text("toskose_auth"); ok {
		required = text == "required"
		if !required {
			s.problem("toskose_auth", "toskose_auth can only be set to required")
		}
	}
	_, hasUser := s.written("username")
	_, hasPassword := s.written("password")
	if hasUser != hasPassword && !required {
		s.problem("username", "has only one of username and password; set both, or toskose_auth=required and the other in the environment")
	}
	return s.textOr("username", ""), s.textOr("password", ""), required
}

func (p *parser) unixServer(sec *section) {
	s := p.scope(sec)
	server := UnixServer{Section: sec.name, Mode: uint32(s.octal("chmod", 0o700)), Owner: s.user("chown")}
	server.Username, server.Password, server.AuthRequired = s.credentials()
	if file, ok := s.text("file"); ok && file != "" {
		server.File = s.path(file)
	} else if v, set := s.written("file"); !set || v.text == "" {
		s.problem("file", "lacks file")
	}
	s.finish()
	p.config.Unix = append(p.config.Unix, server)
}

const builtinRPC = "supervisor.rpcinterface:make_main_rpcinterface"

func (p *parser) rpcInterface(sec *section, name string) {
	s := p.scope(sec)
	factory, ok := s.text("supervisor.rpcinterface_factory")
	if _, set := s.written("supervisor.rpcinterface_factory"); !set {
		s.problem("", "lacks supervisor.rpcinterface_factory")
	} else if ok && factory != builtinRPC {
		s.warn("supervisor.rpcinterface_factory", "%s is a Python module, which is not loaded: calls of %s.* are faults UNKNOWN_METHOD", factory, name)
	}
	// All other keys are arguments of the factory.
	p.config.RPC = append(p.config.RPC, RPCInterface{Name: name, Factory: factory})
}
