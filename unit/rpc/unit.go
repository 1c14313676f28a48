package rpc

import (
	"context"
	"io"
	"time"

	"github.com/toskose/toskose/unit"
	"github.com/toskose/toskose/unit/wire"
)

// Unit is what the server speaks for; *unit.Unit is it. An error that a client
// should see as a fault has a *wire.Fault in its chain.
type Unit interface {
	// The unit itself.
	Identification() string
	PID() int
	State() wire.DaemonState
	Healthy() error
	Ready() error
	Shutdown() error
	Restart() error
	SendRemoteCommEvent(kind, data string) error
	WriteMetrics(w io.Writer) error

	// Its own log.
	ReadLog(offset, length int64) (string, error)
	ClearLog() error
	FollowLog() (unit.Follow, error)
	LogAfter(ctx context.Context, after string, wait time.Duration) (unit.LogPage, error)

	// Processes, and the groups that the configuration puts them in.
	ProcessInfo(ctx context.Context, name string) (wire.ProcessInfo, error)
	AllProcessInfo(ctx context.Context) ([]wire.ProcessInfo, error)
	AllConfigInfo() ([]wire.ConfigInfo, error)
	SendProcessStdin(ctx context.Context, name, chars string) error
	ReloadConfig(ctx context.Context) (unit.Differences, error)
	AddProcessGroup(ctx context.Context, name string) error
	RemoveProcessGroup(ctx context.Context, name string) error

	// Starting, stopping and signalling them: one, a group, all.
	StartProcess(ctx context.Context, name string, wait bool) ([]wire.ProcessStatus, error)
	StartProcessGroup(ctx context.Context, name string, wait bool) ([]wire.ProcessStatus, error)
	StartAllProcesses(ctx context.Context, wait bool) ([]wire.ProcessStatus, error)
	StopProcess(ctx context.Context, name string, wait bool) ([]wire.ProcessStatus, error)
	StopProcessGroup(ctx context.Context, name string, wait bool) ([]wire.ProcessStatus, error)
	StopAllProcesses(ctx context.Context, wait bool) ([]wire.ProcessStatus, error)
	SignalProcess(ctx context.Context, name, signal string) ([]wire.ProcessStatus, error)
	SignalProcessGroup(ctx context.Context, name, signal string) ([]wire.ProcessStatus, error)
	SignalAllProcesses(ctx context.Context, signal string) ([]wire.ProcessStatus, error)

	// Their logs.
	ReadProcessLog(name string, stream wire.Stream, offset, length int64) (string, error)
	TailProcessLog(name string, stream wire.Stream, offset, length int64) (wire.LogTail, error)
	FollowProcessLog(name string, stream wire.Stream) (unit.Follow, error)
	ProcessLogAfter(ctx context.Context, name string, stream wire.Stream, after string, wait time.Duration) (unit.LogPage, error)
	MergeLogs(r wire.LogsRequest) (*unit.LogMerger, error)
	ClearProcessLogs(name string) error
	ClearAllProcessLogs() ([]wire.ProcessStatus, error)

	// Components: what is done to them, where they stand, what happened.
	Execute(ctx context.Context, request wire.ExecuteRequest) (x wire.Execution, begun bool, err error)
	Execution(ctx context.Context, id string, wait time.Duration) (wire.Execution, error)
	Cancel(ctx context.Context, id string) (wire.Execution, error)
	Components(processes bool) (wire.Snapshot, error)
	Identity() wire.Identity
	Document(name string) (wire.Document, error)
	PutDocument(name string, d wire.Document) (written bool, err error)
	Journal(ctx context.Context, after string, wait time.Duration) (unit.JournalPage, error)
}
