package fleet_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/toskose/toskose/internal/fakeunit"
	"github.com/toskose/toskose/manager/fleet"
	"github.com/toskose/toskose/manager/mirror"
	"github.com/toskose/toskose/manager/rest"
	"github.com/toskose/toskose/unit/wire"
)

// historyOf runs an operation n times on each of two replicas, with the ids x-0, x-1 and so on.
func historyOf(t *testing.T, n int) *engine {
	t.Helper()
	one, two := fakeunit.Backend("i1", nil, fakeunit.End{Target: "configured", Stdout: "up"}), fakeunit.Backend("i2", nil, fakeunit.End{Target: "configured"})
	e := newEngine(t, fakeunit.Containers{"backend": {one.Start(t, configured), two.Start(t, configured)}}, fleet.Options{})
	for i := range n {
		req := startAPI
		req.ID, req.By = fmt.Sprintf("x-%d", i), []string{"ann", "bob"}[i%2]
		if _, err := run(t, e, req); err != nil {
			t.Fatal(err)
		}
	}
	return e
}

func idsOf(page rest.History) (ids []string) {
	for _, x := range page.Executions {
		ids = append(ids, x.ID)
	}
	return ids
}

// TestTheHistoryReachesBackToTheJournals runs more executions than the mirror remembers.
func TestTheHistoryReachesBackToTheJournals(t *testing.T) {
	t.Parallel()
	const n = mirror.Remembered + 4
	e := historyOf(t, n)
	var want, got []string
	for i := range n {
		want = append(want, fmt.Sprintf("x-%d", n-1-i))
	}
	for q := (rest.HistoryQuery{Limit: 7}); ; {
		page, err := e.fleet.History(t.Context(), q)
		if err != nil || len(page.Missing) > 0 {
			t.Fatalf("%+v, %v", page.Missing, err)
		}
		got = append(got, idsOf(page)...)
		for _, x := range page.Executions {
			if len(x.Runs) != 2 || x.Outcome != wire.OutcomeSucceeded {
				t.Errorf("%s has the outcome %s and %d runs", x.ID, x.Outcome, len(x.Runs))
			}
		}
		if q.After = page.Next; q.After == "" {
			break
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("the pages have %q, not %q", got, want)
	}
}

func TestAHistoryIsSelected(t *testing.T) {
	t.Parallel()
	e := historyOf(t, 4)
	for name, tt := range map[string]struct {
		query rest.HistoryQuery
		want  []string
	}{
		"by user":             {rest.HistoryQuery{By: "bob"}, []string{"x-3", "x-1"}},
		"by the bare name":    {rest.HistoryQuery{Operation: "start", By: "ann"}, []string{"x-2", "x-0"}},
		"by the whole name":   {rest.HistoryQuery{Operation: "Standard.start"}, []string{"x-3", "x-2", "x-1", "x-0"}},
		"another operation":   {rest.HistoryQuery{Operation: "stop"}, nil},
		"another outcome":     {rest.HistoryQuery{Outcome: string(wire.OutcomeFailed)}, nil},
		"of a component":      {rest.HistoryQuery{Node: "backend", Component: "api", Limit: 1}, []string{"x-3"}},
		"of a task's index":   {rest.HistoryQuery{Index: new(int)}, nil},
		"of a standalone one": {rest.HistoryQuery{Node: "store"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tt.query.Limit == 0 {
				tt.query.Limit = 10
			}
			page, err := e.fleet.History(t.Context(), tt.query)
			if got := idsOf(page); err != nil || !slices.Equal(got, tt.want) {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
	for name, q := range map[string]rest.HistoryQuery{"a position of another API": {After: "5"}, "an unknown node": {Node: "nowhere"}} {
		if _, err := e.fleet.History(t.Context(), q); !errors.Is(err, rest.ErrInvalid) && !errors.Is(err, rest.ErrUnknownNode) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAHistoryHasTheOutputOfUnits(t *testing.T) {
	t.Parallel()
	e := historyOf(t, 1)
	page, err := e.fleet.History(t.Context(), rest.HistoryQuery{Limit: 1, Output: true})
	if err != nil || len(page.Executions) != 1 {
		t.Fatalf("%+v, %v", page, err)
	}
	for _, r := range page.Executions[0].Runs {
		if (r.Instance == "i1") != (r.Stdout == "up") {
			t.Errorf("%s printed %q", r.Instance, r.Stdout)
		}
	}
}
