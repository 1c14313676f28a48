package reaper

import "time"

// Orphans that end one after the other wake the reaper for each. When that has gone on for a
// while, it sleeps between two looks instead, so that they gather.
const (
	stormAfter = 50 * time.Millisecond // how long orphans end, one soon after the other, before that is a storm
	stormPause = 4 * time.Millisecond  // how long each look waits then
)

// storm decides whether to wait for a death or for a while.
type storm struct {
	begun, last time.Time // when the first and the last look found orphans; zero: none
}

// next notes that a look found orphans only, and returns how long to sleep before the next look;
// 0: until somebody dies. A death that somebody waits for, and a look that finds
// nothing, end a storm.
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
