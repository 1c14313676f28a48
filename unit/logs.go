package unit

import (
	"context"
	"io"
	"time"

	"github.com/toskose/toskose/unit/logs"
	"github.com/toskose/toskose/unit/wire"
)

// Logs reads and empties the logs of the unit and of its processes.
type Logs struct {
	*core
	own *logs.File // the unit's own; may be nil
}

// Follow writes the last 1,024 bytes of a log, then its additions, until ctx ends or w fails.
// It follows rotation, and writes "==> File truncated <==" when the file shrinks.
type Follow func(ctx context.Context, w io.Writer) error

func follow(f *logs.File) (Follow, error) {
	follower, err := f.Follow()
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, w io.Writer) error {
		defer follower.Close()
		for {
			data, err := follower.Next(ctx)
			if err != nil {
				return err
			}
			if _, err := w.Write(data); err != nil {
				return err
			}
		}
	}, nil
}

// ReadLog reads the unit's own log by Supervisor's rules for offset and length.
func (u *Logs) ReadLog(offset, length int64) (string, error) {
	if err := u.serving(); err != nil {
		return "", err
	}
	if u.own == nil {
		return "", wire.NewFault(wire.NoFile, "the unit has no log file")
	}
	data, err := u.own.Read(offset, length)
	return string(data), err
}

// ClearLog empties the unit's own log.
func (u *Logs) ClearLog() error {
	if err := u.serving(); err != nil {
		return err
	}
	if u.own == nil {
		return wire.NewFault(wire.NoFile, "the unit has no log file")
	}
	return u.own.Clear()
}

// FollowLog opens the unit's own log for /mainlogtail. Fault: NoFile.
func (u *Logs) FollowLog() (Follow, error) {
	if u.own == nil {
		return nil, wire.NewFault(wire.NoFile, "the unit has no log file")
	}
	return follow(u.own)
}

// logFile returns a process's log, or nil.
func (u *Logs) logFile(name string, stream wire.Stream) (*logs.File, error) {
	p, err := u.names.single(name)
	if err != nil {
		return nil, err
	}
	return p.Log(stream)
}

// ReadProcessLog reads a process's log by Supervisor's rules for offset and length.
func (u *Logs) ReadProcessLog(name string, stream wire.Stream, offset, length int64) (string, error) {
	if err := u.serving(); err != nil {
		return "", err
	}
	f, err := u.logFile(name, stream)
	if err != nil {
		return "", err
	}
	if f == nil {
		return "", wire.NewFault(wire.NoFile, name)
	}
	data, err := f.Read(offset, length)
	return string(data), err
}

// TailProcessLog reads the end of a process's log; a missing log is empty.
func (u *Logs) TailProcessLog(name string, stream wire.Stream, offset, length int64) (wire.LogTail, error) {
	if err := u.serving(); err != nil {
		return wire.LogTail{}, err
	}
	f, err := u.logFile(name, stream)
	if err != nil || f == nil {
		return wire.LogTail{}, err
	}
	data, next, overflow := f.Tail(offset, length)
	return wire.LogTail{Data: string(data), Offset: next, Overflow: overflow}, nil
}

// FollowProcessLog opens a process's log for /logtail. Faults: BadName and NoFile.
func (u *Logs) FollowProcessLog(name string, stream wire.Stream) (Follow, error) {
	f, err := u.logFile(name, stream)
	if err != nil {
		return nil, err
	}
	if f == nil {
		return nil, wire.NewFault(wire.NoFile, name)
	}
	return follow(f)
}

// ClearProcessLogs empties both logs of a process.
func (u *Logs) ClearProcessLogs(name string) error {
	if err := u.serving(); err != nil {
		return err
	}
	p, err := u.names.single(name)
	if err != nil {
		return err
	}
	return p.ClearLogs()
}

// ClearAllProcessLogs empties all logs of processes.
func (u *Logs) ClearAllProcessLogs() ([]wire.ProcessStatus, error) {
	if err := u.serving(); err != nil {
		return nil, err
	}
	statuses := []wire.ProcessStatus{}
	for _, p := range u.names.inOrder() {
		statuses = append(statuses, statusOf(p, p.ClearLogs()))
	}
	return statuses, nil
}

// LogPage is a piece of a log and the next cursor.
type LogPage = logs.Page

// LogAfter returns the data of the unit's own log after a cursor, waiting up to wait for it.
// Faults: NoFile, and BadArguments for a malformed cursor.
func (u *Logs) LogAfter(ctx context.Context, after string, wait time.Duration) (LogPage, error) {
	return u.logAfter(ctx, u.own, "the unit has no log file", after, wait)
}

// ProcessLogAfter returns the data of a process's log after a cursor; see LogAfter.
func (u *Logs) ProcessLogAfter(ctx context.Context, name string, stream wire.Stream, after string, wait time.Duration) (LogPage, error) {
	f, err := u.logFile(name, stream)
	if err != nil {
		return LogPage{}, err
	}
	return u.logAfter(ctx, f, name, after, wait)
}

func (u *Logs) logAfter(ctx context.Context, f *logs.File, name, after string, wait time.Duration) (LogPage, error) {
	if f == nil {
		return LogPage{}, wire.NewFault(wire.NoFile, name)
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	defer context.AfterFunc(u.lifetime, cancel)() //nolint:contextcheck // the wait ends with the unit, too
	return f.After(ctx, after)
}

// LogMerger reads several logs as one.
type LogMerger = logs.Merger

// MergeLogs reads several process logs as one. Missing logs are empty: a client follows the logs of
// a whole application, and a reload may have removed some. Faults: BadArguments for a malformed
// cursor, and OtherInstance. The caller closes the Merger.
func (u *Logs) MergeLogs(r wire.LogsRequest) (*LogMerger, error) {
	if id := u.components.Instance(); r.Instance != "" && r.Instance != id {
		return nil, &wire.Fault{Code: wire.OtherInstance, Detail: "this is " + id, Instance: id}
	}
	files, after := make([]*logs.File, len(r.Logs)), make([]string, len(r.Logs))
	for i, l := range r.Logs {
		files[i], _ = u.logFile(l.Process, l.Stream)
		after[i] = l.After
	}
	return logs.Merge(files, after, logs.Begin{Since: r.Since, Last: r.Last})
}
