package mirror_test

import (
	"errors"
	"fmt"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toskose/toskose/manager/discovery"
	"github.com/toskose/toskose/manager/mirror"
	"github.com/toskose/toskose/manager/unitclient"
	"github.com/toskose/toskose/unit/wire"
)

var third = netip.MustParseAddrPort("10.0.0.3:9001")

// missing gives the instances of the backend that may go on where they are not seen.
func missing(m *mirror.Mirror) (all []string) {
	for _, r := range m.Snapshot().Node("backend").Missing {
		all = append(all, r.Instance)
	}
	return all
}

// is fails unless these instances are missing.
func is(t *testing.T, m *mirror.Mirror, when string, want ...string) {
	t.Helper()
	synctest.Wait()
	if got := missing(m); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s %v are missing, not %v", when, got, want)
	}
}

var (
	errSilence = fmt.Errorf("%w: no answer in time", unitclient.ErrUnreachable)
	errClosed  = fmt.Errorf("%w: %w", unitclient.ErrClosed, unitclient.ErrUnreachable)
)

func TestWhoFellSilentAndIsNotFoundIsMissing(t *testing.T) {
	story(t, func(t *testing.T, w *world, m *mirror.Mirror) {
		w.units[first].become(func() { w.units[first].down = errSilence })
		is(t, m, "while it is found")
		w.set("backend")
		time.Sleep(2 * time.Second)
		is(t, m, "when it is found no longer", "i1")
		time.Sleep(4 * time.Minute)
		is(t, m, "for long", "i1")
		time.Sleep(time.Minute)
		is(t, m, "for very long")
	})
}

func TestWhoIsFoundAgainIsNotMissing(t *testing.T) {
	story(t, func(t *testing.T, w *world, m *mirror.Mirror) {
		w.units[first].become(func() { w.units[first].down = errSilence })
		w.set("backend")
		time.Sleep(2 * time.Second)
		is(t, m, "first", "i1")
		w.set("backend", first)
		time.Sleep(2 * time.Second)
		is(t, m, "found, and silent")
		w.set("backend")
		time.Sleep(2 * time.Second)
		is(t, m, "not found again", "i1")
		w.units[third] = w.units[first] // at another address
		w.units[first].become(func() { w.units[first].down = nil })
		w.set("backend", third)
		time.Sleep(2 * time.Second)
		is(t, m, "heard again")
	})
}

func TestWhoHasEndedIsNotMissing(t *testing.T) {
	for name, end := range map[string]func(*unit){
		"killed":        func(u *unit) { u.down = errClosed },
		"shutting down": func(u *unit) { u.down = wire.NewFault(wire.ShutdownState, "") },
		"silent later":  func(u *unit) { u.down = errClosed },
	} {
		t.Run(name, func(t *testing.T) {
			story(t, func(t *testing.T, w *world, m *mirror.Mirror) {
				u := w.units[first]
				u.become(func() { end(u) })
				synctest.Wait()
				if name == "silent later" {
					u.become(func() { u.down = errSilence })
					time.Sleep(5 * time.Second)
				}
				w.set("backend")
				time.Sleep(2 * time.Second)
				is(t, m, "after its end")
			})
		})
	}
}

func TestWhoIsForgottenBeforeItEndsIsMissingUntilThen(t *testing.T) {
	for name, end := range map[string]func(*unit){
		"killed":       func(u *unit) { u.down = errClosed },
		"shuttingDown": func(u *unit) { u.dismisses = true },
	} {
		t.Run(name, func(t *testing.T) {
			story(t, func(t *testing.T, w *world, m *mirror.Mirror) {
				w.set("backend") // an orchestrator stops it
				time.Sleep(5 * time.Second)
				is(t, m, "while it stops", "i1")
				u := w.units[first]
				u.become(func() { end(u) })
				time.Sleep(time.Second)
				u.become(func() { u.down = errSilence })
				time.Sleep(time.Second)
				is(t, m, "when it has ended")
			})
		})
	}
	t.Run("cut off", func(t *testing.T) {
		story(t, func(t *testing.T, w *world, m *mirror.Mirror) {
			w.set("backend")
			time.Sleep(5 * time.Second)
			w.units[first].become(func() { w.units[first].down = errSilence })
			time.Sleep(time.Minute)
			is(t, m, "for a minute", "i1")
		})
	})
}

func TestWhoComesTakesThePlaceOfWhoIsMissing(t *testing.T) {
	story(t, func(t *testing.T, w *world, m *mirror.Mirror) {
		fourth := netip.MustParseAddrPort("10.0.0.4:9001")
		w.units[second], w.units[third], w.units[fourth] = newUnit("j"), newUnit("k"), newUnit("l")
		w.set("backend", first, second)
		time.Sleep(2 * time.Second)
		for _, at := range []netip.AddrPort{first, second} {
			w.units[at].become(func() { w.units[at].down = errSilence })
		}
		w.set("backend")
		time.Sleep(2 * time.Second)
		if len(missing(m)) != 2 {
			t.Fatalf("%v are missing", missing(m))
		}
		w.set("backend", third)
		time.Sleep(2 * time.Second)
		if len(missing(m)) != 1 {
			t.Errorf("%v are missing", missing(m))
		}
		w.units[third].become(func() { w.units[third].instance = "k2" }) // replaced itself, it takes no other's place
		time.Sleep(time.Minute)
		if len(missing(m)) != 1 {
			t.Errorf("%v are missing", missing(m))
		}
		w.set("backend", third, fourth)
		time.Sleep(2 * time.Second)
		is(t, m, "when all are replaced")
	})
}

func TestWhoIsNotLedToAndSilentIsMissingUntilItIsReplaced(t *testing.T) {
	story(t, func(t *testing.T, w *world, m *mirror.Mirror) {
		w.mu.Lock()
		w.clients = []netip.Addr{}
		w.mu.Unlock()
		w.units[first].become(func() { w.units[first].down = errSilence })
		time.Sleep(2 * time.Second)
		is(t, m, "hidden", "i1")
		w.units[third] = newUnit("k")
		w.set("backend", first, third)
		time.Sleep(2 * time.Second)
		is(t, m, "replaced")
		w.set("backend", third)
		time.Sleep(2 * time.Second)
		is(t, m, "replaced, and found no longer")
		w.units[third].become(func() { w.units[third].down = errSilence })
		time.Sleep(2 * time.Second)
		is(t, m, "the other hidden", "k")
		time.Sleep(5 * time.Minute)
		is(t, m, "for very long")
	})
}

func TestWithoutANameServerWhoIsSilentIsMissingForAWhile(t *testing.T) {
	story(t, func(t *testing.T, w *world, m *mirror.Mirror) {
		w.mu.Lock()
		w.failure = fmt.Errorf("%w: timeout", discovery.ErrUnanswered)
		w.mu.Unlock()
		time.Sleep(2 * time.Second)
		is(t, m, "heard")
		w.units[first].become(func() { w.units[first].down = errSilence })
		time.Sleep(2 * time.Second)
		is(t, m, "silent", "i1")
		time.Sleep(5 * time.Minute)
		is(t, m, "for very long")
		if n := m.Snapshot().Node("backend"); len(n.Replicas) != 0 || !errors.Is(n.Problem, discovery.ErrUnanswered) {
			t.Errorf("%+v", n)
		}
	})
}
