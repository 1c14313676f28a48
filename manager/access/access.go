// Package access authenticates requests to the manager by password, token or client certificate. It reloads the
// users when their file changes, and throttles password guessing. Gate.Watch runs on its caller's goroutine; the
// package starts no other.
package access

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/toskose/toskose/manager/users"
)

// Options configure a Gate.
type Options struct {
	First     string                 // the built-in admin user
	Password  func() ([]byte, error) // reads the first user's passwords, one per line; called for every request
	Users     func() ([]byte, error) // reads the file of the other users; called for every request; nil: no other users
	SecretKey func() ([]byte, error) // reads the key that signs tokens; called for every request; nil: a random key, so tokens expire with the process
	Now       func() time.Time       // nil: time.Now
	Logger    *slog.Logger           // nil: no logging
}

// Always returns a reader of text that never changes.
func Always(text string) func() ([]byte, error) {
	return func() ([]byte, error) { return []byte(text), nil }
}

// Method is how a caller authenticated.
type Method string

// The methods.
const (
	ByPassword    Method = "password"
	ByToken       Method = "token"
	BySession     Method = "session" // of a browser
	ByCertificate Method = "certificate"
)

// Caller is the authenticated user of a request.
type Caller struct {
	Name    string
	Role    users.Role
	Method  Method
	Expires time.Time // of the token or session; zero: neither

	mark    [sha256.Size]byte // of the user at that time
	session [sha256.Size]byte // a digest of it; zero: none
}

// The errors of unauthenticated and unauthorized requests.
var (
	ErrDenied = errors.New("a user and password, or a token, are needed")
	ErrEnded  = errors.New("the right to this request has ended")
	ErrOften  = errors.New("too many failed logins")
)

// OftenError is the error of a login that was throttled: its password was not checked.
type OftenError struct{ After time.Duration }

func (e *OftenError) Error() string {
	return fmt.Sprintf("%v: try again after %s, or with a token", ErrOften, e.After)
}

func often(wait time.Duration) error {
	return &OftenError{(wait + time.Second - 1).Truncate(time.Second)}
}

// Unwrap returns ErrOften.
func (e *OftenError) Unwrap() error { return ErrOften }

// Gate authenticates callers. Its methods are safe for concurrent use.
type Gate struct {
	now      func() time.Time
	store    *store
	process  []byte // a random key for digests that are only kept in memory
	queue    *queue
	throttle *throttle
	verified *memory // accepted passwords
	refused  *memory // refused passwords
	followed followers
	ended    endedSessions
}

// New returns a Gate, or an error if the first user's password or the file of users
// cannot be used.
func New(opts Options) (*Gate, error) {
	g := &Gate{
		now: opts.Now, process: make([]byte, sha256.Size),
		queue: newQueue(), verified: newMemory(), refused: newMemory(),
	}
	if g.now == nil {
		g.now = time.Now
	}
	_, _ = rand.Read(g.process) // never fails
	if opts.SecretKey == nil {
		opts.SecretKey = func() ([]byte, error) { return g.process, nil }
	}
	g.throttle = newThrottle()
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	g.store = &store{opts: opts, changed: g.followed.end}
	if err := g.store.read(); err != nil {
		return nil, err
	}
	return g, nil
}

// Watch reads the files every second until ctx ends, so that a user's open streams end soon after the user is
// removed, even without further requests.
func (g *Gate) Watch(ctx context.Context) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			g.store.current()
		}
	}
}

// Password authenticates a user by password.
//
// A login that succeeded before from the same address needs no hash. All others wait in a queue that serves
// networks round-robin.
func (g *Gate) Password(ctx context.Context, name, password, address string) (Caller, error) {
	attempt := g.attempt(g.store.current().find(name), name, password, address)
	if u, done, err := g.known(attempt); done {
		return let(u, err)
	}
	if err := g.queue.enter(ctx, attempt.from); err != nil {
		return Caller{}, err
	}
	defer g.queue.leave()
	if u, done, err := g.known(attempt); done { // by another request, meanwhile
		return let(u, err)
	}
	for _, one := range attempt.as {
		if one.user.Verify(password) {
			g.verified.add(one.exact)
			g.throttle.succeeded(attempt.login(one))
			return let(one.user, nil)
		}
	}
	g.throttle.failed(attempt.login(attempt.as[0]), g.now())
	for _, one := range attempt.as {
		g.refused.add(one.exact)
	}
	return Caller{}, ErrDenied
}

func let(u users.User, err error) (Caller, error) {
	if err != nil {
		return Caller{}, err
	}
	return caller(u, ByPassword), nil
}

// attempt is one login, by digests that only this process can make.
type attempt struct {
	user [sha256.Size]byte
	from origin
	as   []as // the user with each of their passwords; at least one
}

type as struct {
	user            users.User
	exact, familiar [sha256.Size]byte // digests of user, password and address; familiar omits the password
}

func (a attempt) login(one as) login {
	return login{user: a.user, from: a.from, familiar: one.familiar}
}

func (g *Gate) attempt(all []users.User, name, password, address string) attempt {
	a := attempt{user: g.keyed("user", name), from: originOf(address)}
	for _, u := range all {
		mark := u.Mark()
		a.as = append(a.as, as{u, g.keyed("password", string(mark[:]), name, password, address), g.keyed("address", string(mark[:]), address)})
	}
	return a
}

