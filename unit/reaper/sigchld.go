package reaper

import (
	"sync"
	"syscall"

	"github.com/toskose/toskose/unit/sigaction"
)

// runtimes is what Go's runtime does about SIGCHLD.
var runtimes = sync.OnceValues(func() (sigaction.Action, error) { return sigaction.Get(syscall.SIGCHLD) })

// heed has Go's runtime handle SIGCHLD, or not: while a death wakes waitid(2), a
// signal for it would wake another thread for nothing. The default action is to do
// nothing, and leaves zombies to be waited for.
func heed(on bool) error {
	act, err := runtimes()
	if err != nil {
		return err
	}
	if !on {
		act = sigaction.Action{}
	}
	return sigaction.Set(syscall.SIGCHLD, act)
}
