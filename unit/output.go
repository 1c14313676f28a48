package unit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"github.com/toskose/toskose/unit/logs"
	"github.com/toskose/toskose/unit/wire"
)

// Follow writes what a log holds at its end, 1,024 bytes, then what is added to
// it, until ctx ends or w fails. It follows rotation, and says
// "==> File truncated <==" where the file shrinks.
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

// ReadLog reads the unit's own log, by Supervisor's rules for offset and length.
func (u *Unit) ReadLog(offset, length int64) (string, error) {
	if err := u.serving(); err != nil {
		return "", err
	}
	if u.ownLog == nil {
		return "", wire.NewFault(wire.NoFile, "the unit has no log file")
	}
	data, err := u.ownLog.Read(offset, length)
	return string(data), err
}

// ClearLog empties the unit's own log.
func (u *Unit) ClearLog() error {
	if err := u.serving(); err != nil {
		return err
	}
	if u.ownLog == nil {
		return wire.NewFault(wire.NoFile, "the unit has no log file")
	}
	return u.ownLog.Clear()
}

// FollowLog opens the unit's own log for /mainlogtail; fault NoFile when there is none.
func (u *Unit) FollowLog() (Follow, error) {
	if u.ownLog == nil {
		return nil, wire.NewFault(wire.NoFile, "the unit has no log file")
	}
	return follow(u.ownLog)
}

// logFile finds a process's log; nil: it has none.
func (u *Unit) logFile(name string, stream wire.Stream) (*logs.File, error) {
	p, err := u.names.one(name)
	if err != nil {
		return nil, err
	}
	switch stream {
	case wire.Stdout:
		return p.stdoutLog, nil
	case wire.Stderr:
		return p.stderrLog, nil
	}
	return nil, wire.NewFault(wire.BadArguments, fmt.Sprintf("no stream is named %q", stream))
}

// ReadProcessLog reads a process's log, by Supervisor's rules for offset and length.
func (u *Unit) ReadProcessLog(name string, stream wire.Stream, offset, length int64) (string, error) {
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

// TailProcessLog reads the end of a process's log; no log is an empty answer.
func (u *Unit) TailProcessLog(name string, stream wire.Stream, offset, length int64) (wire.LogTail, error) {
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

// FollowProcessLog opens a process's log for /logtail; faults BadName and NoFile.
func (u *Unit) FollowProcessLog(name string, stream wire.Stream) (Follow, error) {
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
func (u *Unit) ClearProcessLogs(name string) error {
	if err := u.serving(); err != nil {
		return err
	}
	p, err := u.names.one(name)
	if err != nil {
		return err
	}
	return p.clearLogs()
}

func (p *program) clearLogs() error {
	for _, f := range []*logs.File{p.stdoutLog, p.stderrLog} {
		if f == nil {
			continue
		}
		if err := f.Clear(); err != nil {
			return wire.NewFault(wire.Failed, fmt.Sprintf("%s: %v", p.name(), err))
		}
	}
	return nil
}

// ClearAllProcessLogs empties all logs of processes.
func (u *Unit) ClearAllProcessLogs() ([]wire.ProcessStatus, error) {
	if err := u.serving(); err != nil {
		return nil, err
	}
	statuses := []wire.ProcessStatus{}
	for _, p := range u.names.inOrder() {
		statuses = append(statuses, statusOf(p, p.clearLogs()))
	}
	return statuses, nil
}

// SendProcessStdin writes to a process's standard input, until it has taken all
// or ctx ends.
func (u *Unit) SendProcessStdin(ctx context.Context, name, chars string) error {
	if err := u.serving(); err != nil {
		return err
	}
	p, err := u.names.one(name)
	if err != nil {
		return err
	}
	p.mu.Lock()
	stdin, state := p.stdin, p.status.state
	p.mu.Unlock()
	if stdin == nil || state == wire.Stopping {
		return wire.NewFault(wire.NotRunning, name)
	}
	stop := context.AfterFunc(ctx, func() { _ = stdin.SetWriteDeadline(time.Unix(1, 0)) })
	defer func() {
		if !stop() {
			_ = stdin.SetWriteDeadline(time.Time{})
		}
	}()
	_, err = stdin.WriteString(chars)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, os.ErrClosed):
		return wire.NewFault(wire.NotRunning, name)
	case errors.Is(err, syscall.EPIPE):
		return wire.NewFault(wire.NoFile, name)
	}
	return err
}
