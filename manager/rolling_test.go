package manager_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/toskose/toskose/internal/fakeunit"
	"github.com/toskose/toskose/manager"
	"github.com/toskose/toskose/manager/outcome"
	"github.com/toskose/toskose/unit/wire"
)

// three returns an application with three replicas of the backend.
func three(t *testing.T, end fakeunit.End) (*manager.App, []*fakeunit.Unit) {
	t.Helper()
	found := fakeunit.Containers{}
	var units []*fakeunit.Unit
	for _, instance := range []string{"i1", "i2", "i3"} {
		u := fakeunit.Backend(instance, nil, end)
		units = append(units, u)
		found["backend"] = append(found["backend"], u.Start(t, configured))
	}
	return application(t, found, manager.Options{}), units
}

func TestARollingOperationRunsOnOneReplicaAfterTheOther(t *testing.T) {
	t.Parallel()
	app, units := three(t, fakeunit.End{Target: "started"})
	req := startAPI
	req.MaxUnavailable = 1
	x, err := run(t, app, req)
	if err != nil || len(x.Runs) != 3 {
		t.Fatalf("got %+v, %v", x, err)
	}
	slices.SortFunc(x.Runs, func(a, b outcome.Run) int { return a.Started.Compare(b.Started) })
	for i, r := range x.Runs {
		if r.Outcome != wire.OutcomeSucceeded || i > 0 && r.Started.Before(x.Runs[i-1].Ended) {
			t.Errorf("%+v after %+v", r, x.Runs[max(0, i-1)])
		}
	}
	for _, u := range units {
		if len(u.Executed()) != 1 {
			t.Errorf("%s ran %q", u.Instance, u.Executed())
		}
	}
}

func TestARollingOperationStopsWhereItFails(t *testing.T) {
	t.Parallel()
	app, units := three(t, fakeunit.End{Outcome: wire.OutcomeFailed, ExitCode: 7})
	req := startAPI
	req.MaxUnavailable = 2
	x, err := run(t, app, req)
	if !errors.Is(err, outcome.ErrFailed) || !strings.Contains(err.Error(), "exit code 7") {
		t.Fatalf("got %+v, %v", x, err)
	}
	ran := 0
	for _, u := range units {
		ran += len(u.Executed())
	}
	i := slices.IndexFunc(x.Runs, func(r outcome.Run) bool { return r.Outcome == outcome.Refused })
	if ran != 2 || i != 2 || !strings.Contains(x.Runs[i].Reason, "not begun, because it did not succeed on replica 127.0.0.1:") {
		t.Errorf("%d ran, %+v", ran, x.Runs)
	}
}
