package mirror_test

import (
	"errors"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toskose/toskose/manager/mirror"
)

// TestWhoIsNotLedToAndSaysNothingIsNotThere: it is about to come up, or its machine
// is gone and what replaces it is elsewhere.
func TestWhoIsNotLedToAndSaysNothingIsNotThere(t *testing.T) {
	story(t, func(t *testing.T, w *world, m *mirror.Mirror) {
		led := func(addrs ...netip.Addr) {
			w.mu.Lock()
			w.clients = append([]netip.Addr{}, addrs...)
			w.mu.Unlock()
			time.Sleep(3 * time.Second)
			synctest.Wait()
		}
		expect := func(when string, want ...bool) {
			t.Helper()
			found := replicas(m)
			if len(found) != len(want) {
				t.Fatalf("%s there are %d replicas, want %d", when, len(found), len(want))
			}
			for i, r := range found {
				if r.Resolvable != want[i] {
					t.Errorf("%s names lead to %s: %v", when, r.Address, r.Resolvable)
				}
			}
		}
		two := newUnit("two", "api")
		two.down = errors.New("connection refused")
		w.mu.Lock()
		w.units[second] = two
		w.mu.Unlock()
		led()
		expect("while its unit is heard", false)
		led(first.Addr())
		expect("while all is well", true)
		w.set("backend", first, second)
		led(first.Addr())
		expect("before the second says anything", true)
		two.become(func() { two.down = nil })
		led(first.Addr())
		expect("when the second says something", true, false)
		led(first.Addr(), second.Addr())
		expect("when both are led to", true, true)
		two.become(func() { two.down = errors.New("no route to host") })
		led(first.Addr(), second.Addr())
		expect("when the second is silent", true, true)
		if r := replicas(m)[1]; r.Problem == nil || r.Component("api") == nil {
			t.Errorf("it is shown as %+v", r)
		}
		led(first.Addr())
		expect("when nobody is led to the second any more", true)
		two.become(func() { two.down = nil })
		led(first.Addr())
		expect("when the second is heard again", true, false)
	})
}
