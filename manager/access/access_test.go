package access_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/crypto/argon2"

	"github.com/toskose/toskose/internal/leak"
	"github.com/toskose/toskose/manager/access"
	"github.com/toskose/toskose/manager/users"
)

func TestMain(m *testing.M) { leak.Main(m) }

// world is a gate with its clock and its files.
type world struct {
	*testing.T
	gate *access.Gate

	mu       sync.Mutex
	now      time.Time
	password string
	key      string
	list     users.List
	broken   string // in the place of the file of users
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, now: time.Unix(1_800_000_000, 0), password: "first password\n", key: "key\n"}
	for name, role := range map[string]users.Role{"ann": users.Viewer, "olga": users.Operator} {
		w.list = w.list.With(users.User{Name: name, Role: role, Password: cheap("password of " + name), Generation: "1"})
	}
	gate, err := access.New(access.Options{
		First: "admin", SecretKey: func() ([]byte, error) { w.mu.Lock(); defer w.mu.Unlock(); return []byte(w.key), nil }, Now: func() time.Time { w.mu.Lock(); defer w.mu.Unlock(); return w.now },
		Password: func() ([]byte, error) { w.mu.Lock(); defer w.mu.Unlock(); return []byte(w.password), nil },
		Users:    w.file,
	})
	if err != nil {
		t.Fatal(err)
	}
	w.gate = gate
	return w
}

// cheap is a hash that costs nearly nothing.
func cheap(password string) string {
	sum := argon2.IDKey([]byte(password), []byte("somesalt"), 1, 8, 1, 32)
	return "$argon2id$v=19$m=8,t=1,p=1$c29tZXNhbHQ$" + base64.RawStdEncoding.EncodeToString(sum)
}

func (w *world) file() ([]byte, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.broken != "" {
		return []byte(w.broken), nil
	}
	return w.list.Encode()
}

// change changes the files.
func (w *world) change(f func() error) {
	w.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := f(); err != nil {
		w.Fatal(err)
	}
}

func (w *world) later(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

func (w *world) login(name, password, address string) (access.Caller, error) {
	return w.gate.Password(context.WithoutCancel(w.Context()), name, password, address)
}

// in fails the test unless somebody is let in.
func (w *world) in(name, password, address string) access.Caller {
	w.Helper()
	c, err := w.login(name, password, address)
	if err != nil || c.Name != name {
		w.Fatalf("%s from %s: %+v, %v", name, address, c, err)
	}
	return c
}

func TestUsersComeInWithTheirRoles(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, role := range map[string]users.Role{"ann": users.Viewer, "olga": users.Operator} {
		for range 3 { // also when it is remembered
			if c := w.in(name, "password of "+name, "10.0.0.1"); c.Role != role || c.Method != access.ByPassword {
				t.Errorf("%+v", c)
			}
		}
	}
	if c := w.in("admin", "first password", "10.0.0.1"); c.Role != users.Admin {
		t.Errorf("%+v", c)
	}
	if c, err := w.gate.Certificate("olga"); err != nil || c.Role != users.Operator || c.Method != access.ByCertificate {
		t.Errorf("%+v, %v", c, err)
	}
	if _, err := w.gate.Certificate("backend"); !errors.Is(err, access.ErrDenied) {
		t.Errorf("a certificate of nobody: %v", err)
	}
	for _, c := range [][2]string{{"ann", "password of olga"}, {"olga", ""}, {"", ""}, {"nobody", "password of ann"}} {
		if _, err := w.login(c[0], c[1], "10.0.0.2"); !errors.Is(err, access.ErrDenied) {
			t.Errorf("%q: %v", c, err)
		}
	}
}

func TestARemovedUsersTokenEndsAtOnce(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*world) error{
		"removed":      func(w *world) error { return w.list.Remove("olga") },
		"another role": func(w *world) error { return w.list.SetRole("olga", users.Admin) },
		"password":     func(w *world) error { return w.list.SetPassword("olga", "password of olga") },
	} {
		w := newWorld(t)
		c := w.in("olga", "password of olga", "10.0.0.1")
		token, expires, err := w.gate.Issue(c)
		if err != nil || !expires.Equal(w.now.Add(time.Hour)) {
			t.Fatal(expires, err)
		}
		if by, err := w.gate.Token(token); err != nil || by.Name != "olga" || by.Role != users.Operator || !by.Expires.Equal(expires) {
			t.Fatalf("%+v, %v", by, err)
		}
		followed, done := w.gate.Follow(t.Context(), c)
		defer done()
		w.change(func() error { return change(w) })
		if _, err := w.gate.Token(token); !errors.Is(err, access.ErrDenied) {
			t.Errorf("%s: the token is good: %v", name, err)
		}
		if <-followed.Done(); !errors.Is(context.Cause(followed), access.ErrEnded) {
			t.Errorf("%s: %v", name, context.Cause(followed))
		}
		if _, _, err := w.gate.Issue(c); !errors.Is(err, access.ErrEnded) {
			t.Errorf("%s: a new token for who was let in before: %v", name, err)
		}
		late, done := w.gate.Follow(t.Context(), c)
		defer done()
		if late.Err() == nil {
			t.Errorf("%s: who was let in before may begin to follow", name)
		}
	}
}

