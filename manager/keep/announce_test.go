package keep_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toskose/toskose/manager/goal"
	"github.com/toskose/toskose/manager/keep"
	"github.com/toskose/toskose/manager/signature"
	"github.com/toskose/toskose/unit/wire"
)

// targets is where a unit keeps what the goal means for its container.
type targets struct{ of *unit }

func (t targets) Read(context.Context) (wire.Document, error) { return wire.Document{}, nil }

func (t targets) Write(_ context.Context, d wire.Document) error {
	u := t.of
	u.app.mu.Lock()
	defer u.app.mu.Unlock()
	switch now := u.targets; {
	case u.down:
		return errDown
	case u.homeless:
		return keep.ErrNoRoom
	case now.Revision.Compare(d.Revision) >= 0 && now.Revision != d.Replaces:
		return &keep.NewerError{Revision: now.Revision}
	}
	u.targets = d
	return nil
}

const (
	none = `{"components":{}}`
	api  = `{"components":{"api":"running"}}`
	gui  = `{"components":{"gui":"running"}}`
)

func TestEachUnitIsToldWhatTheGoalMeansForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newApplication()
		backend, frontend, away := a.add("backend"), a.add("frontend"), a.add("backend")
		away.down = true
		expect := func(when string, want map[*unit]string) {
			t.Helper()
			a.mu.Lock()
			defer a.mu.Unlock()
			for u, text := range want {
				signed, err := signature.NewKeys(a.secrets).Verify(wire.TargetsDocument, u.targets.Content)
				if got := string(signed.Content); got != text || got != "" && err != nil {
					t.Errorf("%s, %s was told %q, want %q", when, u.id, got, text)
				}
			}
		}
		one, _ := a.keeper(t, "")
		two, _ := a.keeper(t, "")
		time.Sleep(10 * time.Second)
		synctest.Wait()
		expect("before anyone acts", map[*unit]string{backend: "", frontend: ""})
		a.settle(one)
		expect("without a goal", map[*unit]string{backend: none, frontend: none, away: ""})
		if _, err := one.Set(t.Context(), keep.Ask{All: goal.Up}, time.Now()); err != nil {
			t.Fatal(err)
		}
		a.settle(two)
		expect("with everything up", map[*unit]string{backend: api, frontend: gui})
		backend.die("api", true) // a person stopped it: it is on hold
		a.settle(two)
		expect("with api on hold", map[*unit]string{backend: none, frontend: gui})
		a.do(func() { away.down = false })
		fresh := a.add("backend")
		a.settle(one)
		expect("later", map[*unit]string{fresh: none, away: none})
		if _, err := two.Resume(t.Context(), nil, "jo", time.Now()); err != nil {
			t.Fatal(err)
		}
		a.settle(one)
		expect("after the hold", map[*unit]string{backend: api, fresh: api, away: api})
		for range 10 {
			a.settle(one)
		}
		a.do(func() {
			if n := backend.targets.Revision.Counter; n > 8 {
				t.Errorf("two managers that say the same have said it %d times", n)
			}
		})
		if d := two.Status().Decision; !d.Done() {
			t.Errorf("the goal is not reached: %+v", d)
		}
	})
}
