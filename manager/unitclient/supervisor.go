package unitclient

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/kolo/xmlrpc"

	"github.com/toskose/toskose/unit/wire"
)

// effect says whether a method may be called again if its response was lost.
type effect bool

const (
	repeatable effect = false
	once       effect = true
)

// call calls a method of Supervisor's API and decodes its response into result, a pointer.
func (c *Client) call(ctx context.Context, limit time.Duration, e effect, method string, result any, args ...any) error {
	body, err := xmlrpc.EncodeMethodCall(method, args...)
	if err != nil {
		return fmt.Errorf("cannot encode a call of %s: %w", method, err)
	}
	r := request{method: http.MethodPost, path: "/RPC2", name: method, kind: "text/xml", body: body, once: bool(e)}
	return c.ask(ctx, limit, r, func(data []byte) error { return decode(data, result) })
}

// ProcessInfo returns Supervisor's information about a process.
func (c *Client) ProcessInfo(ctx context.Context, process string) (wire.ProcessInfo, error) {
	var info wire.ProcessInfo
	err := c.call(ctx, c.pool.limits.Call, repeatable, "supervisor.getProcessInfo", &info, process)
	return info, err
}

// Stop stops a process and its descendants, and waits until they have exited. It cancels a running execution.
// Fault NotRunning.
func (c *Client) Stop(ctx context.Context, process string) error {
	var ok bool
	return c.call(ctx, c.pool.limits.Stop, once, "supervisor.stopProcess", &ok, process, true)
}

// StopAll stops all running processes, and waits until they have exited.
func (c *Client) StopAll(ctx context.Context) ([]wire.ProcessStatus, error) {
	statuses := []wire.ProcessStatus{}
	err := c.call(ctx, c.pool.limits.Stop, repeatable, "supervisor.stopAllProcesses", &statuses, true)
	return statuses, err
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

// TailLog reads the output of a process after offset, at most the last length bytes.
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
// offset with length 0 means that many last bytes. Fault NoFile.
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

// Reload makes the unit read its configuration again and returns the groups that
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
