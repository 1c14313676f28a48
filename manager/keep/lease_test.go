package keep_test

import (
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toskose/toskose/manager/goal"
	"github.com/toskose/toskose/manager/keep"
	"github.com/toskose/toskose/spec/protocol"
)

const leased = 45 * time.Second

// stopped returns a Keeper of an application whose api a client has stopped with a lease.
func stopped(t *testing.T) (a *application, k *keep.Keeper, end func(), api *unit) {
	t.Helper()
	a = newApplication()
	api = a.add("backend")
	a.add("frontend")
	k, end = a.keeper(t, "")
	a.settle(k)
	if _, err := k.Set(t.Context(), keep.Ask{All: goal.Up, By: "jo"}, time.Now()); err != nil {
		t.Fatal(err)
	}
	a.settle(k)
	renew(t, k, false)
	api.die("api", true) // the client stops it
	return a, k, end, api
}

func renew(t *testing.T, k *keep.Keeper, want bool) {
	t.Helper()
	renewed, err := k.Lease(t.Context(), "x", goal.Lease{By: "jo", Components: []string{"api"}, Seconds: leased.Seconds()}, time.Now())
	if err != nil || renewed != want {
		t.Errorf("renewed: %v, %v", renewed, err)
	}
}

// TestComponentsComeBackWhenTheClientThatStoppedThemIsKilled: it renews its lease no more.
func TestComponentsComeBackWhenTheClientThatStoppedThemIsKilled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, k, _, api := stopped(t)
		for range 4 { // longer than the lease lasts
			a.settle(k)
			renew(t, k, true)
		}
		if s := k.Status(); a.state(api, "api") == protocol.Running || s.Document.Holds["api"].Lease != "x" {
			t.Fatalf("with the lease api is %s, %+v", a.state(api, "api"), s.Document)
		}
		asked := k.Status().Document.Asked
		a.settle(k)
		a.settle(k)
		s := k.Status()
		if a.state(api, "api") != protocol.Running || len(s.Document.Holds)+len(s.Document.Leases) > 0 || !s.Decision.Done() || s.Document.Asked != asked {
			t.Errorf("after it api is %s, %+v", a.state(api, "api"), s.Document)
		}
	})
}

// TestALeaseOutlivesItsManagerAndEnds: the next manager measures it by its own clock.
func TestALeaseOutlivesItsManagerAndEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, k, end, api := stopped(t)
		a.settle(k)
		end()
		again, _ := a.keeper(t, "")
		a.settle(again)
		if a.state(api, "api") == protocol.Running {
			t.Error("the next manager does not heed the lease")
		}
		renew(t, again, true)
		a.settle(again)
		if a.state(api, "api") == protocol.Running {
			t.Error("a renewal with the next manager counts for nothing")
		}
		a.settle(again)
		if a.state(api, "api") != protocol.Running {
			t.Errorf("api is %s", a.state(api, "api"))
		}
	})
}

// TestALeaseIsNotEndedByAManagerThatSeesItsRenewalsOnly in the documents of units.
func TestALeaseIsNotEndedByAManagerThatSeesItsRenewalsOnly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, k, _, api := stopped(t)
		other, _ := a.keeper(t, "")
		for range 6 {
			a.settle(other)
			renew(t, k, true)
		}
		if a.state(api, "api") == protocol.Running {
			t.Error("the other manager has ended the lease")
		}
	})
}

// TestALeaseThatEndsGivesItsComponentsBack, and a new goal does not end it.
func TestALeaseThatEndsGivesItsComponentsBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, k, _, api := stopped(t)
		if _, err := k.Set(t.Context(), keep.Ask{All: goal.Up, By: "ann"}, time.Now()); err != nil {
			t.Fatal(err)
		}
		a.settle(k)
		if a.state(api, "api") == protocol.Running {
			t.Error("a new goal has ended the lease")
		}
		if err := errors.Join(k.EndLease(t.Context(), "x", time.Now()), k.EndLease(t.Context(), "y", time.Now())); err != nil {
			t.Error(err)
		}
		if s := a.settle(k); a.state(api, "api") != protocol.Running || len(s.Document.Holds) > 0 {
			t.Errorf("api is %s, %+v", a.state(api, "api"), s.Document)
		}
	})
}

// TestAHoldWhoseLeaseIsLostEnds: a goal that is restored has no leases.
func TestAHoldWhoseLeaseIsLostEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, k, _, api := stopped(t)
		a.settle(k)
		was := k.Status().Document
		text, err := json.Marshal(was.Holds)
		if err != nil {
			t.Fatal(err)
		}
		d := *was
		d.Revision.Counter++
		d.Leases, d.Holds = nil, nil
		if err := json.Unmarshal(text, &d.Holds); err != nil {
			t.Fatal(err)
		}
		if _, err := k.Restore(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		if s := a.settle(k); len(s.Document.Holds) > 0 || a.state(api, "api") != protocol.Running {
			t.Errorf("api is %s, %+v", a.state(api, "api"), s.Document)
		}
	})
}

func TestWithoutAGoalThereIsNoLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newApplication()
		a.add("backend")
		k, _ := a.keeper(t, "")
		a.settle(k)
		if _, err := k.Lease(t.Context(), "x", goal.Lease{Components: []string{"api"}, Seconds: 1}, time.Now()); !errors.Is(err, keep.ErrNoGoal) {
			t.Error(err)
		}
		if s := a.settle(k); s.Document != nil {
			t.Errorf("%+v", s.Document)
		}
	})
}
