package fleet

import (
	"context"
	"slices"

	"github.com/toskose/toskose/manager/rest"
	"github.com/toskose/toskose/manager/topology"
	"github.com/toskose/toskose/manager/unitclient"
	"github.com/toskose/toskose/unit/wire"
)

// readJournals adds the executions in the replicas' journals, and returns the replicas that cannot be read.
func (f *Fleet) readJournals(ctx context.Context, all *collection, replicas []Replica) (missing []rest.Missing) {
	type journal struct {
		found []wire.Execution
		err   error
	}
	for i, j := range EachLimited(replicas, func(r Replica) journal {
		found, err := journalOf(ctx, r, all.query)
		return journal{found, err}
	}) {
		for _, x := range j.found {
			all.add(replicas[i], x)
		}
		if j.err != nil {
			r := replicas[i]
			missing = append(missing, rest.Missing{Node: r.Node.Name(), Replica: r.Addr.String(), Why: rest.Of(r.String(), j.err).Error()})
		}
	}
	return missing
}

// journalOf returns the executions in a journal that a query selects, each in its last state.
func journalOf(ctx context.Context, r Replica, q rest.HistoryQuery) (found []wire.Execution, err error) {
	index := map[string]int{}
	add := func(x wire.Execution, seq uint64) {
		if !selects(&q, &x) {
			return
		}
		if seq != 0 {
			x.Seq = seq
		}
		i, known := index[x.ID]
		switch {
		case !known:
			index[x.ID] = len(found)
			found = append(found, x)
		case x.Seq > found[i].Seq:
			found[i] = x
		}
	}
	for cursor := ""; ; {
		page, err := r.Unit.Journal(ctx, cursor, 0)
		if err != nil || len(page.Entries) == 0 {
			return found, err
		}
		for _, e := range page.Entries {
			if e.Execution != nil {
				add(*e.Execution, e.Seq)
			}
			for _, c := range e.Components {
				for _, x := range c.Recent {
					add(x, 0)
				}
			}
		}
		cursor = unitclient.Cursor(page.Instance, page.Entries[len(page.Entries)-1].Seq)
	}
}

// addOutput adds the last lines of output, and adds replicas that cannot be queried to missing.
func (f *Fleet) addOutput(ctx context.Context, executions []rest.Execution, nodes []*topology.Node, missing []rest.Missing) []rest.Missing {
	at := map[string]Replica{}
	now := f.Snapshot()
	for _, n := range nodes {
		for _, r := range f.Reachable(now, n) {
			at[r.Addr.String()] = r
		}
	}
	type place struct{ execution, run int }
	var places []place
	for i, x := range executions {
		for j := range x.Runs {
			places = append(places, place{i, j})
		}
	}
	for i, why := range EachLimited(places, func(p place) string {
		run := &executions[p.execution].Runs[p.run]
		if run.Output != (wire.Output{}) || !run.Removed.IsZero() {
			return ""
		}
		r, reachable := at[run.Replica]
		if !reachable {
			return "its unit does not answer"
		}
		x, err := r.Unit.Execution(ctx, executions[p.execution].ID, 0)
		switch code, _ := wire.FaultCodeOf(err); {
		case err == nil && x.Instance == run.Instance:
			run.Output = x.Output
		case err != nil && code != wire.NoExecution:
			return rest.Of(r.String(), err).Error()
		}
		return ""
	}) {
		x := executions[places[i].execution]
		replica := x.Runs[places[i].run].Replica
		known := slices.ContainsFunc(missing, func(m rest.Missing) bool { return m.Replica == replica })
		if why != "" && !known {
			missing = append(missing, rest.Missing{Node: x.Node, Replica: replica, Why: "the end of what it printed: " + why})
		}
	}
	return missing
}
