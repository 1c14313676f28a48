// Package leak makes tests fail that leave a goroutine running. It allows time for a goroutine
// that is about to end, such as that of a closed connection, even on a slow machine.
package leak

import (
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// patience is how long goroutines may take to end.
const patience = time.Minute

// Main is for TestMain: it runs the package's tests, then the functions in after.
func Main(m *testing.M, after ...func()) {
	code := m.Run()
	for _, f := range after {
		f()
	}
	if code == 0 {
		if err := find(patience); err != nil {
			fmt.Fprintf(os.Stderr, "the tests leave goroutines behind: %v\n", err)
			code = 1
		}
	}
	os.Exit(code) //nolint:revive // it stands for main
}

// None fails a test where goroutines are left. No other test may run meanwhile.
func None(t testing.TB) {
	t.Helper()
	if err := find(patience); err != nil {
		t.Error(err)
	}
}

func find(patience time.Duration) error {
	for end := time.Now().Add(patience); ; {
		err := goleak.Find() // which tries for half a second
		if err == nil || time.Now().After(end) {
			return err
		}
	}
}
