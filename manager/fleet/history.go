package fleet

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toskose/toskose/manager/mirror"
	"github.com/toskose/toskose/manager/rest"
	"github.com/toskose/toskose/manager/topology"
	"github.com/toskose/toskose/unit/wire"
)

// History returns past executions with their users, replicas and outcomes. It uses the executions in the mirror's
// memory and, for older ones, the units' journals. The history therefore outlives managers, and reaches back as far
// as the journals of the current containers.
func (f *Fleet) History(ctx context.Context, q rest.HistoryQuery) (rest.History, error) {
	after, err := parse(q.After)
	if err != nil {
		return rest.History{}, err
	}
	nodes, err := f.nodesOf(&q)
	if err != nil {
		return rest.History{}, err
	}
	now := f.Complete(ctx)
	all := &collection{query: q, byID: map[string]*execution{}}
	var reach time.Time // the mirror's memory has everything that started later
	var short []Replica
	for _, n := range nodes {
		for _, r := range f.Existing(now, n) {
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
	f.addRemoved(all, nodes)
	page := all.page(after, reach)
	if len(page.Executions) <= q.Limit && len(short) > 0 {
		missing := f.readJournals(ctx, all, short)
		page = all.page(after, time.Time{})
		page.Missing = missing
	}
	if len(page.Executions) > q.Limit {
		page.Executions = page.Executions[:q.Limit]
		page.Next = positionOf(page.Executions[q.Limit-1]).String()
	}
	if q.Output {
		page.Missing = f.addOutput(ctx, page.Executions, nodes, page.Missing)
	}
	return page, nil
}

// addRemoved adds the executions of containers that were removed, as far as the mirror remembers them.
func (f *Fleet) addRemoved(all *collection, nodes []*topology.Node) {
	for _, at := range f.Removed() {
		i := slices.IndexFunc(nodes, func(n *topology.Node) bool { return n.Name() == at.Node })
		if i < 0 {
			continue
		}
		r := Replica{Node: nodes[i], Addr: at.Address}
		for _, c := range at.Components {
			if all.query.Component != "" && c.Component != all.query.Component {
				continue
			}
			for _, x := range c.Recent {
				all.addRun(knownRun{r, x, at.Gone})
			}
		}
	}
}

// nodesOf returns the nodes that a query covers, and sets the full name of its component.
func (f *Fleet) nodesOf(q *rest.HistoryQuery) ([]*topology.Node, error) {
	if q.Node == "" {
		return f.opts.Model.Toskosed, nil
	}
	n, err := f.opts.Model.Node(q.Node)
	if err == nil && q.Component != "" {
		var c *topology.Component
		if c, err = f.opts.Model.Component(q.Node, q.Component); err == nil {
			q.Component = c.Name()
		}
	}
	if err != nil || !n.Toskosed {
		return nil, err
	}
	return []*topology.Node{n}, nil
}

// recall adds the executions in the mirror's memory of a replica. Executions that started before forgotten may be
// missing; zero: none are.
func (c *collection) recall(r Replica, at *mirror.Replica) (forgotten time.Time) {
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

// selects reports whether a query matches a run. The outcome of the whole execution is compared later.
func selects(q *rest.HistoryQuery, x *wire.Execution) bool {
	name := x.Interface + "." + x.Operation
	return (q.Component == "" || x.Component == q.Component) &&
		(q.Operation == "" || q.Operation == name || q.Operation == x.Operation) &&
		(q.Index == nil || x.Part != nil && x.Part.Index == *q.Index) &&
		(q.By == "" || strings.TrimSuffix(x.By, " (forced)") == q.By)
}

// collection holds the executions that a query selects, each with its runs.
type collection struct {
	query rest.HistoryQuery
	byID  map[string]*execution
}

// execution holds the runs of an execution, one for each instance.
type execution struct {
	runs []knownRun
}

type knownRun struct {
	replica Replica
	known   wire.Execution
	removed time.Time // when its container was removed; zero: it exists
}

// add adds an execution from a replica's journal.
func (c *collection) add(r Replica, x wire.Execution) { c.addRun(knownRun{replica: r, known: x}) }

// addRun adds an execution on a replica. A run on an existing container replaces the same run on a removed one.
func (c *collection) addRun(run knownRun) {
	x := run.known
	if !selects(&c.query, &x) {
		return
	}
	e := c.byID[x.ID]
	if e == nil {
		e = &execution{}
		c.byID[x.ID] = e
	}
	i := slices.IndexFunc(e.runs, func(r knownRun) bool { return r.known.Instance == x.Instance })
	switch {
	case i < 0:
		e.runs = append(e.runs, run)
	case !run.removed.IsZero():
	case x.Seq > e.runs[i].known.Seq:
		e.runs[i].known = x
	}
}

// outcome merges the runs, ordered by address.
func (e *execution) outcome() rest.Execution {
	slices.SortFunc(e.runs, func(a, b knownRun) int { return a.replica.Addr.Compare(b.replica.Addr) })
	var x rest.Execution
	for _, r := range e.runs {
		x.Join(r.replica.Node.Name(), r.replica.Addr.String(), r.known)
		x.Runs[len(x.Runs)-1].Removed = r.removed
		if r.known.Started.Before(x.Started) {
			x.Started = r.known.Started
		}
	}
	x.Finish()
	return x
}

// page returns the executions after a position that started after a time; one more than requested if there are
// more.
func (c *collection) page(after *position, since time.Time) rest.History {
	page := rest.History{Executions: []rest.Execution{}}
	for _, e := range c.byID {
		x := e.outcome()
		if (c.query.Outcome == "" || x.Outcome == wire.Outcome(c.query.Outcome)) && x.Started.After(since) &&
			(after == nil || after.compare(positionOf(x)) < 0) {
			page.Executions = append(page.Executions, x)
		}
	}
	slices.SortFunc(page.Executions, func(a, b rest.Execution) int { return positionOf(a).compare(positionOf(b)) })
	if len(page.Executions) > c.query.Limit {
		page.Executions = page.Executions[:c.query.Limit+1]
	}
	return page
}

// position is an execution's position in the history.
type position struct {
	started int64 // in ns
	id      string
}

func positionOf(x rest.Execution) position { return position{x.Started.UnixNano(), x.ID} }

// compare returns a negative number if p comes first: later executions come first.
func (p position) compare(o position) int {
	return cmp.Or(cmp.Compare(o.started, p.started), cmp.Compare(p.id, o.id))
}

// String is the form that parse reads.
func (p position) String() string { return strconv.FormatInt(p.started, 36) + "." + p.id }

// parse returns a position; nil means the beginning.
func parse(text string) (*position, error) {
	if text == "" {
		return nil, nil //nolint:nilnil // no position is a valid result
	}
	started, id, found := strings.Cut(text, ".")
	n, err := strconv.ParseInt(started, 36, 64)
	if err != nil || !found {
		return nil, &rest.Error{Kind: rest.ErrInvalid, Detail: fmt.Sprintf("after=%.100q is not the value of next in a response", text)}
	}
	return &position{n, id}, nil
}
