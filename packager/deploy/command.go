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

// command runs a command without a shell. Its error holds the end of what the
// command printed.
func (d *deployer) command(ctx context.Context, words ...string) error {
	var said bytes.Buffer
	var out io.Writer = &said
	if d.opts.Debug != nil {
		out = io.MultiWriter(&said, d.opts.Debug)
	}
	return d.run(ctx, words, out, out, &said)
}

// output returns what a command prints. Its error holds the end of its stderr.
func (d *deployer) output(ctx context.Context, words ...string) ([]byte, error) {
	var out, said bytes.Buffer
	if err := d.run(ctx, words, &out, &said, &said); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func (d *deployer) run(ctx context.Context, words []string, out, complaints io.Writer, said *bytes.Buffer) error {
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = d.opts.Dir, d.opts.Environ, out, complaints
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("`%s`: %w%s", strings.Join(words, " "), err, indented(lastLines(said.String(), 10)))
	}
	return nil
}

// succeeds reports whether a command exists and succeeds.
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