func TestTheFirstUsersTokenLivesAsLongAsItsPassword(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	token, _, err := w.gate.Issue(w.in("admin", "first password", "10.0.0.1"))
	if err != nil {
		t.Fatal(err)
	}
	restarted, err := access.New(access.Options{
		First: "admin", SecretKey: access.Always("key"), Now: func() time.Time { return w.now }, Password: access.Always("first password"),
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := restarted.Token(token); err != nil {
		t.Errorf("after a restart: %v", err)
	}
	w.change(func() error { w.password = "second password"; return nil })
	if _, err := w.gate.Token(token); err == nil {
		t.Error("it is good although the password has changed")
	}
	w.in("admin", "second password", "10.0.0.1")
	if _, err := w.login("admin", "first password", "10.0.0.1"); !errors.Is(err, access.ErrDenied) {
		t.Errorf("the old password: %v", err)
	}
}

// TestAnotherSecretKeyEndsTokensAndNothingElse: of the first user, too, whose password
// stays the same.
func TestAnotherSecretKeyEndsTokensAndNothingElse(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	admin := w.in("admin", "first password", "10.0.0.1")
	token, _, err := w.gate.Issue(admin)
	if err != nil {
		t.Fatal(err)
	}
	byToken, err := w.gate.Token(token)
	if err != nil {
		t.Fatal(err)
	}
	kept, done := w.gate.Follow(t.Context(), admin)
	defer done()
	followed, done := w.gate.Follow(t.Context(), byToken)
	defer done()
	w.change(func() error { w.key = "\n"; return nil }) // somebody is writing
	if _, err := w.gate.Token(token); err != nil {
		t.Errorf("while the key is written: %v", err)
	}
	w.change(func() error { w.key = "another key"; return nil })
	if _, err := w.gate.Token(token); !errors.Is(err, access.ErrDenied) {
		t.Errorf("a token of the former key: %v", err)
	}
	if <-followed.Done(); !errors.Is(context.Cause(followed), access.ErrEnded) {
		t.Error(context.Cause(followed))
	}
	if kept.Err() != nil {
		t.Errorf("what was followed with a password ended: %v", context.Cause(kept))
	}
	again, _, err := w.gate.Issue(admin)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.gate.Token(again); err != nil {
		t.Errorf("a token of the new key: %v", err)
	}
}

func TestAFileThatCannotBeReadChangesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.in("ann", "password of ann", "10.0.0.1")
	for _, broken := range []string{"{", `{"users": [{"name": "admin"}]}`} {
		w.change(func() error { w.broken = broken; return nil })
		w.in("ann", "password of ann", "10.0.0.1")
	}
	w.change(func() error { w.broken = ""; w.password = ""; return w.list.Remove("ann") })
	w.in("admin", "first password", "10.0.0.1")
	w.change(func() error { w.password = "first password"; return nil })
	if _, err := w.login("ann", "password of ann", "10.0.0.1"); !errors.Is(err, access.ErrDenied) {
		t.Errorf("who was removed: %v", err)
	}
	for name, opts := range map[string]access.Options{
		"no password":      {First: "admin", Password: access.Always("")},
		"an unread file":   {First: "admin", Password: access.Always("x"), Users: func() ([]byte, error) { return nil, context.Canceled }},
		"the first, again": {First: "ann", Password: access.Always("x"), Users: w.file},
	} {
		if name == "the first, again" {
			w.change(func() error { return w.list.Add("ann", users.Viewer, "password of ann") })
		}
		if _, err := access.New(opts); err == nil {
			t.Errorf("%s: it begins", name)
		}
	}
}

// guess tries other passwords, and counts those that are looked at.
func (w *world) guess(name string, times int, address func(int) string) (tried int) {
	w.Helper()
	for i := range times {
		_, err := w.login(name, fmt.Sprint("guess ", w.now.UnixNano(), i), address(i))
		var often *access.OftenError
		switch {
		case errors.Is(err, access.ErrDenied):
			tried++
		case !errors.As(err, &often) || often.After < time.Second || often.After > time.Minute:
			w.Fatalf("%v", err)
		}
	}
	return tried
}

func TestPasswordsAreGuessedAtNoMoreThanAFewAMinute(t *testing.T) {
	t.Parallel()
	for name, from := range map[string]func(int) string{
		"from one address":        func(int) string { return "10.0.0.9" },
		"from everywhere":         func(i int) string { return fmt.Sprintf("10.0.1.%d", i) },
		"from one IPv6 network":   func(i int) string { return fmt.Sprintf("2001:db8::%x", i) },
		"from nothing that is IP": func(int) string { return "@" },
	} {
		w := newWorld(t)
		if n := w.guess("ann", 20, from); n != 5 {
			t.Errorf("%s: %d at once", name, n)
		}
		for minute := range 3 {
			n := 0
			for range 6 {
				w.later(10 * time.Second)
				n += w.guess("ann", 2, from)
			}
			if n != 3 {
				t.Errorf("%s: %d in minute %d", name, n, minute)
			}
		}
		if _, err := w.login("ann", "password of ann", from(0)); !errors.Is(err, access.ErrOften) {
			t.Errorf("%s: the right one passes the throttle: %v", name, err)
		}
		w.later(2 * time.Minute)
		w.in("ann", "password of ann", from(0))
	}
}

// TestParallelGuessesAreNoMoreThanOthers: of one user from everywhere, and of everybody from
// one address, all at the same time.
func TestParallelGuessesAreNoMoreThanOthers(t *testing.T) {
	t.Parallel()
	for name, who := range map[string]func(int) (user, address string){
		"one user from everywhere":   func(i int) (string, string) { return "ann", fmt.Sprintf("10.0.%d.%d", i/250, i%250) },
		"everybody from one address": func(i int) (string, string) { return fmt.Sprint("user ", i), "10.0.0.9" },
		"two users and addresses":    func(i int) (string, string) { return []string{"ann", "olga"}[i%2], fmt.Sprintf("10.0.0.%d", i%2) },
	} {
		w := newWorld(t)
		pairs := int32(1)
		if name == "two users and addresses" {
			pairs = 2
		}
		for minute, most := range []int32{5 * pairs, 3 * pairs, 3 * pairs} {
			var tried atomic.Int32
			var all sync.WaitGroup
			for i := range 200 {
				all.Go(func() {
					user, address := who(i)
					_, err := w.login(user, fmt.Sprint("guess ", minute, " ", i), address)
					switch {
					case errors.Is(err, access.ErrDenied):
						tried.Add(1)
					case !errors.Is(err, access.ErrOften):
						t.Error(err)
					}
				})
			}
			all.Wait()
			if n := tried.Load(); n != most {
				t.Errorf("%s: %d passwords are looked at in minute %d, not %d", name, n, minute, most)
			}
			w.later(time.Minute)
		}
	}
}

func TestUnknownUsersAreGuessedAtNoFaster(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if n := w.guess("nobody", 8, func(i int) string { return fmt.Sprintf("10.0.1.%d", i) }); n != 5 {
		t.Errorf("%d", n)
	}
}

func TestWhoGuessesElsewhereLocksNobodyOutWhereTheyAre(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.in("ann", "password of ann", "192.0.2.7")
	token, _, err := w.gate.Issue(w.in("ann", "password of ann", "192.0.2.7"))
	if err != nil {
		t.Fatal(err)
	}
	w.guess("ann", 8, func(i int) string { return fmt.Sprintf("10.0.1.%d", i) })
	w.in("ann", "password of ann", "192.0.2.7")
	if _, err := w.login("ann", "password of ann", "192.0.2.8"); !errors.Is(err, access.ErrOften) {
		t.Errorf("from where she never was: %v", err)
	}
	if _, err := w.gate.Token(token); err != nil {
		t.Errorf("with a token: %v", err)
	}
	w.in("olga", "password of olga", "192.0.2.8")
}

func TestAScriptWithAnOldPasswordLocksNobodyOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for range 100 {
		if _, err := w.login("ann", "her old password", "10.0.0.1"); !errors.Is(err, access.ErrDenied) {
			t.Fatal(err)
		}
	}
	w.in("ann", "password of ann", "10.0.0.1")
}

