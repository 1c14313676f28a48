package events

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

const (
	ok   = "RESULT 2\nOKREADY\n"
	fail = "RESULT 4\nFAILREADY\n"
)

// fixture is a hub with one pool whose listeners note what they are sent.
type fixture struct {
	hub  Hub
	pool *Pool
	log  bytes.Buffer
}

func newFixture(size int, types ...Type) *fixture {
	f := &fixture{}
	f.pool = NewPool(PoolOptions{
		Name: "ears", Server: "unit", Events: types, BufferSize: size,
		Logger: slog.New(slog.NewTextHandler(&f.log, nil)),
	})
	f.hub.Add(f.pool)
	return f
}

func (f *fixture) emit(names ...string) {
	for _, name := range names {
		f.hub.Emit(Remote(name, ""))
	}
}

// heard is a listener of a test.
type heard struct {
	*Listener
	got  []string // the names that it was told, by emit
	full bool     // it cannot be sent anything
}

// join adds a listener that is running and has said READY.
func (f *fixture) join() *heard {
	h := &heard{}
	h.Listener = f.pool.Join(func(event []byte) bool {
		if h.full {
			return false
		}
		_, payload, _ := strings.Cut(string(event), "\ntype:")
		h.got = append(h.got, strings.TrimSpace(payload))
		return true
	})
	h.Running(true)
	h.Receive([]byte("READY\n"))
	return h
}

func (h *heard) says(words ...string) {
	for _, word := range words {
		h.Receive([]byte(word))
	}
}

func (h *heard) wants(t *testing.T, names ...string) {
	t.Helper()
	h.pool.mu.Lock() // which is held to send
	defer h.pool.mu.Unlock()
	if got, want := strings.Join(h.got, " "), strings.Join(names, " "); got != want {
		t.Errorf("the listener was sent %q, not %q", got, want)
	}
}

func TestAListenerGetsOneEventAfterTheOther(t *testing.T) {
	t.Parallel()
	f := newFixture(10, Any)
	f.emit("early")
	l := f.join()
	f.emit("b", "c")
	l.wants(t, "early")
	l.says("RESULT 2\nOK")
	l.wants(t, "early")
	l.says("READY\n")
	l.wants(t, "early", "b")
	l.says(ok, ok, ok)
	l.wants(t, "early", "b", "c")
	if s := l.State(); s != Unknown { // the last answer was to nothing
		t.Errorf("it is %s", s)
	}
}

func TestAListenerGetsNothingUnlessItIsReadyAndRunning(t *testing.T) {
	t.Parallel()
	f := newFixture(10, Any)
	l := f.join()
	l.Running(false)
	f.emit("a")
	l.wants(t)
	l.Running(true)
	l.wants(t, "a")
	f.emit("b")
	l.Running(false)
	l.says(ok)
	l.wants(t, "a")
}

func TestListenersOfAPoolShareItsEvents(t *testing.T) {
	t.Parallel()
	f := newFixture(10, Any)
	one, two := f.join(), f.join()
	f.emit("a", "b", "c")
	two.says(ok)
	one.wants(t, "a")
	two.wants(t, "b", "c")
}

func TestWhatAListenerRefusesIsDeliveredAgainInItsPlace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(10, Any)
		one, two := f.join(), f.join()
		f.emit("a", "b", "c")
		two.says("RESULT 4\nFAIL")
		one.says("RESULT 4\nFAIL", "READY\n")
		one.wants(t, "a") // and not c, which is behind what waits
		for _, word := range []string{fail, ok, ok, ok} {
			time.Sleep(longestPause)
			synctest.Wait()
			one.says(word)
		}
		one.wants(t, "a", "a", "a", "b", "c")
		if got := strings.Count(f.log.String(), "delivered again"); got != 2 {
			t.Errorf("%d refusals of two events are logged:\n%s", got, &f.log)
		}
	})
}

func TestAnEventThatIsAlwaysRefusedIsDeliveredEverMoreSeldom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // whose clock stands still while anybody works
		f := newFixture(10, Any)
		l := f.join()
		f.emit("a")
		deliveries := func(during time.Duration) (n int) {
			for end := time.Now().Add(during); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
				synctest.Wait()
				if l.State() == Busy {
					n++
					l.says(fail)
				}
			}
			return n
		}
		// At once, and after 0.1, 0.3, 0.7, 1.5, 3.1, 6.3, and 12.7 s; then every 10 s.
		if n := deliveries(20 * time.Second); n != 8 {
			t.Errorf("it is delivered %d times in 20 s", n)
		}
		if n := deliveries(10 * time.Minute); n != 60 {
			t.Errorf("it is delivered %d times in the 10 min after that", n)
		}
	})
}

func TestARefusedEventDoesNotWaitForOneThatWaitsLonger(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(10, Any)
		one, two := f.join(), f.join()
		f.emit("a", "b")
		for range 4 {
			two.says(fail)
			time.Sleep(longestPause)
			synctest.Wait()
		}
		two.says(fail) // b waits for 1.6 s
		one.says("RESULT 4\nFAIL")
		time.Sleep(firstPause)
		synctest.Wait()
		two.wants(t, "b", "b", "b", "b", "b", "a")
	})
}

