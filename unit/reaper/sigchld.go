package reaper

import (
	"sync"
	"syscall"

	"github.com/toskose/toskose/unit/sigaction"
)

// runtimeSIGCHLD returns the action that Go's runtime has set for SIGCHLD.
var runtimeSIGCHLD = sync.OnceValues(func() (sigaction.Action, error) { return sigaction.Get(syscall.SIGCHLD) })

// handleSIGCHLD lets Go's runtime handle SIGCHLD, or sets the default action, which does nothing
// and keeps zombies waitable. While waitid(2) blocks, a signal would only wake another thread.
func handleSIGCHLD(on bool) error {
	act, err := runtimeSIGCHLD()
	if err != nil {
		return err
	}
	if !on {
		act = sigaction.Action{}
	}
	return sigaction.Set(syscall.SIGCHLD, act)
}
