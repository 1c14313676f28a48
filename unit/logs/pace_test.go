package logs

import (
	"bytes"
	"sync/atomic"
	"testing"
	"time"
)

func TestAPipeIsLeftAloneWhenShortReadsFollowEachOther(t *testing.T) {
	t.Parallel()
	const size = largePipe
	var c pacer
	now := time.Unix(1000, 0)
	read := func(n int, later time.Duration) time.Duration {
		now = now.Add(later)
		return c.next(n, size, now)
	}
	for range 10 * paceStreak {
		if read(100, paceMost) != 0 || c.busy() {
			t.Fatal("lines that come now and then have to wait")
		}
	}
	for range paceStreak {
		if c.busy() {
			t.Fatal("a few lines are taken for many")
		}
		read(100, time.Millisecond)
	}
	if !c.busy() || c.pause != paceLeast {
		t.Fatalf("after a streak the pause is %s", c.pause)
	}
	for range 10 {
		pause := read(100, c.pause)
		if pause <= 0 || pause > c.pause || now.Add(pause).UnixNano()%int64(c.pause) != 0 {
			t.Fatalf("a pause of %s, with %s between reads", pause, c.pause)
		}
	}
	if c.pause != paceMost {
		t.Errorf("for few bytes the pause is %s", c.pause)
	}
	for range 3 {
		if read(largeRead, c.pause) != 0 {
			t.Error("there is more, and it has to wait")
		}
	}
	read(100, 0)
	if c.pause != paceMost/2 {
		t.Errorf("when most of the pipe was used, the pause is %s", c.pause)
	}
	for range paceIdle {
		if !c.busy() {
			t.Fatal("a short silence is taken for the end")
		}
		read(0, c.pause)
	}
	if c.busy() {
		t.Error("it is not waited for after a silence")
	}
}

// counter counts writes.
type counter struct {
	sink
	writes atomic.Int64
}

func (c *counter) Write(p []byte) (int, error) {
	c.writes.Add(1)
	return c.sink.Write(p)
}

func TestManySmallLinesAreFewReads(t *testing.T) {
	t.Parallel()
	var to counter
	p, child, err := Start(&to, PumpOptions{})
	if err != nil {
		t.Fatal(err)
	}
	line := append(bytes.Repeat([]byte("x"), 99), '\n')
	const lines = 100_000
	var want []byte
	polled := func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.polled != nil
	}
	for range 2 { // and again, after a silence in which the pipe has gone back to Go's poller
		to.writes.Store(0)
		for range lines {
			if _, err := child.Write(line); err != nil {
				t.Fatal(err)
			}
		}
		want = append(want, bytes.Repeat(line, lines)...)
		for deadline := time.Now().Add(time.Minute); to.String() != string(want) || !polled(); time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%d of %d bytes, waited for: %t", len(to.String()), len(want), polled())
			}
		}
		if writes := to.writes.Load(); writes > lines/10 {
			t.Errorf("%d lines are %d reads", lines, writes)
		}
	}
	child.Close()
	<-p.Done()
}

func TestAPumpThatLeavesItsPipeAloneCanBeClosed(t *testing.T) {
	t.Parallel()
	for range 20 {
		p, child, err := Start(nil, PumpOptions{})
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for {
				if _, err := child.WriteString("a line\n"); err != nil {
					return
				}
			}
		}()
		for len(end(p)) < 1000 {
			p.Sync()
		}
		p.Close()
		p.Drain()
		p.Close()
		<-ended // nobody reads, and nobody has the pipe open
		child.Close()
	}
}
