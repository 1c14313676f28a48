package engine

import (
	"context"
	"os/exec"

	"github.com/toskose/toskose/packager/command"
)

// Command runs a Docker command. Its error includes the end of the command's output.
func (e *Engine) Command(ctx context.Context, words ...string) error {
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Dir, cmd.Env = e.Dir, e.Environ
	return command.Run(cmd, e.Debug)
}

// Succeeds reports whether a command exists and succeeds.
func (e *Engine) Succeeds(ctx context.Context, words ...string) bool {
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Env = e.Environ
	return cmd.Run() == nil
}
