package rpc

import (
	"context"
	"io"
	"time"

	"github.com/toskose/toskose/unit"
	"github.com/toskose/toskose/unit/wire"
)

// Unit is the unit that a server serves: the sum of what its handlers need. An error
// to be reported to the client as a fault has a *wire.Fault in its chain.
type Unit interface {
	daemonUnit
	lifecycleUnit
	healthUnit
	groupUnit
	infoUnit
	startUnit
	stopUnit
	signalUnit
	ownLogUnit
	processLogUnit
	clearLogUnit
	tailUnit
	pageUnit
	mergeUnit
	executionUnit
	componentUnit
	documentUnit
}

// The handlers of each subject depend on one of these interfaces.
type (
	daemonUnit interface {
		Identification() string
		PID() int
		State() wire.DaemonState
	}
	lifecycleUnit interface {
		Shutdown() error
		Restart() error
		SendRemoteCommEvent(kind, data string) error
	}
	healthUnit interface {
		State() wire.DaemonState
		Healthy() error
		Ready() error
		Live() error
		WriteMetrics(w io.Writer) error
	}
	groupUnit interface {
		ReloadConfig(ctx context.Context) (unit.Differences, error)
		AddProcessGroup(ctx context.Context, name string) error
		RemoveProcessGroup(ctx context.Context, name string) error
	}
	infoUnit interface {
		ProcessInfo(ctx context.Context, name string) (wire.ProcessInfo, error)
		AllProcessInfo(ctx context.Context) ([]wire.ProcessInfo, error)
		AllConfigInfo() ([]wire.ConfigInfo, error)
		SendProcessStdin(ctx context.Context, name, chars string) error
	}
	startUnit interface {
		StartProcess(ctx context.Context, name string, wait bool) ([]wire.ProcessStatus, error)
		StartProcessGroup(ctx context.Context, name string, wait bool) ([]wire.ProcessStatus, error)
		StartAllProcesses(ctx context.Context, wait bool) ([]wire.ProcessStatus, error)
	}
	stopUnit interface {
		StopProcess(ctx context.Context, name string, wait bool) ([]wire.ProcessStatus, error)
		StopProcessGroup(ctx context.Context, name string, wait bool) ([]wire.ProcessStatus, error)
		StopAllProcesses(ctx context.Context, wait bool) ([]wire.ProcessStatus, error)
	}
	signalUnit interface {
		SignalProcess(ctx context.Context, name, signal string) ([]wire.ProcessStatus, error)
		SignalProcessGroup(ctx context.Context, name, signal string) ([]wire.ProcessStatus, error)
		SignalAllProcesses(ctx context.Context, signal string) ([]wire.ProcessStatus, error)
	}
	ownLogUnit interface {
		ReadLog(offset, length int64) (string, error)
		ClearLog() error
	}
	processLogUnit interface {
		ReadProcessLog(name string, stream wire.Stream, offset, length int64) (string, error)
		TailProcessLog(name string, stream wire.Stream, offset, length int64) (wire.LogTail, error)
	}
	clearLogUnit interface {
		ClearProcessLogs(name string) error
		ClearAllProcessLogs() ([]wire.ProcessStatus, error)
	}
	tailUnit interface {
		FollowLog() (unit.Follow, error)
		FollowProcessLog(name string, stream wire.Stream) (unit.Follow, error)
	}
	pageUnit interface {
		LogAfter(ctx context.Context, after string, wait time.Duration) (unit.LogPage, error)
		ProcessLogAfter(ctx context.Context, name string, stream wire.Stream, after string, wait time.Duration) (unit.LogPage, error)
	}
	mergeUnit interface {
		MergeLogs(r wire.LogsRequest) (*unit.LogMerger, error)
	}
	executionUnit interface {
		Execute(ctx context.Context, request wire.ExecuteRequest) (x wire.Execution, begun bool, err error)
		Execution(ctx context.Context, id string, wait time.Duration) (wire.Execution, error)
		Cancel(ctx context.Context, id string) (wire.Execution, error)
	}
	componentUnit interface {
		Components(processes bool) (wire.Snapshot, error)
		Identity() wire.Identity
		Journal(ctx context.Context, after string, wait time.Duration) (unit.JournalPage, error)
	}
	documentUnit interface {
		Document(name string) (wire.Document, error)
		PutDocument(name string, d wire.Document) (written bool, err error)
	}
)

// The handlers of XML-RPC methods.
type (
	daemonMethods struct {
		unit    daemonUnit
		version string
	}
	lifecycleMethods  struct{ unit lifecycleUnit }
	groupMethods      struct{ unit groupUnit }
	infoMethods       struct{ unit infoUnit }
	signalMethods     struct{ unit signalUnit }
	startMethods      struct{ unit startUnit }
	stopMethods       struct{ unit stopUnit }
	ownLogMethods     struct{ unit ownLogUnit }
	processLogMethods struct{ unit processLogUnit }
	clearLogMethods   struct{ unit clearLogUnit }
)

// The handlers of the other routes.
type (
	executionHandler struct {
		*server
		unit executionUnit
	}
	componentHandler struct {
		*server
		unit componentUnit
	}
	healthHandler struct {
		*server
		unit healthUnit
	}
	tailHandler struct {
		*server
		unit tailUnit
	}
	pageHandler struct {
		*server
		unit pageUnit
	}
	mergeHandler struct {
		*server
		unit mergeUnit
	}
	documentHandler struct {
		*server
		unit documentUnit
	}
)
