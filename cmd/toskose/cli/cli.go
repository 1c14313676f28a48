// Package cli is shared by the commands of toskose: output streams, checks of arguments, and exit
// codes.
package cli

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// The exit codes.
const (
	ExitOK       = 0
	ExitFailed   = 1 // the input is invalid, or something failed
	ExitUsage    = 2
	ExitUnopened = 2 // a command that only reads cannot open its input

	ExitInterrupted = 130 // as shells report an interrupt
)

// Streams are where a command reads and prints.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer // see Clean
	Raw      io.Writer // Out for a command's own escape sequences and for bytes that are not text
	Screen   bool      // Out is a terminal on which text can be written anew
}

// UsageError is a mistake in the command line.
type UsageError struct{ err error }

// Misuse returns an error that is a mistake in the command line.
func Misuse(err error) error { return UsageError{err} }

func (e UsageError) Error() string { return e.err.Error() }

func (e UsageError) Unwrap() error { return e.err }

// ExitError is an error with a specific exit code.
type ExitError struct {
	Err  error
	Code int
}

func (e ExitError) Error() string { return e.Err.Error() }

func (e ExitError) Unwrap() error { return e.Err }

// CodeOf returns the code to exit with for an error that is not a mistake in the
// command line.
func CodeOf(err error) int {
	var exit ExitError
	if errors.As(err, &exit) {
		return exit.Code
	}
	return ExitFailed
}

// Args checks the number of arguments as cobra does, but reports a usage error.
func Args(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) >= least && len(args) <= most {
			return nil
		}
		return Misuse(fmt.Errorf("%d arguments given: the command is `%s`", len(args), cmd.UseLine()))
	}
}
