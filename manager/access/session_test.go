package access_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/toskose/toskose/manager/access"
	"github.com/toskose/toskose/manager/users"
)

// byToken is olga, who shows a token, and that token.
func (w *world) byToken() (access.Caller, string) {
	w.Helper()
	token, _, err := w.gate.Issue(w.in("olga", "password of olga", "10.0.0.1"))
	if err != nil {
		w.Fatal(err)
	}
	c, err := w.gate.Token(token)
	if err != nil {
		w.Fatal(err)
	}
	return c, token
}

func TestASessionEndsNoLaterThanTheTokenItIsMadeOf(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c, token := w.byToken()
	w.later(50 * time.Minute)
	session, key, expires, err := w.gate.SignIn(c)
	if err != nil || !expires.Equal(c.Expires) || session == token {
		t.Fatalf("until %s and not %s, %v", expires, c.Expires, err)
	}
	if _, err := w.gate.Token(session); !errors.Is(err, access.ErrDenied) {
		t.Errorf("a session as a token: %v", err)
	}
	if _, err := w.gate.Session(token, key); !errors.Is(err, access.ErrDenied) {
		t.Errorf("a token as a session: %v", err)
	}
	in, err := w.gate.Session(session, key)
	if err != nil || in.Name != "olga" || in.Role != users.Operator || in.Method != access.BySession || !in.Expires.Equal(expires) {
		t.Fatalf("%+v, %v", in, err)
	}
	if other, _, until, err := w.gate.SignIn(in); err != nil || until.After(expires) { // the API refuses it before
		t.Errorf("%s lasts until %s, %v", other, until, err)
	}
	w.later(10*time.Minute - time.Second)
	if _, err := w.gate.Session(session, key); err != nil {
		t.Errorf("a second before its end: %v", err)
	}
	w.later(time.Second)
	if _, err := w.gate.Session(session, key); !errors.Is(err, access.ErrDenied) {
		t.Errorf("at its end: %v", err)
	}
	session, key, expires, err = w.gate.SignIn(w.in("olga", "password of olga", "10.0.0.1"))
	if err != nil || !expires.Equal(w.now.Add(users.TokenLife)) {
		t.Errorf("with a password until %s, %v", expires, err)
	}
	w.later(users.TokenLife)
	if _, err := w.gate.Session(session, key); !errors.Is(err, access.ErrDenied) {
		t.Errorf("with a password, after an hour: %v", err)
	}
}

func TestASessionEndsWithItsUserAndTheKey(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*world) error{
		"removed":      func(w *world) error { return w.list.Remove("olga") },
		"another role": func(w *world) error { return w.list.SetRole("olga", users.Admin) },
		"password":     func(w *world) error { return w.list.SetPassword("olga", "password of olga") },
		"key":          func(w *world) error { w.key = "another key"; return nil },
	} {
		w := newWorld(t)
		c, _ := w.byToken()
		session, key, _, err := w.gate.SignIn(c)
		if err != nil {
			t.Fatal(err)
		}
		in, err := w.gate.Session(session, key)
		if err != nil {
			t.Fatal(err)
		}
		followed, done := w.gate.Follow(t.Context(), in)
		defer done()
		w.change(func() error { return change(w) })
		if _, err := w.gate.Session(session, key); !errors.Is(err, access.ErrDenied) {
			t.Errorf("%s: the session is good: %v", name, err)
		}
		if <-followed.Done(); !errors.Is(context.Cause(followed), access.ErrEnded) {
			t.Errorf("%s: %v", name, context.Cause(followed))
		}
		if name == "key" { // the user is as before
			continue
		}
		if _, _, _, err := w.gate.SignIn(c); !errors.Is(err, access.ErrEnded) {
			t.Errorf("%s: a session for who was let in before: %v", name, err)
		}
	}
}

// Two managers of an application share nothing but its files.
func TestASessionIsGoodAtAnotherManager(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c, _ := w.byToken()
	session, key, _, err := w.gate.SignIn(c)
	if err != nil {
		t.Fatal(err)
	}
	for secret, good := range map[string]bool{"key": true, "kex": false} {
		other, err := access.New(access.Options{
			First: "admin", SecretKey: access.Always(secret), Now: func() time.Time { return w.now }, Password: access.Always("first password"), Users: w.file,
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := other.Session(session, key); (err == nil) != good {
			t.Errorf("with the secret key %q: %v", secret, err)
		}
	}
}

func TestWrongTokensThatAreTypedCountAsWrongPasswords(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, token := w.byToken()
	const from = "10.0.0.9"
	for range 20 { // the same again is no other guess
		if _, err := w.gate.TypedToken(token+"x", from); !errors.Is(err, access.ErrDenied) {
			t.Fatal(err)
		}
	}
	for n := range 4 {
		if _, err := w.gate.TypedToken(fmt.Sprint("wrong ", n), from); !errors.Is(err, access.ErrDenied) {
			t.Fatal(err)
		}
	}
	if _, err := w.gate.TypedToken("wrong again", from); !errors.Is(err, access.ErrOften) {
		t.Errorf("a sixth one: %v", err)
	}
	if _, err := w.login("ann", "password of ann", from); !errors.Is(err, access.ErrOften) {
		t.Errorf("a password from there: %v", err)
	}
	w.in("ann", "password of ann", "10.0.0.8")
	if c, err := w.gate.TypedToken(token, from); err != nil || c.Name != "olga" || c.Method != access.ByToken {
		t.Errorf("the right one: %+v, %v", c, err)
	}
	if _, err := w.gate.Token("wrong as well"); !errors.Is(err, access.ErrDenied) {
		t.Errorf("one of a program: %v", err)
	}
	w.later(20 * time.Second)
	if _, err := w.gate.TypedToken("wrong again", from); !errors.Is(err, access.ErrDenied) {
		t.Errorf("after a while: %v", err)
	}
}

// TestASessionNeedsItsKey has what a page on another port of the host receives.
func TestASessionNeedsItsKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c, _ := w.byToken()
	session, key, _, err := w.gate.SignIn(c)
	if err != nil {
		t.Fatal(err)
	}
	_, other, _, err := w.gate.SignIn(w.in("olga", "password of olga", "10.0.0.1"))
	if err != nil {
		t.Fatal(err)
	}
	for _, wrong := range []string{"", key[1:], other} {
		if _, err := w.gate.Session(session, wrong); wrong != key && !errors.Is(err, access.ErrDenied) {
			t.Errorf("with the key %q: %v", wrong, err)
		}
	}
	if _, err := w.gate.Session(session, key); err != nil {
		t.Error(err)
	}
}

func TestSigningOutEndsTheSessionOnTheServer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c, _ := w.byToken()
	session, key, _, err := w.gate.SignIn(c)
	if err != nil {
		t.Fatal(err)
	}
	in, err := w.gate.Session(session, key)
	if err != nil {
		t.Fatal(err)
	}
	w.later(time.Second)
	another, anotherKey, _, err := w.gate.SignIn(w.in("olga", "password of olga", "10.0.0.1"))
	if err != nil {
		t.Fatal(err)
	}
	followed, done := w.gate.Follow(t.Context(), in)
	defer done()
	w.gate.SignOut(in)
	if _, err := w.gate.Session(session, key); !errors.Is(err, access.ErrDenied) {
		t.Errorf("the session is good: %v", err)
	}
	if !errors.Is(context.Cause(followed), access.ErrEnded) {
		t.Errorf("what it follows goes on: %v", context.Cause(followed))
	}
	if _, err := w.gate.Session(another, anotherKey); err != nil {
		t.Errorf("another session of the user has ended, too: %v", err)
	}
}
