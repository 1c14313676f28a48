package manager

import (
	"context"
	"fmt"

	"github.com/toskose/toskose/unit/wire"
)

// MaxLog is the most bytes of a log in one answer, and DefaultLog the number if
// none is given.
const (
	MaxLog     = 1 << 20
	DefaultLog = 64 << 10
)

// LogRequest selects a part of a log, from Offset unless it is nil, else the last
// Tail bytes.
type LogRequest struct {
	Stream wire.Stream
	Tail   int64  // the last bytes; 0: DefaultLog
	Offset *int64 // from here on
	Length int64  // bytes; 0: to the end, at most the last DefaultLog
}

func (r LogRequest) check() error {
	switch {
	case r.Stream != wire.Stdout && r.Stream != wire.Stderr:
		return &Error{Kind: ErrInvalid, Detail: fmt.Sprintf("std_type %q is neither %q nor %q", r.Stream, wire.Stdout, wire.Stderr)}
	case r.Tail < 0 || r.Length < 0 || r.Offset != nil && *r.Offset < 0:
		return &Error{Kind: ErrInvalid, Detail: "tail, offset and length must not be negative"}
	case r.Tail > MaxLog || r.Length > MaxLog:
		return &Error{Kind: ErrInvalid, Detail: fmt.Sprintf("an answer has at most %d bytes of a log", MaxLog)}
	case r.Tail > 0 && (r.Offset != nil || r.Length > 0):
		return &Error{Kind: ErrInvalid, Detail: "tail counts from the end, offset and length from the beginning: use one or the other"}
	}
	return nil
}

// Log reads an operation's output on all replicas or one. It returns an error only
// if no replica returns any.
func (a *App) Log(ctx context.Context, nodeName, componentName, name, which string, req LogRequest) ([]Log, error) {
	op, err := a.operation(nodeName, componentName, name)
	if err != nil {
		return nil, err
	}
	if err := req.check(); err != nil {
		return nil, err
	}
	if err := op.hasLog(); err != nil {
		return nil, err
	}
	return a.logs(ctx, op.component.node, which, func(r replica) (Log, error) { return op.log(ctx, r, req) })
}

func (o operation) hasLog() error {
	if o.model.Script == "" {
		return &Error{Kind: ErrNoLog, Detail: fmt.Sprintf("operation %s of component %q has no script, so it writes no log", o.name, o.component.name())}
	}
	return nil
}

func (o operation) log(ctx context.Context, r replica, req LogRequest) (Log, error) {
	if req.Offset != nil && req.Length > 0 {
		text, err := r.unit.ReadLog(ctx, o.process(), req.Stream, *req.Offset, req.Length)
		return Log{Text: text}, err
	}
	var offset int64
	length := req.Tail
	if req.Offset != nil {
		offset = *req.Offset
	}
	if length == 0 {
		length = max(req.Length, DefaultLog)
	}
	tail, err := r.unit.TailLog(ctx, o.process(), req.Stream, offset, length)
	return Log{Text: tail.Data, Offset: tail.Offset, Overflow: tail.Overflow}, err
}

// UnitLog reads the log of a node's units themselves.
func (a *App) UnitLog(ctx context.Context, nodeName, which string, req LogRequest) ([]Log, error) {
	n, err := a.node(nodeName)
	if err != nil {
		return nil, err
	}
	req.Stream = wire.Stdout
	if err := req.check(); err != nil {
		return nil, err
	}
	return a.logs(ctx, n, which, func(r replica) (Log, error) {
		length := req.Tail
		if length == 0 {
			length = max(req.Length, DefaultLog)
		}
		offset := -length
		if req.Offset != nil {
			offset = *req.Offset
		} else {
			length = 0
		}
		text, err := r.unit.ReadUnitLog(ctx, offset, length)
		return Log{Text: text}, err
	})
}

func (a *App) logs(ctx context.Context, n *node, which string, read func(replica) (Log, error)) ([]Log, error) {
	replicas, err := a.replicas(ctx, n, which)
	if err != nil {
		return nil, err
	}
	logs := each(replicas, func(r replica) Log {
		l, err := read(r)
		l.Replica = r.addr.String()
		if err != nil {
			l.err = unitError(r.String(), err)
			l.Problem = l.err.Error()
		}
		return l
	})
	var failed error
	for _, l := range logs {
		if l.err == nil {
			return logs, nil
		}
		if failed == nil || rank(l.err) > rank(failed) {
			failed = l.err
		}
	}
	return nil, failed
}

// ClearLog empties both logs of an operation.
func (a *App) ClearLog(ctx context.Context, nodeName, componentName, name, which string) ([]Result, error) {
	op, err := a.operation(nodeName, componentName, name)
	if err != nil {
		return nil, err
	}
	if err := op.hasLog(); err != nil {
		return nil, err
	}
	subject := fmt.Sprintf("log of operation %s of component %q", op.name, componentName)
	return a.onReplicas(ctx, op.component.node, which, subject, func(ctx context.Context, r replica) Result {
		return Result{err: op.clear(ctx, r)}
	})
}

func (o operation) clear(ctx context.Context, r replica) error {
	return r.unit.ClearLogs(ctx, o.process())
}

// ClearUnitLog empties the log of a node's units themselves.
func (a *App) ClearUnitLog(ctx context.Context, nodeName, which string) ([]Result, error) {
	n, err := a.node(nodeName)
	if err != nil {
		return nil, err
	}
	return a.onReplicas(ctx, n, which, "log of the unit", func(ctx context.Context, r replica) Result {
		err := r.unit.ClearUnitLog(ctx)
		if code, _ := wire.FaultCodeOf(err); code == wire.NoFile {
			err = nil // no log is an empty one
		}
		return Result{err: err}
	})
}
