//go:build !amd64 && !arm64

package sigaction

import (
	"os"
	"os/signal"
)

// IgnoreSentFaults makes the unit ignore fault signals that another process has sent, except by
// sigqueue(3), which the runtime treats as a fault.
func IgnoreSentFaults() error {
	nobody := make(chan os.Signal, 1)
	for _, sig := range faultSignals {
		signal.Notify(nobody, sig)
	}
	return nil
}
