package keep_test

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toskose/toskose/manager/goal"
	"github.com/toskose/toskose/manager/keep"
	"github.com/toskose/toskose/manager/signature"
	"github.com/toskose/toskose/spec/protocol"
	"github.com/toskose/toskose/unit/wire"
)

// store puts a document into a unit, as anyone can who knows its password.
func (u *unit) store(revision wire.Revision, text []byte) {
	u.app.do(func() { u.revision, u.text = revision, text })
}

// unsignedText is a document as the release before stored it.
func unsignedText(t *testing.T, d goal.Document) []byte {
	t.Helper()
	text, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func (a *application) noticed(kind string) (all []keep.Notice) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, n := range a.notices {
		if n.Kind == kind {
			all = append(all, n)
		}
	}
	return all
}

// TestAForgedGoalOfOneUnitIsIgnoredReportedAndReplaced has the attack that once took over
// the goal of an application permanently.
func TestAForgedGoalOfOneUnitIsIgnoredReportedAndReplaced(t *testing.T) {
	highest := wire.Revision{Counter: math.MaxUint64, ID: "zzzzzzzzzz"}
	forged := goal.Document{Revision: highest, Asked: highest, All: goal.Down, By: "admin", At: time.Now()}
	for name, text := range map[string]func(t *testing.T) []byte{
		"without a signature": func(t *testing.T) []byte { return unsignedText(t, forged) },
		"signed with another key": func(t *testing.T) []byte {
			d := forged
			d.Revision.Counter = 99
			return signature.NewKeys([]string{"guess"}).Sign(wire.GoalDocument, wire.Document{Revision: d.Revision, Content: unsignedText(t, d)})
		},
		"with a revision that cannot be": func(t *testing.T) []byte { return encode(t, forged) },
		"that is not a document":         func(*testing.T) []byte { return []byte("{") },
	} {
		for _, restarted := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					a := newApplication()
					api, gui := a.add("backend"), a.add("frontend")
					k, end := a.keeper(t, "")
					if _, err := k.Set(t.Context(), keep.Ask{All: goal.Up}, time.Now()); err != nil {
						t.Fatal(err)
					}
					a.settle(k)
					if restarted {
						end()
					}
					gui.store(highest, text(t))
					if restarted {
						k, _ = a.keeper(t, "")
					}
					if s := a.settle(k); s.Document.All != goal.Up || s.Document.Revision.Counter > 2 || a.state(api, "api") != protocol.Running {
						t.Errorf("the forged goal is current: %+v; api is %s", s.Document, a.state(api, "api"))
					}
					if n := a.noticed(keep.GoalRejected); len(n) == 0 || n[0].Replica != gui.id {
						t.Errorf("it is not reported: %+v", n)
					}
					if d, err := k.Set(t.Context(), keep.Ask{All: goal.Down}, time.Now()); err != nil || d.Document.Revision.Counter != 2 {
						t.Errorf("the next goal: %+v, %v", d.Document, err)
					}
					if s := a.settle(k); len(s.Lacking)+len(s.Rejected) > 0 || a.state(api, "api") != protocol.Deleted || gui.revision != s.Document.Revision {
						t.Errorf("the unit has not been given the goal: %+v; it keeps %s", s, gui.revision)
					}
				})
			})
		}
	}
}

func TestAForgedGoalBeforeAnyGoalIsSetIsIgnored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newApplication()
		api, gui := a.add("backend"), a.add("frontend")
		d := document(5, goal.Up)
		gui.store(d.Revision, unsignedText(t, d))
		k, _ := a.keeper(t, "")
		if s := a.settle(k); s.Document != nil || len(s.Rejected) != 1 || a.state(api, "api") == protocol.Running {
			t.Errorf("%+v", s)
		}
		if n := a.noticed(keep.GoalRejected); len(n) != 1 {
			t.Errorf("it is reported %d times", len(n))
		}
	})
}

func TestTheGoalOfAReleaseThatDidNotSignIsAdoptedOnce(t *testing.T) {
	for name, tt := range map[string]struct {
		kept    []int // the counters that three units on two nodes keep; 0: none
		adopted bool
	}{
		"all units keep it":                    {[]int{5, 5, 5}, true},
		"one holds a later revision":           {[]int{5, 5, 6}, true},
		"only the units of one node keep it":   {[]int{5, 5, 0}, false},
		"fewer than half of the units keep it": {[]int{0, 0, 5}, false},
		"each keeps another one":               {[]int{5, 6, 7}, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := newApplication()
				units := []*unit{a.add("backend"), a.add("backend"), a.add("frontend")}
				for i, counter := range tt.kept {
					if counter == 0 {
						continue
					}
					d := document(uint64(counter), goal.Up)
					d.Asked = wire.Revision{Counter: 5, ID: "a"}
					units[i].store(d.Revision, unsignedText(t, d))
				}
				k, _ := a.keeper(t, "")
				s := a.settle(k)
				if adopted := s.Document != nil; adopted != tt.adopted || len(a.noticed(keep.GoalAdopted)) > 0 != tt.adopted {
					t.Fatalf("%+v; %+v", s.Document, a.notices)
				}
				if !tt.adopted {
					return
				}
				for _, u := range units {
					if _, err := signature.NewKeys(a.secrets).Verify(wire.GoalDocument, u.text); err != nil {
						t.Errorf("%s keeps it without a signature: %v", u.id, err)
					}
				}
				later := document(90, goal.Down) // from now on a document without a signature is a forged one
				for _, u := range units {
					u.store(later.Revision, unsignedText(t, later))
				}
				if s := a.settle(k); s.Document.All != goal.Up {
					t.Errorf("%+v", s.Document)
				}
			})
		})
	}
}

