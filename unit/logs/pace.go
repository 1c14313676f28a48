package logs

import "time"

// A process that writes line by line wakes its reader for each. If some short reads have
// followed each other soon, the pipe is left alone for a while instead, so that lines gather.
const (
	paceStreak = 8                    // short reads, one soon after the other, after which it is left alone
	paceIdle   = 8                    // pauses without a line after which it is waited for again
	paceMost   = 4 * time.Millisecond // the longest pause; a line is not later than that
	paceLeast  = paceMost / 32        // the shortest
)

// pace decides how long a pipe is left alone.
type pacer struct {
	pause  time.Duration // 0: it is waited for
	streak int           // of short reads, or of pauses without a line
	last   time.Time     // when it was read last
	read   int           // bytes since the last pause
}

// next notes a read of n bytes from a pipe of a size, and returns how long to leave
// the pipe alone; 0: it is read again as soon as there is something.
func (c *pacer) next(n, size int, now time.Time) time.Duration {
	if c.pause == 0 {
		c.detectStreak(n, size, now)
	} else {
		c.adapt(n, size)
	}
	if c.pause == 0 || c.read > 0 {
		return 0
	}
	// All pipes are read at the same moments, so that the unit wakes once for them.
	return c.pause - time.Duration(now.UnixNano())%c.pause
}

// adapt makes the pause longer or shorter, by how much of the pipe is used.
func (c *pacer) adapt(n, size int) {
	c.read += n
	if n >= min(size, largeRead) {
		return // there is more
	}
	switch read := c.read; {
	case read > size/2:
		c.pause = max(c.pause/2, paceLeast)
	case read < size/4:
		c.pause = min(c.pause*2, paceMost)
	}
	c.streak++
	if c.read > 0 {
		c.streak = 0
	}
	c.read = 0
	if c.streak >= paceIdle {
		*c = pacer{}
	}
}

// gather looks for a streak of short reads.
func (c *pacer) detectStreak(n, size int, now time.Time) {
	if n < size/4 && now.Sub(c.last) < paceMost {
		c.streak++
	} else {
		c.streak = 0
	}
	c.last = now
	if c.streak >= paceStreak {
		*c = pacer{pause: paceLeast}
	}
}

// busy reports whether the pipe is read without waiting for it.
func (c *pacer) busy() bool { return c.pause > 0 }
