package config

import (
	"log/slog"
	"syscall"
	"time"

	"github.com/toskose/toskose/spec"
	"github.com/toskose/toskose/spec/protocol"
)

// Config is a complete configuration: every default filled in, every name expanded, every path
// absolute, every user looked up. The same files and environment yield the same Config, so
// reflect.DeepEqual detects the changes of a reload, apart from the digest.
type Config struct {
	File        string         // absolute path of the file that was read
	Digest      string         `json:"-"` // SHA-256 of its content, of the files that it includes and of the container's document, in hexadecimal
	Supervisord Supervisord    //
	Inet        []InetServer   // by section name
	Unix        []UnixServer   // by section name
	Groups      []Group        // by priority, then name
	Listeners   []Listener     // by priority, then name
	RPC         []RPCInterface // by name
	Components  []Component    // by name
}

// Program finds a process by its group and name.
func (c *Config) Program(group, name string) (*Program, bool) {
	for i := range c.Groups {
		if c.Groups[i].Name != group {
			continue
		}
		for j := range c.Groups[i].Programs {
			if c.Groups[i].Programs[j].Name == name {
				return &c.Groups[i].Programs[j], true
			}
		}
	}
	return nil, false
}

// Supervisord is the [supervisord] section.
type Supervisord struct {
	LogFile     string // empty: none; LogToSyslog
	LogMaxBytes int64  // 0: never rotated
	LogBackups  int
	LogLevel    LogLevel
	PIDFile     string
	Umask       int
	NoDaemon    bool
	Silent      bool
	MinFDs      int
	MinProcs    int
	NoCleanup   bool   // keep the AUTO logs of an earlier run
	ChildLogDir string // where AUTO logs go
	User        *User  // nil: the user who started the unit
	Directory   string // of a daemon, which the unit never is; it has to exist
	StripANSI   bool
	Environment map[string]string // already part of each Program's
	Identifier  string
	CoreMark    bool      // toskose_coredump_mark: processes are marked in their coredump_filter, too
	Journal     string    // toskose_journal: folder of the journal; empty: kept in memory
	Documents   string    // toskose_documents: folder of the documents that the unit keeps for the manager
	Output      Output    `json:",omitempty"` // toskose_output: already the default of each Program
	Job         *spec.Job `json:",omitempty"` // of the container's document, or toskose_job; nil: operations run on request
}

// LogToSyslog is the log file name that selects /dev/log.
const LogToSyslog = "syslog"

// LogLevel is a loglevel by Supervisor's names.
type LogLevel string

// The log levels of Supervisor, from the fewest messages to the most.
const (
	LevelCritical LogLevel = "critical"
	LevelError    LogLevel = "error"
	LevelWarn     LogLevel = "warn"
	LevelInfo     LogLevel = "info"
	LevelDebug    LogLevel = "debug"
	LevelTrace    LogLevel = "trace"
	LevelBlather  LogLevel = "blather"
)

var slogLevels = map[LogLevel]slog.Level{
	LevelCritical: slog.LevelError + 4,
	LevelError:    slog.LevelError,
	LevelWarn:     slog.LevelWarn,
	LevelInfo:     slog.LevelInfo,
	LevelDebug:    slog.LevelDebug,
	LevelTrace:    slog.LevelDebug - 4,
	LevelBlather:  slog.LevelDebug - 8,
}

// Slog returns the level on the scale of log/slog, which has four levels;
// critical, trace and blather lie beyond its ends.
func (l LogLevel) Slog() slog.Level { return slogLevels[l] }

// InetServer is an [inet_http_server] section.
type InetServer struct {
	Section      string
	Host         string // empty: every address
	Port         int
	Username     string // empty, with an empty password: no authentication
	Password     string // clear text or "{SHA}" and hexadecimal digits, as written
	AuthRequired bool   // toskose_auth=required: refuse to serve without a password
	TLS          *TLS   `json:",omitempty"` // nil: plain HTTP
}

// UnixServer is a [unix_http_server] section.
type UnixServer struct {
	Section      string
	File         string
	Mode         uint32 // permission bits of the socket
	Owner        *User  // nil: the user of [supervisord]; its GID is the group after the colon, if one was given
	Username     string
	Password     string
	AuthRequired bool
}

// RPCInterface is a [rpcinterface:x] section. It is accepted, but never loaded:
// Supervisor's own interface is built in.
type RPCInterface struct {
	Name    string
	Factory string
}

