package logs

import "time"

// A process that writes line by line wakes its reader for each line. After several short reads in
// quick succession, the pipe is read at intervals instead, so that lines accumulate.
const (
	paceStreak = 8                    // number of quick short reads before pausing
	paceIdle   = 8                    // number of pauses without data before polling the pipe again
	paceMost   = 4 * time.Millisecond // the longest pause, and so the maximum delay of a line
	paceLeast  = paceMost / 32        // the shortest pause
)

// pacer determines the intervals at which a pipe is read.
type pacer struct {
	pause  time.Duration // 0: wait for data
	streak int           // number of short reads, or of pauses without data
	last   time.Time     // time of the last read
	read   int           // bytes since the last pause
}

// next records a read of n bytes from a pipe of the given size and returns the pause before the
// next read; 0: read as soon as there is data.
func (c *pacer) next(n, size int, now time.Time) time.Duration {
	if c.pause == 0 {
		c.detectStreak(n, size, now)
	} else {
		c.adapt(n, size)
	}
	if c.pause == 0 || c.read > 0 {
		return 0
	}
	// All pipes are read at the same moments, so that the unit wakes only once for them.
	return c.pause - time.Duration(now.UnixNano())%c.pause
}

// adapt adjusts the pause to the fill level of the pipe.
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

// detectStreak looks for a streak of short reads.
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

// busy reports whether the pipe is read at intervals.
func (c *pacer) busy() bool { return c.pause > 0 }
