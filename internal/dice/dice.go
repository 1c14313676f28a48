// Package dice provides the random decisions of tests that run random scenarios.
package dice

import (
	"os"
	"strconv"
	"time"
)

// Dice derive random numbers from bytes, so that the same bytes, from a seed or a fuzzer, give the
// same scenario.
type Dice struct{ left []byte }

// New returns dice that fall as the bytes say.
func New(story []byte) *Dice { return &Dice{story} }

// Left reports whether there are throws left.
func (d *Dice) Left() bool { return len(d.left) > 0 }

// Throw returns a number below n, or 0 if no throws are left.
func (d *Dice) Throw(n int) int {
	if len(d.left) == 0 {
		return 0
	}
	b := d.left[0]
	d.left = d.left[1:]
	return int(b) % n
}

// Seed returns the seed of random tests: always the same one, so that only a change can make a run
// fail; a new one if TOSKOSE_TEST_LONG is set; or TOSKOSE_TEST_SEED, to reproduce a failure.
func Seed() uint64 {
	if seed, err := strconv.ParseUint(os.Getenv("TOSKOSE_TEST_SEED"), 10, 64); err == nil {
		return seed
	}
	if os.Getenv("TOSKOSE_TEST_LONG") != "" {
		return uint64(time.Now().UnixNano())
	}
	return 1
}
