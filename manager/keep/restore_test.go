package keep_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toskose/toskose/manager/goal"
	"github.com/toskose/toskose/manager/keep"
	"github.com/toskose/toskose/spec/protocol"
	"github.com/toskose/toskose/unit/wire"
)

func document(counter uint64, state string) goal.Document {
	revision := wire.Revision{Counter: counter, ID: "a"}
	return goal.Document{Revision: revision, Asked: revision, All: state, By: "jo", At: time.Now().Add(-time.Hour)}
}

// TestAGoalThatAllContainersHaveLostIsRestoredByItsRevision has managers of units that
// keep nothing, an older goal, or a newer one.
func TestAGoalThatAllContainersHaveLostIsRestoredByItsRevision(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		kept  uint64 // the counter of the goal `down` that a unit keeps; 0: none
		later bool   // that unit is found after the goal was restored
		want  uint64
		state string
	}{
		"no unit knows it":                   {0, false, 7, protocol.Running},
		"one unit has an older one":          {3, false, 7, protocol.Running},
		"one unit has a newer one":           {9, false, 9, protocol.Deleted},
		"the unit with an older one is late": {3, true, 3, protocol.Deleted}, // nothing is restored without evidence
		"the unit with a newer one is late":  {9, true, 9, protocol.Deleted},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := newApplication()
				api, gui := a.add("backend"), a.add("frontend")
				if tt.kept != 0 {
					a.do(func() {
						d := document(tt.kept, goal.Down)
						gui.revision, gui.down = d.Revision, tt.later
						gui.text = encode(t, d)
					})
				}
				k, _ := a.keeper(t, "")
				if !tt.later {
					a.settle(k)
				}
				go func() { _, _ = k.Restore(t.Context(), document(7, goal.Up)) }()
				a.settle(k)
				a.do(func() { gui.down = false })
				s := a.settle(k)
				if s.Document == nil || s.Document.Revision.Counter != tt.want || len(s.Lacking) > 0 {
					t.Errorf("%+v holds, and is not on %v", s.Document, s.Lacking)
				}
				if state := a.state(api, "api"); state != tt.state {
					t.Errorf("api is %s", state)
				}
			})
		})
	}
}

func TestAGoalThatIsRestoredKeepsWhatItWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newApplication()
		a.add("backend")
		k, _ := a.keeper(t, "")
		d := document(7, goal.Up)
		d.Holds = map[string]goal.Hold{"api": {By: "jo"}}
		s, err := k.Restore(t.Context(), d)
		if err != nil || s.Document.Revision.Counter != 7 || s.Document.Revision.ID == d.Revision.ID || s.Document.By != "jo" || len(s.Document.Holds) != 1 {
			t.Errorf("%+v, %v", s.Document, err)
		}
		d.States = map[string]string{strings.Repeat("x", goal.MaxDocument): goal.Up}
		d.Revision.Counter++
		if _, err := k.Restore(t.Context(), d); !errors.Is(err, keep.ErrTooLarge) {
			t.Errorf("one that no unit can keep: %v", err)
		}
		if _, err := k.Set(t.Context(), keep.Ask{States: d.States}, time.Now()); !errors.Is(err, keep.ErrTooLarge) {
			t.Errorf("one that no unit can keep: %v", err)
		}
		if s, err = k.Set(t.Context(), keep.Ask{All: goal.Down}, time.Now()); err != nil || s.Document.Revision.Counter != 8 {
			t.Errorf("the next is %+v, %v", s.Document, err)
		}
	})
}
