//go:build !amd64 && !arm64

package sigaction

import (
	"os"
	"os/signal"
)

// IgnoreSentFaults keeps a process from ending the unit by a signal that means a
// fault, unless it has queued it (sigqueue(3)): the runtime takes that for a fault.
func IgnoreSentFaults() error {
	nobody := make(chan os.Signal, 1)
	for _, sig := range faultSignals {
		signal.Notify(nobody, sig)
	}
	return nil
}
