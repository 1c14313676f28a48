package manager

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/toskose/toskose/manager/fleet"
	"github.com/toskose/toskose/manager/goal"
	"github.com/toskose/toskose/manager/keep"
	"github.com/toskose/toskose/manager/topology"
	"github.com/toskose/toskose/spec"
	"github.com/toskose/toskose/unit/wire"
)

// world connects the goal's keeper to the units.
type world struct {
	app      *topology.Application
	fleet    *fleet.Fleet
	observer *goal.Observer
	engine   *fleet.Engine
}

// observe returns the current situation, and a channel that is closed when it is outdated.
func (w world) observe() (goal.Situation, <-chan struct{}) {
	now := w.fleet.Snapshot()
	return w.observer.At(now).Situation(), now.Superseded()
}

// execute runs a step for the goal and waits for its end.
func (w world) execute(ctx context.Context, step goal.Step) (seq uint64, err error) {
	r, err := w.instance(step.Node, step.Instance)
	if err != nil {
		return 0, err
	}
	request := wire.ExecuteRequest{
		ID: step.ID, Component: step.Component, Operation: step.Operation.String(), By: "goal", Instance: step.Instance, After: &step.After,
		Part: step.Part, Timeout: step.Timeout.Seconds(),
	}
	if step.Part != nil {
		request.Inputs = map[string]string{spec.TaskIndex: strconv.Itoa(step.Part.Index)}
	}
	x, err := w.engine.Run(ctx, r, request)
	return x.Seq, err
}

func (w world) instance(node, instance string) (fleet.Replica, error) {
	n, err := w.app.Node(node)
	if err != nil {
		return fleet.Replica{}, err
	}
	return w.fleet.Instance(n, instance)
}

// copies returns access to a document on each replica.
func (w world) copies(document string) func(node, instance string) keep.Copies {
	return func(node, instance string) keep.Copies { return copies{w, document, node, instance} }
}

type copies struct {
	world
	document, node, instance string
}

func (c copies) Read(ctx context.Context) (wire.Document, error) {
	r, err := c.world.instance(c.node, c.instance)
	if err != nil {
		return wire.Document{}, err
	}
	d, err := r.Unit.Document(ctx, c.document)
	code, _ := wire.FaultCodeOf(err)
	if code == wire.NoDocument {
		return wire.Document{}, nil
	}
	if code == wire.NoDocuments || code == wire.NoStorage {
		return wire.Document{}, fmt.Errorf("%w: %w", keep.ErrNoRoom, err)
	}
	return d, err
}

func (c copies) Write(ctx context.Context, d wire.Document) error {
	r, err := c.world.instance(c.node, c.instance)
	if err != nil {
		return err
	}
	err = r.Unit.PutDocument(ctx, c.document, d)
	var fault *wire.Fault
	switch code, _ := wire.FaultCodeOf(err); {
	case code == wire.OldRevision && errors.As(err, &fault):
		newer, err := wire.ParseRevision(fault.Revision)
		if err != nil {
			return fmt.Errorf("%s: %w", r, err)
		}
		return &keep.NewerError{Revision: newer}
	case code == wire.NoDocuments || code == wire.NoStorage:
		return fmt.Errorf("%w: %w", keep.ErrNoRoom, err)
	}
	return err
}
