package manager

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toskose/toskose/manager/goal"
	"github.com/toskose/toskose/manager/mirror"
	"github.com/toskose/toskose/manager/rest"
	"github.com/toskose/toskose/manager/traces"
	"github.com/toskose/toskose/unit/wire"
)

// traced exports the ended executions of the application, and the ways to its goals.
type traced struct {
	to     *traces.Traces
	status func() (view rest.Goal, decided bool) // decided: this manager acts, and knows the state

	mu    sync.Mutex
	goal  string       // the revision in which the current goal was set
	began bool         // the goal was observed before
	way   *traces.Way  // nil: the goal is reached, or is not reachable
	ways  []traces.Way // the last ones, for executions that end later
}

// maxWays is how many ways are remembered.
const maxWays = 16

func (a *App) exportTraces(to *traces.Traces) {
	t := &traced{to: to, status: func() (rest.Goal, bool) {
		s := a.keeper.Status()
		return goalView(s), s.Known && s.Acting && s.Decision != nil
	}}
	a.fleet.Go(func(life context.Context) { t.followGoal(life, a.keeper.Changed) })
	a.fleet.Go(func(life context.Context) { t.followExecutions(life, a.fleet.Stream) })
}

// followGoal observes the goal until life ends.
func (t *traced) followGoal(life context.Context, changed func() <-chan struct{}) {
	for life.Err() == nil {
		next := changed()
		t.observe(time.Now())
		select {
		case <-next:
		case <-life.Done():
		}
	}
}

// followExecutions exports executions as they end, until life ends.
func (t *traced) followExecutions(life context.Context, stream func(after string) *mirror.Stream) {
	events := stream(mirror.Latest + "0")
	for life.Err() == nil {
		next, err := events.Next(life)
		if err != nil { // this goroutine was too slow
			events = stream(mirror.Latest + "0")
		}
		for i := range next {
			if e := &next[i]; e.Execution != nil && (e.Kind == string(wire.EntryExit) || e.Kind == string(wire.EntryBoot) && e.Execution.Outcome == wire.OutcomeLost) {
				t.execution(e)
			}
		}
	}
}

func (t *traced) execution(e *mirror.Event) {
	x := e.Execution
	if !goal.Ours(x.ID) {
		t.to.Execution(x, e.Node, e.Replica, e.Instance, nil)
		return
	}
	t.observe(time.Now())
	t.mu.Lock()
	defer t.mu.Unlock()
	if of := t.wayAt(x.Started); of != nil { // another manager acts, and exports it
		t.to.Execution(x, e.Node, e.Replica, e.Instance, of)
	}
}

// wayAt returns the way that an execution of the goal belongs to: the last one that began before it or, as clocks
// differ, the first one. The caller holds the lock.
func (t *traced) wayAt(started time.Time) *traces.Way {
	for i := range slices.Backward(t.ways) {
		if i == 0 || !t.ways[i].Began.After(started) {
			return &t.ways[i]
		}
	}
	return nil
}

// observe exports the ways that have ended, and begins others.
func (t *traced) observe(now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	view, decided := t.status()
	if !decided {
		return
	}
	key := view.Asked
	if view.Default {
		key = "default"
	}
	if key == "" {
		return
	}
	if key != t.goal {
		if t.way != nil {
			t.end(traces.End{At: now, Wanted: view.Wanted})
		}
		first := !t.began
		t.goal, t.began = key, true
		if first && view.Done {
			return // another manager has exported it
		}
		t.begin(view, view.At)
	}
	switch {
	case view.Done && t.way != nil:
		t.end(traces.End{At: now, Reached: true, Wanted: view.Wanted})
	case view.Done:
	case view.Stuck && t.way != nil:
		t.end(traces.End{At: now, Why: obstacles(view.Obstacles), Wanted: view.Wanted})
	case !view.Stuck && t.way == nil:
		t.begin(view, now)
	}
}

// begin begins a way. The caller holds the lock.
func (t *traced) begin(view rest.Goal, at time.Time) {
	if at.IsZero() {
		at = time.Now()
	}
	t.way = &traces.Way{Goal: t.goal, State: view.State, By: view.By, Began: at}
	t.ways = append(t.ways, *t.way)
	t.ways = t.ways[max(0, len(t.ways)-maxWays):]
}

// end exports the current way. The caller holds the lock.
func (t *traced) end(with traces.End) {
	t.to.Way(*t.way, with)
	t.way = nil
}

// obstacles joins the obstacles that nothing will remove.
func obstacles(all []goal.Obstacle) string {
	var final []string
	for _, o := range all {
		if o.Final {
			final = append(final, o.String())
		}
	}
	return strings.Join(final, "; ")
}
