//go:build !linux

package command

import "os/exec"

// runTogether runs a command. Where this process is killed, the command runs on.
func runTogether(cmd *exec.Cmd) error { return cmd.Run() }
