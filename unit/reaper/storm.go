package reaper

import "time"

// Each orphan's death wakes the reaper. After a long series of them it sleeps between checks, so
// that they accumulate.
const (
	stormAfter = 50 * time.Millisecond // duration of a series of orphans before it counts as a storm
	stormPause = 4 * time.Millisecond  // delay between checks during a storm
)

// storm decides whether to wait for a death or for a delay.
type storm struct {
	begun, last time.Time // times of the first and last check of the series; zero: no series
}

// next records the result of a check and returns the delay before the next one; 0: wait for a
// death. The death of a child of Start, and a check that finds nothing, end a storm.
func (s *storm) next(orphansOnly bool, now time.Time) time.Duration {
	if !orphansOnly {
		*s = storm{}
		return 0
	}
	if now.Sub(s.last) > 2*stormPause {
		s.begun = now
	}
	s.last = now
	if now.Sub(s.begun) < stormAfter {
		return 0
	}
	return stormPause
}
