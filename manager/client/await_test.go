package client_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toskose/toskose/manager/client"
)

func TestWhoWaitsIsToldOfAManagerThatFellSilentAndOfNoneThatSpokeAgain(t *testing.T) {
	t.Parallel()
	for _, silent := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			begun := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			err := client.Await(ctx, func(context.Context) (bool, error) {
				if at := time.Since(begun); at > 10*time.Second && (silent || at < 20*time.Second) {
					return false, fmt.Errorf("%w at home", client.ErrNoAnswer)
				}
				return false, nil
			})
			if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, client.ErrNoAnswer) != silent || silent && err.Error() != "the manager does not answer at home" {
				t.Errorf("silent %t: %v", silent, err)
			}
		})
	}
}
