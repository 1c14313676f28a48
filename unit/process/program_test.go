package process

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

func TestWhoGivesUpStillLearnsOfTheStartThatTheProgramHasBegun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &Program{commands: make(chan command), serveDone: make(chan struct{})}
		ctx, cancel := context.WithCancel(t.Context())
		answer := make(chan error, 1)
		go func() { answer <- p.Start(ctx, nil) }()
		begun := <-p.commands
		cancel() // while the process is being forked
		synctest.Wait()
		select {
		case err := <-answer:
			t.Fatalf("before it is known whether it was started, the answer is %v", err)
		default:
		}
		begun.reply <- nil
		if err := <-answer; err != nil {
			t.Errorf("it was started, and the answer is %v", err)
		}
	})
}

func TestWhoGivesUpBeforeTheProgramHearsHimHasStartedNothing(t *testing.T) {
	t.Parallel()
	p := &Program{commands: make(chan command), serveDone: make(chan struct{})} // nobody serves it
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Start(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("the answer is %v, want that it was cancelled", err)
	}
}
