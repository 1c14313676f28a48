// Package command runs the commands of Docker and Kubernetes, without a shell, and parses the objects that kubectl prints. The
// goroutines of a forwarded port end when it is closed.
package command

import (
	"bytes"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"strings"
	"time"
)

// Error is the error of a command that failed.
type Error struct {
	Words  []string // the command line
	Output string   // its captured output
	Err    error
}

func (e *Error) Error() string {
	return fmt.Sprintf("`%s`: %v%s", strings.Join(e.Words, " "), e.Err, Indented(LastLines(e.Output, 10)))
}

func (e *Error) Unwrap() error { return e.Err }

// Run runs a command. Its error is an *Error with the command's stderr. If the command's stdout is
// not set, Run also captures stdout for the error, and copies both streams to debug, which may be
// nil.
func Run(cmd *exec.Cmd, debug io.Writer) error {
	var output bytes.Buffer
	cmd.Stderr = &output
	if cmd.Stdout == nil {
		if debug != nil {
			cmd.Stderr = io.MultiWriter(&output, debug)
		}
		cmd.Stdout = cmd.Stderr
	}
	if cmd.WaitDelay == 0 {
		cmd.WaitDelay = time.Second
	}
	if err := runTogether(cmd); err != nil {
		return &Error{cmd.Args, strings.TrimSpace(colors.ReplaceAllString(output.String(), "")), err}
	}
	return nil
}

// colors are the escape sequences that docker-compose prints even if its output is not a terminal.
var colors = regexp.MustCompile(`\x1b\[[0-9;]*[A-Za-z]|\r`)

// LastLines returns the last n lines of a text.
func LastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// Indented returns a text indented below a message, or "" if it is blank.
func Indented(text string) string {
	if strings.TrimSpace(text) == "" {
		return ""
	}
	return "\n    " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n    ")
}