func TestManyAtOnceWithTheRightPasswordAreAllLetIn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var all sync.WaitGroup
	for range 200 {
		all.Go(func() {
			if _, err := w.login("ann", "password of ann", "10.0.0.1"); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

func TestWhatATokenFollowsEndsWithIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.in("ann", "password of ann", "10.0.0.1")
	c.Expires = w.now
	followed, done := w.gate.Follow(t.Context(), c)
	defer done()
	if <-followed.Done(); !errors.Is(context.Cause(followed), access.ErrEnded) {
		t.Error(context.Cause(followed))
	}
	whole, cancel := context.WithCancel(t.Context())
	c.Expires = time.Time{}
	followed, done = w.gate.Follow(whole, c)
	if followed.Err() != nil {
		t.Error(context.Cause(followed))
	}
	cancel()
	<-followed.Done()
	done()
}

func TestChangesAreSeenWithoutRequests(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.in("ann", "password of ann", "10.0.0.1")
	followed, done := w.gate.Follow(t.Context(), c)
	defer done()
	ctx, cancel := context.WithCancel(t.Context())
	watched := make(chan struct{})
	go func() { w.gate.Watch(ctx); close(watched) }()
	w.change(func() error { return w.list.Remove("ann") })
	<-followed.Done()
	cancel()
	<-watched
}

func BenchmarkARememberedPassword(b *testing.B) {
	g, err := access.New(access.Options{First: "admin", Password: access.Always("pw")})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := g.Password(b.Context(), "admin", "pw", "10.0.0.1"); err != nil {
			b.Fatal(err)
		}
	}
}

// TestTheFirstUsersPasswordsOverlap: who came in with the new one, before the old one ended,
// stays; who came in with the old one does not.
func TestTheFirstUsersPasswordsOverlap(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	put := func(text string) { w.change(func() error { w.password = text; return nil }) }
	follow := func(password string) (ended func() bool, token string) {
		c := w.in("admin", password, "192.0.2.1")
		ctx, done := w.gate.Follow(t.Context(), c)
		t.Cleanup(done)
		token, _, err := w.gate.Issue(c)
		if err != nil {
			t.Fatal(err)
		}
		return func() bool { return ctx.Err() != nil }, token
	}
	oldEnded, oldToken := follow("first password")
	put("first password\nsecond password")
	if n := w.gate.Passwords(); n != 2 {
		t.Errorf("%d passwords are right", n)
	}
	newEnded, newToken := follow("second password")
	w.in("admin", "first password", "192.0.2.1")
	put("second password\nsecond password\nfirst password")
	w.in("admin", "first password", "192.0.2.1")
	if oldEnded() || newEnded() {
		t.Error("somebody's right has ended while both passwords were right")
	}
	put("second password")
	if _, err := w.login("admin", "first password", "192.0.2.1"); !errors.Is(err, access.ErrDenied) {
		t.Errorf("with the old password: %v", err)
	}
	w.in("admin", "second password", "192.0.2.1")
	if !oldEnded() || newEnded() {
		t.Errorf("who came in with the old password was put out: %v; with the new one: %v", oldEnded(), newEnded())
	}
	if _, err := w.gate.Token(oldToken); err == nil {
		t.Error("a token of the old password is good")
	}
	if _, err := w.gate.Token(newToken); err != nil {
		t.Errorf("a token of the new password: %v", err)
	}
}
