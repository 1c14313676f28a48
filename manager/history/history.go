package history

import (
	"context"
	"strings"
	"time"

	"github.com/toskose/toskose/manager/fleet"
	"github.com/toskose/toskose/manager/mirror"
	"github.com/toskose/toskose/manager/outcome"
	"github.com/toskose/toskose/manager/topology"
	"github.com/toskose/toskose/unit/wire"
)

// Query selects executions. Empty fields match everything.
type Query struct {
	Node, Component string
	Operation       string // "interface.operation", or the bare name
	By              string // the user
	Outcome         wire.Outcome
	After           string // Page.Next of the page before
	Limit           int    // maximum number of executions
	Output          bool   // include the end of the output, which the units return
	Index           *int   // of a Task
}

// Page is a part of the history, the latest execution first.
type Page struct {
	Executions []outcome.Execution `json:"executions"`
	Next       string              `json:"next,omitempty"`    // the position after which the next page starts; empty: no more
	Missing    []Missing           `json:"missing,omitempty"` // replicas whose older executions are omitted
}

// Missing is a replica whose journal or output cannot be read.
type Missing struct {
	Node    string `json:"node"`
	Replica string `json:"replica"`
	Why     string `json:"why"`
}

// History is the history of one application.
type History struct {
	fleet *fleet.Fleet
	model *topology.Application
}

// New returns the history of an application.
func New(f *fleet.Fleet, model *topology.Application) *History { return &History{f, model} }

// List returns a page. It reads journals only if the mirror's memory does not reach back far enough.
func (h *History) List(ctx context.Context, q Query) (Page, error) {
	after, err := parse(q.After)
	if err != nil {
		return Page{}, err
	}
	nodes, err := h.nodes(q)
	if err != nil {
		return Page{}, err
	}
	now := h.fleet.Complete(ctx)
	all := &collection{query: q, byID: map[string]*execution{}}
	var reach time.Time // the mirror's memory has everything that started later
	var short []fleet.Replica
	for _, n := range nodes {
		for _, r := range h.fleet.There(now, n) {
			forgotten := all.recall(r, now.Node(n.Name()).At(r.Addr))
			if forgotten.IsZero() {
				continue
			}
			short = append(short, r)
			if forgotten.After(reach) {
				reach = forgotten
			}
		}
	}
	page := all.page(after, reach)
	if len(page.Executions) <= q.Limit && len(short) > 0 {
		missing := h.read(ctx, all, short)
		page = all.page(after, time.Time{})
		page.Missing = missing
	}
	if len(page.Executions) > q.Limit {
		page.Executions = page.Executions[:q.Limit]
		page.Next = positionOf(page.Executions[q.Limit-1]).String()
	}
	if q.Output {
		page.Missing = h.addOutput(ctx, page.Executions, nodes, page.Missing)
	}
	return page, nil
}

// nodes returns the nodes that a query covers.
func (h *History) nodes(q Query) ([]*topology.Node, error) {
	if q.Node == "" {
		return h.model.Toskosed, nil
	}
	n, err := h.model.Node(q.Node)
	if err == nil && q.Component != "" {
		_, err = h.model.Component(q.Node, q.Component)
	}
	if err != nil || !n.Toskosed {
		return nil, err
	}
	return []*topology.Node{n}, nil
}

// recall adds the executions in the mirror's memory of a replica. Executions that started before forgotten may be
// missing; zero: none are.
func (c *collection) recall(r fleet.Replica, at *mirror.Replica) (forgotten time.Time) {
	for _, component := range at.Components {
		if c.query.Component != "" && component.Component != c.query.Component {
			continue
		}
		for _, x := range component.Recent {
			c.add(r, x)
		}
		if last := len(component.Recent) - mirror.Remembered; last >= 0 && component.Recent[last].Started.After(forgotten) {
			forgotten = component.Recent[last].Started
		}
	}
	return forgotten
}

// selects reports whether a query matches an execution.
func (q Query) selects(x *wire.Execution) bool {
	name := x.Interface + "." + x.Operation
	return (q.Component == "" || x.Component == q.Component) &&
		(q.Operation == "" || q.Operation == name || q.Operation == x.Operation) &&
		(q.Index == nil || x.Part != nil && x.Part.Index == *q.Index) &&
		(q.By == "" || strings.TrimSuffix(x.By, " (forced)") == q.By)
}
