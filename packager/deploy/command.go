package deploy

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"
)

// command runs one of Docker's commands, without a shell. Its error holds the
// end of what the command said.
func (d *deployer) command(ctx context.Context, words ...string) error {
	var said bytes.Buffer
	var out io.Writer = &said
	if d.opts.Debug != nil {
		out = io.MultiWriter(&said, d.opts.Debug)
	}
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = d.opts.Dir, d.opts.Environ, out, out
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("`%s`: %w%s", strings.Join(words, " "), err, indented(lastLines(said.String(), 10)))
	}
	return nil
}

// succeeds tells whether a command is there and works.
func (d *deployer) succeeds(ctx context.Context, words ...string) bool {
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Env = d.opts.Environ
	return cmd.Run() == nil
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// indented sets lines off below a message; none are nothing.
func indented(text string) string {
	if strings.TrimSpace(text) == "" {
		return ""
	}
	return "\n    " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n    ")
}

// output gives what a command prints. Its error holds the end of what the
// command complained of.
func (d *deployer) output(ctx context.Context, words ...string) ([]byte, error) {
	var out, said bytes.Buffer
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = d.opts.Dir, d.opts.Environ, &out, &said
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("`%s`: %w%s", strings.Join(words, " "), err, indented(lastLines(said.String(), 10)))
	}
	return out.Bytes(), nil
}
