package access

import (
	"crypto/sha256"
	"encoding/binary"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// How many wrong passwords are allowed, per user and per address.
const (
	failures = 5                // at once
	atSite   = 4 * failures     // at once, from all addresses of a site
	recovery = 20 * time.Second // until one more
)

// Limits on the throttle's memory.
const (
	userBuckets  = 4096 // users share them by chance: names that do not exist cost nothing
	maxAddresses = 4096
	maxMemory    = 4096
)

// login is the user name of a login and its origin.
type login struct {
	user     [sha256.Size]byte
	from     origin
	familiar [sha256.Size]byte // digest of the user's current state and the address
}

func newLimiter(burst int) *rate.Limiter { return rate.NewLimiter(rate.Every(recovery), burst) }

// delay returns how long a limiter blocks. A nil limiter allows everything.
func delay(l *rate.Limiter, now time.Time) time.Duration {
	if l == nil {
		return 0
	}
	return time.Duration((1 - l.TokensAt(now)) * float64(recovery))
}

// throttle counts wrong passwords per user and per address. After too many from an address, it checks no password
// from there. After too many for a user, it checks none from origins where that user has never logged in, so that
// guessing elsewhere does not lock out a user at a familiar address.
type throttle struct {
	mu        sync.Mutex
	users     [userBuckets]*rate.Limiter // nil: no failure yet
	addresses map[netip.Prefix]*rate.Limiter
	familiar  *memory
}

func newThrottle() *throttle {
	return &throttle{addresses: map[netip.Prefix]*rate.Limiter{}, familiar: newMemory()}
}

// wait returns how long to wait before a password is checked; 0 or less means not at all.
func (t *throttle) wait(l login, now time.Time) time.Duration {
	familiar := t.familiar.has(l.familiar)
	t.mu.Lock()
	defer t.mu.Unlock()
	wait := t.waitFrom(l.from, now)
	if !familiar {
		wait = max(wait, delay(t.users[l.bucket()], now))
	}
	return wait
}

func (t *throttle) waitAt(from origin, now time.Time) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.waitFrom(from, now)
}

// waitFrom is waitAt for a caller who holds the lock.
func (t *throttle) waitFrom(from origin, now time.Time) time.Duration {
	wait := delay(t.addresses[from.address], now)
	if from.site != from.address {
		wait = max(wait, delay(t.addresses[from.site], now))
	}
	return wait
}

func (l login) bucket() uint64 { return binary.BigEndian.Uint64(l.user[:8]) % userBuckets }

func (t *throttle) failed(l login, now time.Time) {
	familiar := t.familiar.has(l.familiar)
	t.failedAt(l.from, now)
	if familiar {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	user := &t.users[l.bucket()]
	if *user == nil {
		*user = newLimiter(failures)
	}
	(*user).ReserveN(now, 1)
}

// failedAt counts a failure that names no user.
func (t *throttle) failedAt(from origin, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.count(from.address, failures, now)
	if from.site != from.address {
		t.count(from.site, atSite, now)
	}
}

// count adds a failure from a network. The caller holds the lock.
func (t *throttle) count(address netip.Prefix, burst int, now time.Time) {
	l := t.addresses[address]
	if l == nil {
		if len(t.addresses) >= maxAddresses {
			t.forget(now)
		}
		l = newLimiter(burst)
		t.addresses[address] = l
	}
	l.ReserveN(now, 1)
}

// forget makes room for one address. It removes addresses whose failures have expired; if there are none, an
// arbitrary one.
func (t *throttle) forget(now time.Time) {
	for address, l := range t.addresses {
		if l.TokensAt(now) >= float64(l.Burst()) {
			delete(t.addresses, address)
		}
	}
	for address := range t.addresses {
		if len(t.addresses) < maxAddresses {
			return
		}
		delete(t.addresses, address)
	}
}

func (t *throttle) succeeded(l login) { t.familiar.add(l.familiar) }

// origin is where a login comes from: the network that counts as one address, and the site it belongs to. For IPv6
// these are a /64 (one link) and a /48 (one customer); for IPv4 both are the address.
type origin struct{ address, site netip.Prefix }

func originOf(address string) origin {
	a, err := netip.ParseAddr(address)
	if err != nil {
		return origin{} // invalid addresses share one
	}
	link, site := 32, 32
	if a = a.Unmap().WithZone(""); a.Is6() {
		link, site = 64, 48
	}
	var o origin
	o.address, _ = a.Prefix(link) // the bits fit
	o.site, _ = a.Prefix(site)
	return o
}

// memory is a bounded set of digests that evicts arbitrary members when it is full. The throttle limits how fast
// clients without a correct password can add to it.
type memory struct {
	mu  sync.RWMutex
	set map[[sha256.Size]byte]struct{}
}

func newMemory() *memory { return &memory{set: map[[sha256.Size]byte]struct{}{}} }

func (m *memory) has(d [sha256.Size]byte) bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	_, found := m.set[d]
	return found
}

func (m *memory) add(d [sha256.Size]byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for old := range m.set {
		if len(m.set) < maxMemory {
			break
		}
		delete(m.set, old)
	}
	m.set[d] = struct{}{}
}
