package keep_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toskose/toskose/manager/goal"
	"github.com/toskose/toskose/manager/keep"
	"github.com/toskose/toskose/manager/signature"
	"github.com/toskose/toskose/spec/protocol"
	"github.com/toskose/toskose/unit/wire"
)

// upThree is an application of three replicas that are up, two of api and one of gui.
func upThree(t *testing.T) (a *application, k *keep.Keeper, units []*unit) {
	t.Helper()
	a = newApplication()
	for _, node := range []string{"backend", "backend", "frontend"} {
		units = append(units, a.add(node))
	}
	k, _ = a.keeper(t, "")
	if _, err := k.Set(t.Context(), keep.Ask{All: goal.Up}, time.Now()); err != nil {
		t.Fatal(err)
	}
	if s := a.settle(k); !s.Decision.Done() {
		t.Fatalf("%+v", s.Decision)
	}
	return a, k, units
}

// set sets a goal, and reports whether more than half keep it soon.
func set(t *testing.T, k *keep.Keeper, state string) (s keep.Status, kept bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	s, err := k.Set(ctx, keep.Ask{All: state}, time.Now())
	if err != nil && !errors.Is(err, keep.ErrNotKept) {
		t.Fatal(err)
	}
	return s, err == nil
}

func TestAManagerThatIsCutOffWithTheFewerObserves(t *testing.T) {
	for name, cut := range map[string]func(a *application, units []*unit){
		"silent":          func(_ *application, units []*unit) { units[1].down, units[2].down = true, true },
		"no longer found": func(a *application, units []*unit) { a.replicas, a.missing = units[:1], []string{"b", "c"} },
		"one of each": func(a *application, units []*unit) {
			units[1].down, a.replicas, a.missing = true, units[:2], []string{"c"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, k, units := upThree(t)
				a.do(func() { cut(a, units) })
				synctest.Wait()
				ran := len(a.runs)
				units[0].die("api", false)
				if s := a.settle(k); s.Acting || len(a.runs) > ran {
					t.Fatalf("one of three acts: %v", a.runs[ran:])
				}
				if s, kept := set(t, k, protocol.Configured); kept || len(s.Lacking) != 2 {
					t.Errorf("one of three keeps a goal: %+v", s)
				}

				// The others get another goal meanwhile. It is found before anything is done
				// for the older one.
				others := goal.Document{All: goal.Down}
				others.Revision = wire.Revision{Counter: 100, ID: "x"}
				others.Asked = others.Revision
				text := encode(t, others)
				a.do(func() {
					for _, u := range units {
						u.down = false
					}
					units[1].text, units[1].revision = text, others.Revision
					units[2].text, units[2].revision = text, others.Revision
					a.replicas, a.missing = units, nil
				})
				s := a.settle(k)
				if !s.Acting || !s.Decision.Done() || s.Document.All != goal.Down {
					t.Errorf("%+v, %+v", s.Document, s.Decision)
				}
				if slices.Contains(a.runs[ran:], "api:start") {
					t.Errorf("for the goal of the fewer ran %v", a.runs[ran:])
				}
			})
		})
	}
}

func TestReplicasThatHaveEndedBlockNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, k, units := upThree(t)
		a.do(func() { a.replicas = units[2:] }) // from two to none
		units[2].die("gui", false)
		if s := a.settle(k); !s.Acting || s.Decision.Wanted != 2 || s.Decision.Done() {
			t.Errorf("one that is left: %+v", s)
		}
		if s, kept := set(t, k, goal.Down); !kept {
			t.Errorf("a goal is not kept by all that there are: %+v", s)
		}
		a.do(func() { a.replicas = nil })
		if s := a.settle(k); s.Acting || s.Known {
			t.Errorf("with none: %+v", s)
		}
		api := a.add("backend")
		if _, kept := set(t, k, goal.Up); !kept {
			t.Error("a goal is not kept by the first that comes")
		}
		if a.settle(k); a.state(api, "api") != protocol.Running {
			t.Errorf("api is %s", a.state(api, "api"))
		}
	})
}

func encode(t *testing.T, d goal.Document) []byte {
	t.Helper()
	text, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	text = signature.NewKeys([]string{"secret"}).Sign(wire.GoalDocument, wire.Document{Revision: d.Revision, Content: text})
	return text
}
