package manager

import (
	"context"
	"fmt"

	"github.com/toskose/toskose/manager/fleet"
	"github.com/toskose/toskose/manager/logs"
	"github.com/toskose/toskose/manager/rest"
	"github.com/toskose/toskose/manager/topology"
	"github.com/toskose/toskose/unit/wire"
)

// MaxLog is the maximum number of bytes of a log in one response; DefaultLog is the default.
const (
	MaxLog     = 1 << 20
	DefaultLog = 64 << 10
)

// LogRequest selects a part of a log: from Offset or, if that is nil, the last Tail bytes.
type LogRequest struct {
	Stream wire.Stream
	Tail   int64  // number of last bytes; 0: DefaultLog
	Offset *int64 // start at this offset
	Length int64  // bytes; 0: to the end, at most the last DefaultLog
}

func (r LogRequest) check() error {
	switch {
	case r.Stream != wire.Stdout && r.Stream != wire.Stderr:
		return &rest.Error{Kind: rest.ErrInvalid, Detail: fmt.Sprintf("std_type %q is neither %q nor %q", r.Stream, wire.Stdout, wire.Stderr)}
	case r.Tail < 0 || r.Length < 0 || r.Offset != nil && *r.Offset < 0:
		return &rest.Error{Kind: rest.ErrInvalid, Detail: "tail, offset and length must not be negative"}
	case r.Tail > MaxLog || r.Length > MaxLog:
		return &rest.Error{Kind: rest.ErrInvalid, Detail: fmt.Sprintf("an answer has at most %d bytes of a log", MaxLog)}
	case r.Tail > 0 && (r.Offset != nil || r.Length > 0):
		return &rest.Error{Kind: rest.ErrInvalid, Detail: "tail counts from the end, offset and length from the beginning: use one or the other"}
	}
	return nil
}

// Logs reads and clears logs.
type Logs struct {
	model *topology.Application
	fleet *fleet.Fleet
	lines *logs.Logs
}

// Log reads an operation's output on all replicas or one. It returns an error only
// if no replica returns any.
func (l *Logs) Log(ctx context.Context, nodeName, componentName, name, which string, req LogRequest) ([]rest.Log, error) {
	op, err := l.model.Operation(nodeName, componentName, name)
	if err != nil {
		return nil, err
	}
	if err := req.check(); err != nil {
		return nil, err
	}
	if err := hasLog(op); err != nil {
		return nil, err
	}
	return readLogs(ctx, l.fleet, op.Component.Node, which, func(r fleet.Replica) (rest.Log, error) { return readLog(ctx, op, r, req) })
}

func hasLog(op topology.Operation) error {
	if !op.HasProcess() {
		return &rest.Error{Kind: rest.ErrNoLog, Detail: fmt.Sprintf("operation %s of component %q has no process, so it writes no log", op.Name, op.Component.Name())}
	}
	return nil
}

func readLog(ctx context.Context, op topology.Operation, r fleet.Replica, req LogRequest) (rest.Log, error) {
	if req.Offset != nil && req.Length > 0 {
		text, err := r.Unit.ReadLog(ctx, op.Process(), req.Stream, *req.Offset, req.Length)
		return rest.Log{Text: text}, err
	}
	var offset int64
	length := req.Tail
	if req.Offset != nil {
		offset = *req.Offset
	}
	if length == 0 {
		length = max(req.Length, DefaultLog)
	}
	tail, err := r.Unit.TailLog(ctx, op.Process(), req.Stream, offset, length)
	if err != nil {
		return rest.Log{}, err
	}
	cut := tail.Overflow
	if !cut && req.Offset == nil {
		cut, err = r.Unit.LogRotated(ctx, op.Process(), req.Stream)
	}
	return rest.Log{Text: tail.Data, Offset: tail.Offset, Truncated: cut}, err
}

// UnitLog reads the units' own logs on a node.
func (l *Logs) UnitLog(ctx context.Context, nodeName, which string, req LogRequest) ([]rest.Log, error) {
	n, err := l.model.Node(nodeName)
	if err != nil {
		return nil, err
	}
	req.Stream = wire.Stdout
	if err := req.check(); err != nil {
		return nil, err
	}
	return readLogs(ctx, l.fleet, n, which, func(r fleet.Replica) (rest.Log, error) {
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
		text, err := r.Unit.ReadUnitLog(ctx, offset, length)
		return rest.Log{Text: text}, err
	})
}

func readLogs(ctx context.Context, f *fleet.Fleet, n *topology.Node, which string, read func(fleet.Replica) (rest.Log, error)) ([]rest.Log, error) {
	replicas, err := f.Replicas(ctx, n, which)
	if err != nil {
		return nil, err
	}
	all := fleet.Each(replicas, func(r fleet.Replica) rest.Log {
		l, err := read(r)
		l.Replica = r.Addr.String()
		if err != nil {
			l.Err = rest.Of(r.String(), err)
			l.Problem = l.Err.Error()
		}
		return l
	})
	var failed error
	for _, l := range all {
		if l.Err == nil {
			return all, nil
		}
		if failed == nil || rest.Rank(l.Err) > rest.Rank(failed) {
			failed = l.Err
		}
	}
	return nil, failed
}

// LineReader reads lines; see logs.Reader.
type LineReader interface {
	Next(ctx context.Context) ([]rest.LogLine, error)
	Position() string
	Close()
}

// Lines opens the output of operations as lines; see logs.Open.
func (l *Logs) Lines(ctx context.Context, q rest.LogQuery) (LineReader, error) {
	r, err := l.lines.Open(ctx, q)
	if err != nil {
		return nil, err
	}
	return r, nil
}

// ClearLog empties both logs of an operation.
func (l *Logs) ClearLog(ctx context.Context, nodeName, componentName, name, which string) ([]rest.Result, error) {
	op, err := l.model.Operation(nodeName, componentName, name)
	if err != nil {
		return nil, err
	}
	if err := hasLog(op); err != nil {
		return nil, err
	}
	subject := fmt.Sprintf("log of operation %s of component %q", op.Name, componentName)
	return l.fleet.On(ctx, op.Component.Node, which, subject, func(ctx context.Context, r fleet.Replica) rest.Result {
		return rest.Result{Err: r.Unit.ClearLogs(ctx, op.Process())}
	})
}

// ClearUnitLog empties the units' own logs on a node.
func (l *Logs) ClearUnitLog(ctx context.Context, nodeName, which string) ([]rest.Result, error) {
	n, err := l.model.Node(nodeName)
	if err != nil {
		return nil, err
	}
	return l.fleet.On(ctx, n, which, "log of the unit", func(ctx context.Context, r fleet.Replica) rest.Result {
		err := r.Unit.ClearUnitLog(ctx)
		if code, _ := wire.FaultCodeOf(err); code == wire.NoFile {
			err = nil // a missing log counts as empty
		}
		return rest.Result{Err: err}
	})
}
