package mirror_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toskose/toskose/manager/mirror"
)

// doubts returns why Verify doubts what is known of the backend; empty: it does not.
func doubts(t *testing.T, m *mirror.Mirror) string {
	t.Helper()
	found := m.Verify(t.Context())
	if len(found) == 0 {
		return ""
	}
	if len(found) > 1 || found[0].Replica.Node != "backend" {
		t.Errorf("there are doubts about %+v", found)
	}
	return found[0].Why
}

func TestAnOpenPollOfAUnitThatHangsProvesNothing(t *testing.T) {
	story(t, func(t *testing.T, w *world, m *mirror.Mirror) {
		u := w.units[first]
		if why := doubts(t, m); why != "" {
			t.Errorf("a moment after its answer: %s", why)
		}
		time.Sleep(5 * time.Second)
		if why := doubts(t, m); why != "" {
			t.Errorf("while the unit answers: %s", why)
		}
		asked := u.requests()
		for range 10 {
			doubts(t, m)
		}
		if u.requests() != asked {
			t.Errorf("within a second the unit was asked %d times more", u.requests()-asked)
		}
		u.become(func() { u.hangs = true })
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if !replicas(m)[0].Reachable() {
			t.Fatal("its long poll has ended")
		}
		if why := doubts(t, m); !strings.Contains(why, "has not answered since") {
			t.Errorf("while the unit hangs: %q", why)
		}
		u.become(func() { u.hangs = false })
		time.Sleep(2 * time.Second)
		if why := doubts(t, m); why != "" {
			t.Errorf("when it answers again: %s", why)
		}
	})
}

// TestAContainerThatWasReplacedIsDoubted has another unit at the address while the connection
// to the first one is still open, as behind a proxy.
func TestAContainerThatWasReplacedIsDoubted(t *testing.T) {
	story(t, func(t *testing.T, w *world, m *mirror.Mirror) {
		u := w.units[first]
		time.Sleep(5 * time.Second)
		u.mu.Lock() // requests that wait are not answered
		u.instance, u.entries = "i9", u.entries[:1]
		u.mu.Unlock()
		if why := doubts(t, m); !strings.Contains(why, "has started again") {
			t.Errorf("the doubt is %q", why)
		}
	})
}
