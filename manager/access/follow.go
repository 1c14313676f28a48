package access

import (
	"context"
	"crypto/sha256"
	"sync"
	"time"
)

// followers are the long-running requests that end when their callers lose access.
type followers struct {
	mu  sync.Mutex
	all map[*follower]struct{}
}

type follower struct {
	caller Caller
	cancel context.CancelCauseFunc
}

// Follow returns a context that is canceled, with the cause ErrEnded, when the caller's token or session expires
// or the user changes. done releases it.
func (g *Gate) Follow(ctx context.Context, c Caller) (following context.Context, done func()) {
	following, cancel := context.WithCancelCause(ctx)
	f := &follower{c, cancel}
	g.followed.mu.Lock()
	if g.followed.all == nil {
		g.followed.all = map[*follower]struct{}{}
	}
	g.followed.all[f] = struct{}{}
	g.followed.mu.Unlock()
	var timer *time.Timer
	if !c.Expires.IsZero() {
		timer = time.AfterFunc(c.Expires.Sub(g.now()), func() { cancel(ErrEnded) })
	}
	if _, found := g.store.current().as(c); !found { // the user changed after authentication
		cancel(ErrEnded)
	}
	return following, func() {
		if timer != nil {
			timer.Stop()
		}
		g.followed.mu.Lock()
		delete(g.followed.all, f)
		g.followed.mu.Unlock()
		cancel(nil)
	}
}

// endSession cancels the requests that follow a session.
func (f *followers) endSession(session [sha256.Size]byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for one := range f.all {
		if one.caller.session == session {
			one.cancel(ErrEnded)
		}
	}
}

// endedSessions holds signed-out sessions until they would have expired.
type endedSessions struct {
	mu  sync.Mutex
	all map[[sha256.Size]byte]time.Time
}

func (e *endedSessions) add(session [sha256.Size]byte, expires, now time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.all == nil {
		e.all = map[[sha256.Size]byte]time.Time{}
	}
	for one, until := range e.all {
		if !until.After(now) {
			delete(e.all, one)
		}
	}
	e.all[session] = expires
}

func (e *endedSessions) has(session [sha256.Size]byte, now time.Time) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.all[session].After(now)
}

// end cancels the requests of users who have changed and, if the signing key has changed, of callers who
// authenticated with a token or session.
func (f *followers) end(now generations, otherKey bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for one := range f.all {
		if _, found := now.as(one.caller); !found || otherKey && !one.caller.Expires.IsZero() {
			one.cancel(ErrEnded)
		}
	}
}
