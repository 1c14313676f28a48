package rpc

import (
	"context"
	"io"
	"time"

	"github.com/toskose/toskose/unit"
	"github.com/toskose/toskose/unit/wire"
)

// Unit is what the server speaks for, by the nouns of its methods. An error
// that a client should see as a fault has a *wire.Fault in its chain.
type Unit interface {
	Daemon
	MainLog
	Lifecycle
	Communicator
	Processes
	Groups
	Starter
	Stopper
	Signaller
	ProcessLogs
	LogCleaner
	Executions
	Journal
	Measured
}

// Daemon is the unit itself.
type Daemon interface {
	Identification() string
	PID() int
	State() wire.DaemonState
	Healthy() error
}

// MainLog is the unit's own log.
type MainLog interface {
	ReadLog(offset, length int64) (string, error)
	ClearLog() error
	FollowLog() (unit.Follow, error)
	LogAfter(ctx context.Context, after string, wait time.Duration) (unit.LogPage, error)
}

// Lifecycle ends the unit, or begins it anew.
type Lifecycle interface {
	Shutdown() error
	Restart() error
}

// Communicator passes on what clients tell the event listeners.
type Communicator interface {
	SendRemoteCommEvent(kind, data string) error
}

// Processes are the configured programs and what they are doing.
type Processes interface {
	ProcessInfo(ctx context.Context, name string) (wire.ProcessInfo, error)
	AllProcessInfo(ctx context.Context) ([]wire.ProcessInfo, error)
	AllConfigInfo() ([]wire.ConfigInfo, error)
	SendProcessStdin(ctx context.Context, name, chars string) error
}

// Groups brings what the configuration has into use.
type Groups interface {
	ReloadConfig(ctx context.Context) (unit.Reloaded, error)
	AddProcessGroup(ctx context.Context, name string) error
	RemoveProcessGroup(ctx context.Context, name string) error
}

// Starter starts processes.
type Starter interface {
	StartProcess(ctx context.Context, name string, wait bool) ([]wire.ProcessStatus, error)
	StartProcessGroup(ctx context.Context, name string, wait bool) ([]wire.ProcessStatus, error)
	StartAllProcesses(ctx context.Context, wait bool) ([]wire.ProcessStatus, error)
}

// Stopper stops processes.
type Stopper interface {
	StopProcess(ctx context.Context, name string, wait bool) ([]wire.ProcessStatus, error)
	StopProcessGroup(ctx context.Context, name string, wait bool) ([]wire.ProcessStatus, error)
	StopAllProcesses(ctx context.Context, wait bool) ([]wire.ProcessStatus, error)
}

// Signaller signals processes.
type Signaller interface {
	SignalProcess(ctx context.Context, name, signal string) ([]wire.ProcessStatus, error)
	SignalProcessGroup(ctx context.Context, name, signal string) ([]wire.ProcessStatus, error)
	SignalAllProcesses(ctx context.Context, signal string) ([]wire.ProcessStatus, error)
}

// ProcessLogs reads what processes wrote.
type ProcessLogs interface {
	ReadProcessLog(name string, stream wire.Stream, offset, length int64) (string, error)
	TailProcessLog(name string, stream wire.Stream, offset, length int64) (wire.LogTail, error)
	FollowProcessLog(name string, stream wire.Stream) (unit.Follow, error)
	ProcessLogAfter(ctx context.Context, name string, stream wire.Stream, after string, wait time.Duration) (unit.LogPage, error)
}

// LogCleaner empties what processes wrote.
type LogCleaner interface {
	ClearProcessLogs(name string) error
	ClearAllProcessLogs() ([]wire.ProcessStatus, error)
}

// Executions are the runs of operations, and what became of the components.
type Executions interface {
	Execute(ctx context.Context, request wire.ExecuteRequest) (wire.Execution, error)
	Execution(id string) (wire.Execution, error)
	Cancel(ctx context.Context, id string) (wire.Execution, error)
	Components(ctx context.Context) (wire.Snapshot, error)
}

// Measured tells how the unit and its programs are doing, in numbers.
type Measured interface {
	WriteMetrics(w io.Writer) error
}

// Journal is what happened, in order.
type Journal interface {
	Journal(ctx context.Context, after string, wait time.Duration) (unit.JournalPage, error)
}