func TestARelayIsGivenEveryResultWhichAcceptsTheEvent(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		result, want string
		lost         bool
	}{
		"OK":          {"OK", "OK", false},
		"a log":       {"processname:cat groupname:cat pid:1 channel:stdout\none\ntwo\n", "processname:cat groupname:cat pid:1 channel:stdout\none\ntwo\n", false},
		"a long one":  {strings.Repeat("x", maxRelayed), strings.Repeat("x", maxRelayed), false},
		"a longer":    {strings.Repeat("x", maxRelayed+1), strings.Repeat("x", maxRelayed), true},
		"nothing":     {"", "", false},
		"a rejection": {"FAIL", "FAIL", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(10, Any)
			got := ""
			f.pool.o.Relay = func(body string) { got += body }
			l := f.join()
			f.emit("a", "b")
			said := fmt.Sprintf("RESULT %d\n%sREADY\n", len(tt.result), tt.result)
			l.says(said[:len(said)/2], said[len(said)/2:])
			l.wants(t, "a", "b")
			if got != tt.want {
				t.Errorf("%d bytes are relayed, not the first of %d", len(got), len(tt.want))
			}
			if lost := strings.Contains(f.log.String(), "too long"); lost != tt.lost {
				t.Errorf("the log has\n%s", &f.log)
			}
			l.says("nonsense\n")
			if s := l.State(); s != Unknown {
				t.Errorf("it is %s", s)
			}
		})
	}
}

func TestWhatADeadListenerHadGoesToTheNext(t *testing.T) {
	t.Parallel()
	f := newFixture(10, Any)
	l := f.join()
	f.emit("a", "b")
	l.Leave()
	l.says(ok) // of a process that it left
	l.Leave()
	f.emit("c")
	next := f.join()
	next.says(ok, ok)
	next.wants(t, "a", "b", "c")
	l.wants(t, "a")
}

func TestAListenerThatSpeaksNonsenseGetsNothingMore(t *testing.T) {
	t.Parallel()
	for name, disturb := range map[string]func(*heard){
		"while it works":     func(l *heard) { l.says("debug\n") },
		"after an answer":    func(l *heard) { l.says("RESULT 4\nFAILdebug") },
		"unreachable":        func(l *heard) { l.Unreachable(errors.New("broken pipe")) },
		"unreachable, twice": func(l *heard) { l.Unreachable(errors.New("broken pipe")); l.Unreachable(errors.New("again")) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(10, Any)
				l := f.join()
				f.emit("a", "b")
				disturb(l)
				l.says("READY\n", ok)
				l.wants(t, "a")
				if s := l.State(); s != Unknown {
					t.Errorf("it is %s", s)
				}
				if got := strings.Count(f.log.String(), "will get no more events"); got != 1 {
					t.Errorf("that is logged %d times:\n%s", got, &f.log)
				}
				time.Sleep(firstPause)
				synctest.Wait()
				other := f.join()
				other.says(ok)
				other.wants(t, "a", "b")
			})
		})
	}
}

func TestAListenerThatAnswersWithoutReadingGetsNothingMore(t *testing.T) {
	t.Parallel()
	f := newFixture(10, Any)
	l := f.join()
	l.full = true
	f.emit("a", "b")
	if s := l.State(); s != Unknown {
		t.Errorf("it is %s", s)
	}
	next := f.join()
	next.says(ok)
	next.wants(t, "a", "b")
}

func TestAFullBufferDropsTheOldestAndSaysSo(t *testing.T) {
	t.Parallel()
	f := newFixture(3, Any)
	for i := range 10 {
		f.emit(strconv.Itoa(i))
	}
	if got := strings.Count(f.log.String(), "buffer is full"); got != 1 || !strings.Contains(f.log.String(), "pool=ears") {
		t.Errorf("a loss without end is logged %d times:\n%s", got, &f.log)
	}
	l := f.join()
	if !strings.Contains(f.log.String(), "events=7") {
		t.Errorf("the number of those that were lost is not logged:\n%s", &f.log)
	}
	l.says(ok, ok)
	l.wants(t, "7", "8", "9")
}

func TestARefusedEventOutlivesAFullBuffer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(2, Any)
		l := f.join()
		f.emit("a", "b", "c")
		l.says(fail)
		time.Sleep(firstPause)
		synctest.Wait()
		l.says(ok)
		l.wants(t, "a", "a", "c")
	})
}

func TestQuietWaitsForListenersThatCanTakeMore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(10, Any)
		f.emit("a")
		f.pool.Quiet(t.Context(), time.Hour) // nobody could take it
		l := f.join()
		f.emit("b")
		done := make(chan struct{})
		go func() {
			defer close(done)
			f.pool.Quiet(t.Context(), time.Hour)
		}()
		for _, word := range []string{"RESULT 2\nOK", "READY\n", ok} {
			synctest.Wait()
			select {
			case <-done:
				t.Fatalf("it is quiet before %q", word)
			default:
			}
			l.says(word)
		}
		<-done
		f.emit("c")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		f.pool.Quiet(ctx, time.Hour)
	})
}

func TestQuietWaitsForASlowListenerAndNotForOneThatAcceptsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // whose clock stands still while anybody works
		f := newFixture(10, Any)
		l := f.join()
		f.emit("a", "b", "c", "d", "e")
		done := make(chan struct{})
		go func() {
			defer close(done)
			f.pool.Quiet(t.Context(), time.Second)
		}()
		for range 4 {
			time.Sleep(900 * time.Millisecond)
			l.says(ok)
		}
		synctest.Wait()
		select {
		case <-done:
			t.Fatal("a listener that accepts one event after the other is given up")
		default:
		}
		begun := time.Now()
		l.says(fail) // which is no progress
		<-done
		if waited := time.Since(begun); waited != time.Second {
			t.Errorf("what accepts nothing is waited for for %s", waited)
		}
		l.wants(t, "a", "b", "c", "d", "e", "e")
	})
}
