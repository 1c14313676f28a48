package keep_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toskose/toskose/manager/goal"
	"github.com/toskose/toskose/manager/keep"
	"github.com/toskose/toskose/spec/protocol"
	"github.com/toskose/toskose/unit/wire"
)

var (
	schedules = flag.Int("schedules", 3, "how many random schedules two managers go through")
	minutes   = flag.Int("minutes", 2, "how long each of them takes")
	seed      = flag.Uint64("seed", 0, "the first of them")
)

// link is how one manager reaches units. The application's lock guards it.
type link struct {
	app *application
	cut map[*unit]bool
}

func (a *application) link() *link { return &link{app: a, cut: map[*unit]bool{}} }

// keeper runs a Keeper over the link, as application's does without.
func (l *link) keeper(t *testing.T, otherwise string) (*keep.Keeper, func()) {
	t.Helper()
	return l.app.run(t, keep.Options{
		Observe: l.observe, Execute: l.execute, Default: otherwise,
		Copies:  func(_, id string) keep.Copies { u := l.app.unit(id); return remote{l, u, u} },
		Targets: func(_, id string) keep.Copies { u := l.app.unit(id); return remote{l, u, targets{u}} },
	})
}

func (l *link) observe() (goal.Situation, <-chan struct{}) {
	s, superseded := l.app.observe()
	l.app.mu.Lock()
	defer l.app.mu.Unlock()
	for i := range s.Replicas {
		for u := range l.cut {
			if r := &s.Replicas[i]; l.cut[u] && u.id == r.Instance {
				r.Problem, r.Unknown = "it does not answer", true
			}
		}
	}
	return s, superseded
}

// broken reports whether a unit cannot be reached, or is gone.
func (l *link) broken(u *unit) bool {
	l.app.mu.Lock()
	defer l.app.mu.Unlock()
	return u == nil || l.cut[u] || !slices.Contains(l.app.replicas, u)
}

// execute loses the answer where the link is cut meanwhile; the unit goes on.
func (l *link) execute(ctx context.Context, step goal.Step) (uint64, error) {
	u := l.app.unit(step.Instance)
	if l.broken(u) {
		return 0, errDown
	}
	seq, err := l.app.execute(ctx, step)
	if l.broken(u) {
		return 0, errDown
	}
	return seq, err
}

// remote is what a unit keeps, over a link.
type remote struct {
	*link
	unit   *unit
	copies keep.Copies
}

func (r remote) Read(ctx context.Context) (wire.Document, error) {
	if r.broken(r.unit) {
		return wire.Document{}, errDown
	}
	return r.copies.Read(ctx)
}

func (r remote) Write(ctx context.Context, d wire.Document) error {
	if r.broken(r.unit) {
		return errDown
	}
	return r.copies.Write(ctx, d)
}

// schedule is what happens to an application with two managers.
type schedule struct {
	*application
	t     *testing.T
	r     *rand.Rand
	links []*link
	made  []*keep.Keeper

	causes int // goals that were set, components that died, containers that were replaced
}

func (s *schedule) unitAtRandom() *unit {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.replicas[s.r.IntN(len(s.replicas))]
}

// happen does one thing.
func (s *schedule) happen() {
	u, which := s.unitAtRandom(), s.r.IntN(2)
	switch s.r.IntN(6) {
	case 0, 1:
		s.do(func() { s.links[which].cut[u] = !s.links[which].cut[u] })
	case 2, 3:
		s.causes++
		state := []string{goal.Up, goal.Down, protocol.Created}[s.r.IntN(3)]
		ctx, cancel := context.WithTimeout(s.t.Context(), time.Second)
		defer cancel()
		_, _ = s.made[which].Set(ctx, keep.Ask{All: state, By: fmt.Sprint("manager ", which)}, time.Now())
	case 4:
		for name, c := range u.open() {
			if c {
				s.causes++
				u.die(name, s.r.IntN(4) == 0)
			}
		}
	case 5: // its container is replaced
		s.causes++
		s.add(u.node)
		s.do(func() {
			s.replicas = slices.DeleteFunc(slices.Clone(s.replicas), func(o *unit) bool { return o == u })
		})
	}
}

// open returns the components of a unit whose processes may be ended.
func (u *unit) open() map[string]bool {
	u.app.mu.Lock()
	defer u.app.mu.Unlock()
	all := map[string]bool{}
	for name, c := range u.components {
		all[name] = c.Open && c.Executing == nil
	}
	return all
}

// TestTwoManagersAgreeWhateverHappens cuts links and changes the goal at both of two
// managers: then one goal remains, and nothing was run that did not lead on from where
// its component was.
func TestTwoManagersAgreeWhateverHappens(t *testing.T) {
	for n := range *schedules {
		synctest.Test(t, func(t *testing.T) {
			s := &schedule{application: newApplication(), t: t, r: rand.New(rand.NewPCG(*seed+uint64(n), 2))}
			for _, node := range []string{"backend", "backend", "frontend"} {
				s.add(node)
			}
			for range 2 {
				l := s.link()
				k, _ := l.keeper(t, "")
				s.links, s.made = append(s.links, l), append(s.made, k)
			}
			for begun := time.Now(); time.Since(begun) < time.Duration(*minutes)*time.Minute; {
				time.Sleep(time.Duration(s.r.IntN(4000)) * time.Millisecond)
				s.happen()
			}
			s.do(func() {
				for _, l := range s.links {
					clear(l.cut)
				}
			})
			time.Sleep(time.Minute)
			if _, err := s.made[0].Set(t.Context(), keep.Ask{All: goal.Up}, time.Now()); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * time.Minute)
			synctest.Wait()
			s.agreed(*seed + uint64(n))
		})
	}
}

// agreed fails unless both managers and all units have one goal, which is reached.
func (s *schedule) agreed(seed uint64) {
	s.t.Helper()
	one, two := s.made[0].Status(), s.made[1].Status()
	if one.Document.Revision != two.Document.Revision || one.Document.All != goal.Up {
		s.t.Errorf("seed %d: one has %+v, the other %+v", seed, one.Document, two.Document)
	}
	if !one.Decision.Done() || !two.Decision.Done() {
		s.t.Errorf("seed %d: %+v and %+v", seed, one.Decision.Obstacles, two.Decision.Obstacles)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, u := range s.replicas {
		if u.revision != one.Document.Revision {
			s.t.Errorf("seed %d: %s keeps %v", seed, u.id, u.revision)
		}
	}
	for _, odd := range s.odd {
		s.t.Errorf("seed %d: %s", seed, odd)
	}
	if most := 3 * len(s.replicas) * (s.causes + 1); len(s.runs) < s.causes || len(s.runs) > most {
		s.t.Errorf("seed %d: %d operations ran for %d causes", seed, len(s.runs), s.causes)
	}
	s.t.Logf("%d operations for %d causes", len(s.runs), s.causes)
}