// known decides about logins without computing a hash. A password that was already refused does not count as
// another guess, so a script with an old password locks no one out. The throttle is checked before remembered
// successes: otherwise a correct guess would bypass it.
func (g *Gate) known(a attempt) (u users.User, done bool, err error) {
	if !slices.ContainsFunc(a.as, func(one as) bool { return !g.refused.has(one.exact) }) {
		return u, true, ErrDenied
	}
	var wait time.Duration
	for i, one := range a.as { // an origin is familiar if any of the passwords was used from it
		if w := g.throttle.wait(a.login(one), g.now()); i == 0 || w < wait {
			wait = w
		}
	}
	if wait > 0 {
		return u, true, often(wait)
	}
	for _, one := range a.as {
		if g.verified.has(one.exact) {
			return one.user, true, nil
		}
	}
	return u, false, nil
}

// Token authenticates a caller by an issued token.
func (g *Gate) Token(token string) (Caller, error) {
	return g.signed(token, users.ForPrograms, ByToken)
}

// Session authenticates a caller by a session and its key, unless the user has signed out. The session alone is
// not enough: browsers send cookies to every port of a host.
func (g *Gate) Session(session, key string) (Caller, error) {
	c, err := g.signed(session, users.ForBrowser, BySession)
	if err != nil {
		return c, err
	}
	_, signer := g.store.signed()
	c.session = sha256.Sum256([]byte(session))
	if !hmac.Equal([]byte(key), []byte(signer.PageKey(session))) {
		return Caller{}, fmt.Errorf("%w: the key of the session is missing or wrong", ErrDenied)
	}
	if g.ended.has(c.session, g.now()) {
		return Caller{}, fmt.Errorf("%w: the session was signed out", ErrDenied)
	}
	return c, nil
}

// SignOut ends the caller's session and the requests that follow it.
func (g *Gate) SignOut(c Caller) {
	if c.Method == BySession {
		g.ended.add(c.session, c.Expires, g.now())
		g.followed.endSession(c.session)
	}
}

// TypedToken authenticates a caller by a token that a person typed. Wrong tokens count as wrong passwords from
// that address. A correct token is accepted from any address: tokens cannot be guessed.
func (g *Gate) TypedToken(token, address string) (Caller, error) {
	c, err := g.Token(token)
	exact, from := g.keyed("token", token, address), originOf(address)
	if err == nil || g.refused.has(exact) {
		return c, err
	}
	if wait := g.throttle.waitAt(from, g.now()); wait > 0 {
		return c, often(wait)
	}
	g.throttle.failedAt(from, g.now())
	g.refused.add(exact)
	return c, err
}

func (g *Gate) signed(text string, use users.Use, by Method) (Caller, error) {
	all, signer := g.store.signed()
	var refused error
	for _, list := range all {
		u, expires, err := signer.Verify(use, text, list, g.now())
		if err == nil {
			c := caller(u, by)
			c.Expires = expires
			return c, nil
		}
		refused = err
	}
	return Caller{}, fmt.Errorf("%w: %w", ErrDenied, refused)
}

// Certificate authenticates the user named in a client certificate. The caller has verified its signature.
func (g *Gate) Certificate(name string) (Caller, error) {
	u := g.store.current().find(name)[0]
	if u.Name == "" {
		return Caller{}, fmt.Errorf("%w: the certificate names no user", ErrDenied)
	}
	return caller(u, ByCertificate), nil
}

// Issue returns a token for a caller, unless the user has changed since authentication.
func (g *Gate) Issue(c Caller) (token string, expires time.Time, err error) {
	return g.sign(c, users.ForPrograms)
}

// SignIn returns a session for a caller and the session's key, unless the user has changed since authentication. A
// session created from a token expires with the token.
func (g *Gate) SignIn(c Caller) (session, key string, expires time.Time, err error) {
	if session, expires, err = g.sign(c, users.ForBrowser); err != nil {
		return "", "", expires, err
	}
	_, signer := g.store.signed()
	return session, signer.PageKey(session), expires, nil
}

func (g *Gate) sign(c Caller, use users.Use) (text string, expires time.Time, err error) {
	all, signer := g.store.signed()
	u, found := all.as(c)
	if !found {
		return "", expires, ErrEnded
	}
	expires = g.now().Add(users.TokenLife).Truncate(time.Second)
	if !c.Expires.IsZero() && c.Expires.Before(expires) {
		expires = c.Expires
	}
	return signer.Sign(use, u, expires), expires, nil
}

// Passwords returns the number of passwords that are valid for the first user.
func (g *Gate) Passwords() int { return len(g.store.current()) }

// Exists reports whether a user has this name. Callers do not log unknown names: people type passwords into name
// fields.
func (g *Gate) Exists(name string) bool {
	return g.store.current().find(name)[0].Name != ""
}

func caller(u users.User, by Method) Caller {
	return Caller{Name: u.Name, Role: u.Role, Method: by, mark: u.Mark()}
}

// keyed returns a digest of texts that only this process can compute.
func (g *Gate) keyed(texts ...string) (sum [sha256.Size]byte) {
	mac := hmac.New(sha256.New, g.process)
	for _, text := range texts {
		fmt.Fprintf(mac, "%d:%s", len(text), text)
	}
	mac.Sum(sum[:0])
	return sum
}
