package deploy

import (
	"context"
	"os/exec"

	"github.com/toskose/toskose/packager/internal/command"
)

// command runs a command of Docker's. Its error holds the end of what that printed.
func (d *deployer) command(ctx context.Context, words ...string) error {
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Dir, cmd.Env = d.opts.Dir, d.opts.Environ
	return command.Run(cmd, d.opts.Debug)
}

// succeeds reports whether a command exists and succeeds.
func (d *deployer) succeeds(ctx context.Context, words ...string) bool {
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Env = d.opts.Environ
	return cmd.Run() == nil
}
