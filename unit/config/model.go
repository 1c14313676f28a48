package config

import (
	"log/slog"
	"syscall"
	"time"

	"github.com/toskose/toskose/unit/wire"
)

// Config is a configuration that has been read: every default filled in, every
// name expanded, every path absolute, every user looked up. The same files and
// environment give the same Config, so two of them can be compared with
// reflect.DeepEqual to find what a reload changes.
type Config struct {
	File        string         // absolute path of the file that was read
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
	LogFile     string // empty: none
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
	User        *User  // nil: whoever started the unit
	Directory   string // empty: where the unit was started
	StripANSI   bool
	Environment map[string]string // already part of each Program's
	Identifier  string
	Journal     string // toskose_journal: folder of the journal; empty: kept in memory
	Output      Output `json:",omitempty"` // toskose_output: already that of each Program without its own
}

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

// Slog gives the level in the steps of log/slog, which has four of them;
// critical, trace and blather lie one step outside its scale each.
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
	Owner        *User  // nil: the unit's own; its GID is the group after the colon, if one was given
	Username     string
	Password     string
	AuthRequired bool
}

// RPCInterface is a [rpcinterface:x] section. It is accepted, never loaded:
// what Supervisor's own one offers is built in.
type RPCInterface struct {
	Name    string
	Factory string
}

// Group is a [group:x] section, or the group that a [program:x] makes of its
// own processes.
type Group struct {
	Name     string
	Priority int
	Programs []Program // by priority, then name
}

// Listener is an [eventlistener:x] section: a group of processes that are told
// of events.
type Listener struct {
	Group
	Events        []string // sorted, upper case
	BufferSize    int
	ResultHandler string
}

// Component is a component of the application that lives in this container.
// Those that a program names without a [toskose:component:x] section have no
// protocol: their states are unknown, and every operation is allowed.
type Component struct {
	Name     string
	Protocol *wire.Protocol // nil: states unknown, everything allowed
}

// Autorestart says what becomes of a process that exits while it was running.
type Autorestart string

// The values of autorestart.
const (
	RestartNever      Autorestart = "false"
	RestartUnexpected Autorestart = "unexpected" // where the exit code is not in ExitCodes
	RestartAlways     Autorestart = "true"
)

// Program is one process: a [program:x] with numprocs=3 makes three of them.
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
	ServerURL string   // empty: AUTO

	// Environment is that of [supervisord] and the program's own; the latter
	// wins. It does not include what the unit itself inherited.
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

	// What follows is Toskose's; the package documentation has the keys.

	Component    string             // empty: belongs to none
	Interface    string             // of its operation
	Operation    string             // the bare name; empty: an ordinary program
	Kind         wire.OperationKind // how the operation's success is judged
	Inputs       map[string]string  // declared inputs, without INPUT_
	SecretInputs map[string]string  // the same, with the file that has the value
	SecretEnv    map[string]string  `json:",omitempty"` // other variables, with the file that has the value
	Timeout      time.Duration      // of one run; 0: any time
	Ready        *Ready             `json:",omitempty"` // nil: it is ready when startsecs have passed
	Essential    bool               `json:",omitempty"` // the container ends with it
	Output       Output             `json:",omitempty"` // its copy in the container's output
}

// Qualified gives the program's operation as "interface.operation", or
// nothing where the program is none.
func (p *Program) Qualified() string {
	if p.Operation == "" {
		return ""
	}
	return p.Interface + "." + p.Operation
}

// LogKind says where a stream of a process goes.
type LogKind int

// The kinds of logs.
const (
	LogAuto LogKind = iota // a file of its own in childlogdir, named when the unit starts
	LogNone                // nowhere
	LogFile                // to Path
)

// Log is where one output stream of a process goes.
type Log struct {
	Kind     LogKind
	Path     string // of LogFile; /dev/stdout and /dev/stderr are the unit's own
	MaxBytes int64  // 0: never rotated
	Backups  int    // 0: truncated instead

	CaptureMaxBytes int64 // accepted; capture mode is not offered
	EventsEnabled   bool  // PROCESS_LOG events
	Syslog          bool  // accepted; there is no syslog in a container
}

// User is who a process runs as, as /etc/passwd and /etc/group have it.
type User struct {
	Name   string // empty: a number that /etc/passwd does not know
	UID    int
	GID    int   // 0 where /etc/passwd does not know the number, as container engines do
	Groups []int // supplementary groups, ascending
}
