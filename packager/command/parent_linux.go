package command

import (
	"os/exec"
	"runtime"
	"syscall"
)

// runTogether runs a command that is killed when this process exits. Otherwise it could continue to
// change an application after the next toskose command has taken over the lock of this process. The
// kernel sends the signal when the thread that started the command exits, so the goroutine keeps that
// thread.
func runTogether(cmd *exec.Cmd) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	return cmd.Run()
}
