package history

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toskose/toskose/manager/fleet"
	"github.com/toskose/toskose/manager/outcome"
	"github.com/toskose/toskose/unit/wire"
)

// collection holds the executions that a query selects, each with its runs.
type collection struct {
	query Query
	byID  map[string]*execution
}

// execution holds the runs of an execution, by instance.
type execution struct {
	runs []run
}

type run struct {
	replica fleet.Replica
	known   wire.Execution
}

// add adds an execution from a replica's journal.
func (c *collection) add(r fleet.Replica, x wire.Execution) {
	if !c.query.selects(&x) {
		return
	}
	e := c.byID[x.ID]
	if e == nil {
		e = &execution{}
		c.byID[x.ID] = e
	}
	i := slices.IndexFunc(e.runs, func(known run) bool { return known.known.Instance == x.Instance })
	switch {
	case i < 0:
		e.runs = append(e.runs, run{r, x})
	case x.Seq > e.runs[i].known.Seq:
		e.runs[i].known = x
	}
}

// outcome merges the runs, ordered by address.
func (e *execution) outcome() outcome.Execution {
	slices.SortFunc(e.runs, func(a, b run) int { return a.replica.Addr.Compare(b.replica.Addr) })
	var x outcome.Execution
	for _, r := range e.runs {
		x.Join(r.replica.Node.Name(), r.replica.Addr.String(), r.known)
		if r.known.Started.Before(x.Started) {
			x.Started = r.known.Started
		}
	}
	x.Finish()
	return x
}

// page returns the executions after a position that started after a time; one more than requested if there are
// more.
func (c *collection) page(after *position, since time.Time) Page {
	page := Page{Executions: []outcome.Execution{}}
	for _, e := range c.byID {
		x := e.outcome()
		if (c.query.Outcome == "" || x.Outcome == c.query.Outcome) && x.Started.After(since) &&
			(after == nil || after.compare(positionOf(x)) < 0) {
			page.Executions = append(page.Executions, x)
		}
	}
	slices.SortFunc(page.Executions, func(a, b outcome.Execution) int { return positionOf(a).compare(positionOf(b)) })
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

func positionOf(x outcome.Execution) position { return position{x.Started.UnixNano(), x.ID} }

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
		return nil, &outcome.Error{Kind: outcome.ErrInvalid, Detail: fmt.Sprintf("after=%.100q is not what an answer had as next", text)}
	}
	return &position{n, id}, nil
}
