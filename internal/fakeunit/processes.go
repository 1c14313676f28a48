package fakeunit

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/toskose/toskose/spec/protocol"
	"github.com/toskose/toskose/unit"
	"github.com/toskose/toskose/unit/logs"
	"github.com/toskose/toskose/unit/wire"
)

// State reports that the unit is running.
func (u *Unit) State() wire.DaemonState { return wire.DaemonRunning }

// Healthy reports that the unit is healthy.
func (u *Unit) Healthy() error { return nil }

// knows reports whether a process belongs to an operation.
func (u *Unit) knows(process string) bool {
	component, op, _ := strings.Cut(process, ":")
	_, ok := u.Operations[component][op]
	return ok
}

// ProcessInfo returns the process information that Supervisor would return.
func (u *Unit) ProcessInfo(_ context.Context, process string) (wire.ProcessInfo, error) {
	if !u.knows(process) {
		return wire.ProcessInfo{}, wire.NewFault(wire.BadName, process)
	}
	component, op, _ := strings.Cut(process, ":")
	info := wire.ProcessInfo{
		Name: op, Group: component, Now: 1 << 32, State: wire.Exited, StateName: wire.Exited.String(), ExitStatus: 3,
	}
	if x, running := u.current(process); running {
		info.State, info.StateName, info.PID = wire.Running, wire.Running.String(), x.PID
	}
	return info, nil
}

// current returns the running execution of a process.
func (u *Unit) current(process string) (wire.Execution, bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, x := range u.executions {
		name := protocol.Operation{Interface: x.Interface, Name: x.Operation}.String()
		if !x.Outcome.Done() && x.Component+":"+name == process {
			return x, true
		}
	}
	return wire.Execution{}, false
}

// StopProcess cancels the execution of a process.
func (u *Unit) StopProcess(ctx context.Context, process string, _ bool) ([]wire.ProcessStatus, error) {
	if !u.knows(process) {
		return nil, wire.NewFault(wire.BadName, process)
	}
	x, running := u.current(process)
	if !running {
		return nil, wire.NewFault(wire.NotRunning, process)
	}
	_, err := u.Cancel(ctx, x.ID)
	return nil, err
}

// ReloadConfig returns the result that the test has set.
func (u *Unit) ReloadConfig(context.Context) (unit.Differences, error) { return u.Reload, u.ReloadErr }

// StopAllProcesses cancels all running executions.
func (u *Unit) StopAllProcesses(ctx context.Context, _ bool) ([]wire.ProcessStatus, error) {
	u.mu.Lock()
	ids := []string{}
	for _, id := range u.executing {
		ids = append(ids, id)
	}
	u.mu.Unlock()
	stopped := []wire.ProcessStatus{}
	for _, id := range ids {
		x, err := u.Cancel(ctx, id)
		if err != nil {
			return nil, err
		}
		stopped = append(stopped, wire.ProcessStatus{
			Name: x.Operation, Group: x.Component, Status: wire.Success, Description: "OK",
		})
	}
	return stopped, nil
}

// SignalProcess records the signal.
func (u *Unit) SignalProcess(_ context.Context, process, signal string) ([]wire.ProcessStatus, error) {
	if _, running := u.current(process); !running {
		return nil, wire.NewFault(wire.NotRunning, process)
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.signals = append(u.signals, process+" "+signal)
	return nil, nil
}

// ReadProcessLog reads from the test's log.
func (u *Unit) ReadProcessLog(process string, _ wire.Stream, offset, length int64) (string, error) {
	log, ok := u.Logs[process]
	if !ok {
		return "", wire.NewFault(wire.NoFile, process)
	}
	return cut(log, offset, length)
}

func cut(log string, offset, length int64) (string, error) {
	size := int64(len(log))
	if offset < 0 {
		if length != 0 {
			return "", wire.NewFault(wire.BadArguments, "")
		}
		return log[max(0, size+offset):], nil
	}
	log = log[min(offset, size):]
	if length > 0 {
		log = log[:min(length, int64(len(log)))]
	}
	return log, nil
}

// TailProcessLog reads the end of the test's log.
func (u *Unit) TailProcessLog(process string, _ wire.Stream, offset, length int64) (wire.LogTail, error) {
	log := u.Logs[process]
	size := int64(len(log))
	tail := wire.LogTail{Offset: size}
	if size > offset+length {
		tail.Overflow, offset = true, size-length
	}
	tail.Data = log[min(offset, size):]
	return tail, nil
}

// ProcessLogAfter supports only a request for the current end.
func (u *Unit) ProcessLogAfter(_ context.Context, process string, _ wire.Stream, _ string, _ time.Duration) (unit.LogPage, error) {
	return unit.LogPage{Next: fmt.Sprintf("aaaaaaaaaaaa.0.%d", len(u.Logs[process]))}, nil
}

// ClearProcessLogs empties the test's log.
func (u *Unit) ClearProcessLogs(process string) error {
	u.Logs[process] = ""
	return nil
}

// MergeLogs reads the test's log files.
func (u *Unit) MergeLogs(r wire.LogsRequest) (*unit.LogMerger, error) {
	if r.Instance != "" && r.Instance != u.Identity().Instance {
		return nil, &wire.Fault{Code: wire.OtherInstance, Detail: "this is " + u.Identity().Instance}
	}
	files, after := make([]*logs.File, len(r.Logs)), make([]string, len(r.Logs))
	for i, l := range r.Logs {
		files[i], after[i] = u.Files[l.Process+" "+string(l.Stream)], l.After
	}
	return logs.Merge(files, after, logs.Begin{Since: r.Since, Last: r.Last})
}

// ReadLog reads the unit's own log.
func (u *Unit) ReadLog(offset, length int64) (string, error) {
	if u.UnitLog == "" {
		return "", wire.NewFault(wire.NoFile, "")
	}
	return cut(u.UnitLog, offset, length)
}

// ClearLog empties the unit's own log.
func (u *Unit) ClearLog() error {
	if u.UnitLog == "" {
		return wire.NewFault(wire.NoFile, "")
	}
	u.UnitLog = ""
	return nil
}
