package access

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// TestNetworksTakeTurnsInTheQueue has 200 logins from 40 addresses
// wait, some of which were served before.
func TestNetworksTakeTurnsInTheQueue(t *testing.T) {
	for name, tt := range map[string]struct {
		attacker func(i int) string
		most     int // turns before the login from elsewhere
	}{
		"40 addresses":             {func(i int) string { return fmt.Sprintf("192.0.2.%d", i%40) }, 0},
		"many networks of one /48": {func(i int) string { return fmt.Sprintf("2001:db8:0:%x::1", i) }, 0},
		"one address":              {func(int) string { return "192.0.2.1" }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := newQueue()
				for i := range 40 { // each is served once
					if err := q.enter(t.Context(), originOf(tt.attacker(i))); err != nil {
						t.Fatal(err)
					}
					q.leave()
				}
				if err := q.enter(t.Context(), originOf("198.51.100.1")); err != nil {
					t.Fatal(err)
				}
				var order []string
				enter := func(address string) {
					if err := q.enter(t.Context(), originOf(address)); err != nil {
						t.Error(err)
					}
					order = append(order, address)
					q.leave()
				}
				for i := range 200 {
					go enter(tt.attacker(i))
					synctest.Wait()
				}
				go enter("203.0.113.9")
				synctest.Wait()
				q.leave()
				synctest.Wait()
				if at := slices.Index(order, "203.0.113.9"); at < 0 || at > tt.most {
					t.Errorf("the login from elsewhere is number %d of %d", at, len(order))
				}
			})
		})
	}
}

func TestALoginThatIsCancelledLeavesTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue()
		if err := q.enter(t.Context(), originOf("192.0.2.1")); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := q.enter(ctx, originOf("192.0.2.2")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		q.leave()
		if err := q.enter(t.Context(), originOf("192.0.2.3")); err != nil || len(q.waiting) > 0 {
			t.Errorf("%v; %d wait", err, len(q.waiting))
		}
	})
}

// TestTheAddressesOfASiteShareALimit guesses from one /64 after the other of a /48.
func TestTheAddressesOfASiteShareALimit(t *testing.T) {
	t.Parallel()
	th, now := newThrottle(), time.Unix(1_800_000_000, 0)
	for i := range atSite {
		from := originOf(fmt.Sprintf("2001:db8:0:%x::1", i))
		if wait := th.waitAt(from, now); wait > 0 {
			t.Fatalf("guess %d waits for %s", i, wait)
		}
		th.failedAt(from, now)
	}
	if wait := th.waitAt(originOf("2001:db8:0:ffff::1"), now); wait <= 0 {
		t.Error("a site guesses without limit")
	}
	if wait := th.waitAt(originOf("2001:db8:1::1"), now); wait > 0 {
		t.Errorf("another site waits for %s", wait)
	}
}