// Group is a [group:x] section, or the implicit group of a [program:x].
type Group struct {
	Name     string
	Priority int
	Programs []Program // by priority, then name
}

// Listener is an [eventlistener:x] section: a group of processes that get events.
type Listener struct {
	Group
	Events        []string // sorted, upper case
	BufferSize    int
	ResultHandler string
}

// Component is a component of the application in this container. A component
// without a [toskose:component:x] section has no protocol: its states are unknown,
// and every operation is allowed.
type Component struct {
	Name     string
	Protocol *protocol.Protocol // nil: states unknown, everything allowed
	Files    string             // a digest of its files, which other files make another configuration by
}

// Autorestart determines whether a process that exits while RUNNING is restarted.
type Autorestart string

// The values of autorestart.
const (
	RestartNever      Autorestart = "false"
	RestartUnexpected Autorestart = "unexpected" // if the exit code is not in ExitCodes
	RestartAlways     Autorestart = "true"
)

// Program is one process: a [program:x] with numprocs=3 defines three of them.
type Program struct {
	Name    string // process name, unique in its group
	Group   string
	Section string // the x of [program:x]
	Number  int    // process_num

	Command   string   // as configured, expanded
	Argv      []string // its shell words, at least one
	Directory string   // empty: the unit's own
	Umask     int      // -1: the unit's own
	User      *User    // nil: the unit's own
	Socket    *Socket  `json:",omitempty"` // its standard input, of an [fcgi-program:x]
	ServerURL string   // empty: AUTO

	// Environment combines the environments of [supervisord] and of the program, which takes
	// precedence. It does not include what the unit itself inherited.
	Environment map[string]string

	Priority     int
	Autostart    bool
	Autorestart  Autorestart
	ExitCodes    []int // ascending
	StartSecs    int   // seconds
	StartRetries int
	StopSignal   syscall.Signal
	StopWaitSecs int // seconds
	StopAsGroup  bool
	KillAsGroup  bool

	RedirectStderr bool
	Stdout, Stderr Log

	// The following are Toskose's; the package documentation has the keys.

	Component    string             // empty: none
	Operation    protocol.Operation `json:",omitzero"` // zero: an ordinary program
	Kind         protocol.Kind      // how the operation's success is judged
	Inputs       map[string]string  // declared inputs, without INPUT_
	SecretInputs map[string]string  // the same, with the file that has the value
	SecretEnv    map[string]string  `json:",omitempty"` // other variables, with the file that has the value
	Timeout      time.Duration      // of one run; 0: any time
	Ready        *Ready             `json:",omitempty"` // nil: ready when startsecs have passed
	Live         *Live              `json:",omitempty"` // nil: not checked while it runs
	Essential    bool               `json:",omitempty"` // the container exits when it does
	After        []string           `json:",omitempty"` // full names of the processes that it starts after, Requires among them
	AfterExit    []string           `json:",omitempty"` // of these, the ones that must have exited, not be RUNNING
	Requires     []string           `json:",omitempty"` // of After, the ones that it is started and stopped with
	Output       Output             `json:",omitempty"` // its copy in the container's output
}

// FullName is GROUP:NAME.
func (p *Program) FullName() string { return p.Group + ":" + p.Name }

// OneShot reports whether the program is expected to exit, so that programs ordered after it wait
// for its exit.
func (p *Program) OneShot() bool {
	return p.Autorestart == RestartNever && p.StartSecs == 0 && p.Ready == nil
}

// LogKind is the destination of an output stream.
type LogKind int

// The kinds of logs.
const (
	LogAuto LogKind = iota // a separate file in childlogdir, named when the unit starts
	LogNone                // nowhere
	LogFile                // to Path
)

// Log is the log of an output stream of a process.
type Log struct {
	Kind     LogKind
	Path     string // of LogFile; /dev/stdout and /dev/stderr are the unit's own
	MaxBytes int64  // 0: never rotated
	Backups  int    // 0: truncated instead

	CaptureMaxBytes int64 // limit of output captured for listeners; 0: none
	EventsEnabled   bool  // PROCESS_LOG events
	Syslog          bool  // a copy to /dev/log, where that exists
}

// User is the user that a process runs as, with its groups, according to /etc/passwd and
// /etc/group.
type User struct {
	Name   string // empty: a number that /etc/passwd does not have
	UID    int
	GID    int   // 0 if /etc/passwd does not have the number, as container engines do
	Groups []int // supplementary groups, ascending
}