func TestTheGoalIsSignedAnewWhileTheSecretKeyIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newApplication()
		api := a.add("backend")
		a.add("frontend")
		a.add("frontend").homeless = true // it stores nothing, and holds up no rotation
		k, end := a.keeper(t, "")
		if _, err := k.Set(t.Context(), keep.Ask{All: goal.Up}, time.Now()); err != nil {
			t.Fatal(err)
		}
		a.settle(k)
		for _, secrets := range [][]string{{"secret", "new"}, {"new", "secret"}, {"new"}} {
			a.do(func() { a.secrets = secrets })
			end()
			k, end = a.keeper(t, "")
			s := a.settle(k)
			if s.Document == nil || s.Document.All != goal.Up || len(s.Rejected) > 0 || !k.Signing().Current || k.Signing().Keys != len(secrets) {
				t.Errorf("with %q: %+v, %+v", secrets, s, k.Signing())
			}
		}
		if signed, err := signature.NewKeys([]string{"new"}).Verify(wire.GoalDocument, api.text); err != nil {
			t.Errorf("%v: %+v", err, signed)
		}
		if n := a.noticed(keep.GoalResigned); len(n) != 1 {
			t.Errorf("it was signed anew %d times", len(n))
		}
	})
}

func TestARestoredGoalCannotLockOthersOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newApplication()
		a.add("backend")
		a.add("frontend")
		k, _ := a.keeper(t, "")
		a.settle(k)
		highest := document(math.MaxUint64, goal.Down)
		if _, err := k.Restore(t.Context(), highest); err != nil {
			t.Fatal(err)
		}
		s, err := k.Set(t.Context(), keep.Ask{All: goal.Up, By: "admin"}, time.Now())
		if err != nil || s.Document.All != goal.Up || s.Document.Revision.Counter > 1<<21 {
			t.Errorf("%+v, %v", s.Document, err)
		}
		if s := a.settle(k); s.Document.By != "admin" || !s.Decision.Done() {
			t.Errorf("%+v", s.Document)
		}
	})
}

// TestAGoalThatIsAcceptedIsNotLostToAnOlderOne has a manager start while no unit runs.
func TestAGoalThatIsAcceptedIsNotLostToAnOlderOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newApplication()
		api, gui := a.add("backend"), a.add("frontend")
		before, end := a.keeper(t, "")
		for _, state := range []string{goal.Up, goal.Down, goal.Up} {
			if _, err := before.Set(t.Context(), keep.Ask{All: state}, time.Now()); err != nil {
				t.Fatal(err)
			}
		}
		end()
		a.do(func() { a.replicas = nil })
		k, _ := a.keeper(t, "")
		s, err := k.Set(t.Context(), keep.Ask{All: goal.Down}, time.Now())
		if err == nil || s.Acting || s.Known || !strings.Contains(err.Error(), "nothing was changed") {
			t.Fatalf("a goal is accepted that can be lost: %+v, %v", s, err)
		}
		a.do(func() { a.replicas = []*unit{api, gui} })
		a.settle(k)
		if _, err := k.Set(t.Context(), keep.Ask{All: goal.Down}, time.Now()); err != nil {
			t.Fatal(err)
		}
		if s := a.settle(k); s.Document.All != goal.Down || s.Document.Revision.Counter != 4 {
			t.Errorf("%+v", s.Document)
		}
	})
}

func TestTargetsThatWereForgedAreReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newApplication()
		u, other := a.add("backend"), a.add("frontend")
		a.do(func() {
			u.targets = wire.Document{Revision: wire.Revision{Counter: math.MaxUint64, ID: "z"}, Content: []byte(none)}
		})
		k, _ := a.keeper(t, "")
		if _, err := k.Set(t.Context(), keep.Ask{All: goal.Up}, time.Now()); err != nil {
			t.Fatal(err)
		}
		a.settle(k)
		for _, u := range []*unit{u, other} {
			signed, err := signature.NewKeys(a.secrets).Verify(wire.TargetsDocument, u.targets.Content)
			if err != nil || !slices.Contains([]string{api, gui}, string(signed.Content)) || u.targets.Revision.Counter > 10 {
				t.Errorf("%s has %s: %v", u.id, u.targets.Content, err)
			}
		}
	})
}
