package unit

import (
	"context"
	"time"

	"github.com/toskose/toskose/unit/logs"
	"github.com/toskose/toskose/unit/wire"
)

// LogPage is a piece of a log and the cursor with which a reader goes on.
type LogPage = logs.Page

// LogAfter gives what the unit's own log has after a cursor, and waits for it up
// to wait. Faults: NoFile when there is no log, BadArguments for what is no
// cursor.
func (u *Unit) LogAfter(ctx context.Context, after string, wait time.Duration) (LogPage, error) {
	return u.logAfter(ctx, u.ownLog, "the unit has no log file", after, wait)
}

// ProcessLogAfter gives what a process's log has after a cursor; see LogAfter.
func (u *Unit) ProcessLogAfter(ctx context.Context, name string, stream wire.Stream, after string, wait time.Duration) (LogPage, error) {
	f, err := u.logFile(name, stream)
	if err != nil {
		return LogPage{}, err
	}
	return u.logAfter(ctx, f, name, after, wait)
}

func (u *Unit) logAfter(ctx context.Context, f *logs.File, name, after string, wait time.Duration) (LogPage, error) {
	if f == nil {
		return LogPage{}, wire.NewFault(wire.NoFile, name)
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	defer context.AfterFunc(u.life, cancel)() //nolint:contextcheck // the wait ends with the unit, too
	return f.After(ctx, after)
}
