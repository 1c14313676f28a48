package reaper

import (
	"testing"
	"time"
)

func TestOnlyOrphansThatGoOnEndingAreLeftToGather(t *testing.T) {
	t.Parallel()
	var s storm
	now := time.Unix(1000, 0)
	look := func(orphansOnly bool, later time.Duration) time.Duration {
		now = now.Add(later)
		return s.next(orphansOnly, now)
	}
	for range 100 {
		if look(true, time.Second) != 0 {
			t.Fatal("orphans that end now and then have to wait")
		}
	}
	rage := func() {
		t.Helper()
		look(false, time.Second)
		for begun := now; now.Sub(begun) < stormAfter; {
			if look(true, time.Millisecond) != 0 {
				t.Fatalf("after %s it is taken for a storm", now.Sub(begun))
			}
		}
		for range 10 {
			if pause := look(true, stormPause); pause != stormPause {
				t.Fatalf("in a storm it pauses for %s", pause)
			}
		}
	}
	rage()
	if look(false, stormPause) != 0 || look(true, stormPause) != 0 {
		t.Error("after a look that found none, or one that somebody waits for, orphans have to wait")
	}
	rage()
	if look(true, 3*stormPause) != 0 {
		t.Error("after a long silence it is still a storm")
	}
}
