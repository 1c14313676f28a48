package sleep

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestAnEndedContextCutsTheWaitShort(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		if err := For(ctx, time.Hour); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Second {
			t.Errorf("it returned %v after %v", err, time.Since(began))
		}
		if err := For(t.Context(), time.Minute); err != nil || time.Since(began) != time.Minute+time.Second {
			t.Errorf("it returned %v after %v", err, time.Since(began))
		}
	})
}
