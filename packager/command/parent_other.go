//go:build !linux

package command

import "os/exec"

// runTogether runs a command. It continues if this process is killed.
func runTogether(cmd *exec.Cmd) error { return cmd.Run() }
