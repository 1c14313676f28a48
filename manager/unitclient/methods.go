package unitclient

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"
	"unicode"

	"github.com/toskose/toskose/unit/wire"
)

// Components asks for the states of all components, and for the instance.
func (c *Client) Components(ctx context.Context) (wire.Snapshot, error) {
	var x snapshotX
	if err := c.call(ctx, c.pool.limits.Call, repeatable, "toskose.getComponents", &x); err != nil {
		return wire.Snapshot{}, err
	}
	return x.wire()
}

// Execute begins an operation and gives it as it has begun. It may be called
// again with the same request: the same id is the same execution.
func (c *Client) Execute(ctx context.Context, r wire.ExecuteRequest) (wire.Execution, error) {
	// The encoder does not escape the names of members, so none may need it.
	for _, name := range slices.Sorted(maps.Keys(r.Inputs)) {
		if !IsInputName(name) {
			return wire.Execution{}, wire.NewFault(wire.UndeclaredInput, fmt.Sprintf("%q is no name of an input", name))
		}
	}
	return c.execution(ctx, c.pool.limits.Call, "toskose.execute", requestX{
		ID: r.ID, Component: r.Component, Operation: r.Operation, By: r.By, Timeout: r.Timeout,
		Inputs: r.Inputs, Instance: r.Instance, After: int64(r.After),
	})
}

// IsInputName tells whether s can be the name of an input: letters, digits,
// `_`, `-` and `.` only.
func IsInputName(s string) bool {
	for _, r := range s {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && r != '-' && r != '.' {
			return false
		}
	}
	return s != ""
}

// Execution gives an execution by its id; fault NoExecution.
func (c *Client) Execution(ctx context.Context, id string) (wire.Execution, error) {
	return c.execution(ctx, c.pool.limits.Call, "toskose.getExecution", id)
}

// Cancel ends an execution and all its processes, and gives it as it ended.
func (c *Client) Cancel(ctx context.Context, id string) (wire.Execution, error) {
	return c.execution(ctx, c.pool.limits.Stop, "toskose.cancel", id)
}

func (c *Client) execution(ctx context.Context, limit time.Duration, method string, arg any) (wire.Execution, error) {
	var x executionX
	if err := c.call(ctx, limit, repeatable, method, &x, arg); err != nil {
		return wire.Execution{}, err
	}
	e, err := x.wire()
	if err != nil {
		return wire.Execution{}, fmt.Errorf("%s: %w", method, err)
	}
	return e, nil
}

// ProcessInfo tells what Supervisor tells of a process.
func (c *Client) ProcessInfo(ctx context.Context, process string) (wire.ProcessInfo, error) {
	var x processInfoX
	err := c.call(ctx, c.pool.limits.Call, repeatable, "supervisor.getProcessInfo", &x, process)
	return x.wire(), err
}

// Stop stops a process and all that descends from it, and waits for the end.
// The execution that runs it is cancelled. Fault NotRunning.
func (c *Client) Stop(ctx context.Context, process string) error {
	var ok bool
	return c.call(ctx, c.pool.limits.Stop, once, "supervisor.stopProcess", &ok, process, true)
}

// StopAll stops every process that runs, and waits for the end.
func (c *Client) StopAll(ctx context.Context) ([]wire.ProcessStatus, error) {
	var xs []statusX
	err := c.call(ctx, c.pool.limits.Stop, repeatable, "supervisor.stopAllProcesses", &xs, true)
	return statuses(xs), err
}

// Signal sends a signal to a process; faults BadSignal and NotRunning.
func (c *Client) Signal(ctx context.Context, process, signal string) error {
	var ok bool
	return c.call(ctx, c.pool.limits.Call, once, "supervisor.signalProcess", &ok, process, signal)
}

// ReadLog reads length bytes of a process's output, from offset on.
func (c *Client) ReadLog(ctx context.Context, process string, stream wire.Stream, offset, length int64) (string, error) {
	var text string
	err := c.call(ctx, c.pool.limits.Call, repeatable, logMethod("readProcess%sLog", stream), &text, process, offset, length)
	return text, err
}

// TailLog reads what a process wrote after offset, at most the last length bytes.
func (c *Client) TailLog(ctx context.Context, process string, stream wire.Stream, offset, length int64) (wire.LogTail, error) {
	var tail wire.LogTail
	result := []any{&tail.Data, &tail.Offset, &tail.Overflow}
	err := c.call(ctx, c.pool.limits.Call, repeatable, logMethod("tailProcess%sLog", stream), &result, process, offset, length)
	return tail, err
}

func logMethod(format string, stream wire.Stream) string {
	name := "Stdout"
	if stream == wire.Stderr {
		name = "Stderr"
	}
	return "supervisor." + fmt.Sprintf(format, name)
}

// ClearLogs empties both logs of a process.
func (c *Client) ClearLogs(ctx context.Context, process string) error {
	var ok bool
	return c.call(ctx, c.pool.limits.Call, repeatable, "supervisor.clearProcessLogs", &ok, process)
}

// ReadUnitLog reads the unit's own log, by Supervisor's rules: a negative
// offset with length 0 gives that many last bytes. Fault NoFile.
func (c *Client) ReadUnitLog(ctx context.Context, offset, length int64) (string, error) {
	var text string
	err := c.call(ctx, c.pool.limits.Call, repeatable, "supervisor.readLog", &text, offset, length)
	return text, err
}

// ClearUnitLog empties the unit's own log.
func (c *Client) ClearUnitLog(ctx context.Context) error {
	var ok bool
	return c.call(ctx, c.pool.limits.Call, repeatable, "supervisor.clearLog", &ok)
}

// Reload makes the unit read its configuration again and gives the groups that
// were added, changed and removed in it. Faults UnknownMethod and CantReread.
func (c *Client) Reload(ctx context.Context) (added, changed, removed []string, err error) {
	var result [][][]string
	if err := c.call(ctx, c.pool.limits.Call, repeatable, "supervisor.reloadConfig", &result); err != nil {
		return nil, nil, nil, err
	}
	if len(result) != 1 || len(result[0]) != 3 {
		return nil, nil, nil, fmt.Errorf("supervisor.reloadConfig: %w: not three lists of groups", ErrBadAnswer)
	}
	return result[0][0], result[0][1], result[0][2], nil
}
