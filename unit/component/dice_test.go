package component

import (
	"os"
	"time"
)

// dice decide what happens next. They are read from bytes, so that the same
// bytes are the same story, whether a seed or a fuzzer made them.
type dice struct{ left []byte }

// throw returns a number below n, 0 when there are no more.
func (d *dice) throw(n int) int {
	if len(d.left) == 0 {
		return 0
	}
	b := d.left[0]
	d.left = d.left[1:]
	return int(b) % n
}

// randomSeed is the same in every run, so that a run fails by what was changed
// and not by chance; another one with TOSKOSE_TEST_LONG.
func randomSeed() uint64 {
	if os.Getenv("TOSKOSE_TEST_LONG") != "" {
		return uint64(time.Now().UnixNano())
	}
	return 1
}
