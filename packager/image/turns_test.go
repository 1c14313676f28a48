package image

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
)

func TestOfWhatBeginsAlikeOneGoesAhead(t *testing.T) {
	t.Parallel()
	var done atomic.Int32
	ahead := map[string]*atomic.Bool{"a": {}, "b": {}}
	err := inTurns(t.Context(), strings.Split("a1 a2 b1 a3 b2 a4 a5 a6 a7", " "), func(w string) string { return w[:1] },
		func(_ context.Context, w string, passed func()) error {
			if strings.HasSuffix(w, "1") {
				ahead[w[:1]].Store(true)
				if w == "a1" {
					passed() // and again at its end
				}
			} else if !ahead[w[:1]].Load() {
				t.Errorf("%s did not wait", w)
			}
			done.Add(1)
			return nil
		})
	if err != nil || done.Load() != 9 {
		t.Errorf("%d were done, %v", done.Load(), err)
	}
}

func TestWhoWaitsForWhatFailsIsNotDone(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	err := inTurns(t.Context(), []string{"a", "b", "c"}, func(string) string { return "" }, func(_ context.Context, w string, _ func()) error {
		if w != "a" {
			t.Errorf("%s is done", w)
		}
		return broken
	})
	if !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
}
