package access

import (
	"fmt"
	"testing"
	"time"
)

// TestWhoGuessesFromManyAddressesGetsNoMoreForIt: what is remembered of addresses has an
// end, and makes room; of users it has none, so that what was guessed at stays so.
func TestWhoGuessesFromManyAddressesGetsNoMoreForIt(t *testing.T) {
	t.Parallel()
	g, err := New(Options{First: "admin", Password: Always("pw")})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1_800_000_000, 0)
	from := func(name, address string) login {
		a := g.attempt(g.store.first, name, "a guess", address)
		return a.login(a.as[0])
	}
	for range failures {
		g.throttle.failed(from("ann", "192.0.2.1"), now)
	}
	bucket := from("ann", "").bucket()
	// Each that is one too many looks at all of them for those to be forgotten.
	for i := range maxAddresses + maxAddresses/16 {
		l := from(fmt.Sprint("nobody ", i), fmt.Sprintf("10.%d.%d.1", i/250, i%250))
		if l.bucket() == bucket {
			continue // it would be known by chance
		}
		g.throttle.failed(l, now)
	}
	if n := len(g.throttle.addresses); n != maxAddresses {
		t.Errorf("%d addresses are remembered, not %d", n, maxAddresses)
	}
	delete(g.throttle.addresses, originOf("192.0.2.1").address) // it may be one that is left, by chance
	for _, address := range []string{"192.0.2.1", "198.51.100.7", "10.0.0.1", "2001:db8::1"} {
		if wait := g.throttle.wait(from("ann", address), now); wait <= 0 || wait > recovery {
			t.Errorf("the next password of ann from %s is looked at after %v", address, wait)
		}
	}
}
