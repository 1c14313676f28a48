// Package live has the commands that ask the manager of a running application:
// what is there, what should be, what is done and what happens. It starts no
// goroutines.
package live

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/toskose/toskose/cmd/toskose/cli"
	"github.com/toskose/toskose/manager/client"
	"github.com/toskose/toskose/packager/deploy"
	"github.com/toskose/toskose/tosca/diag"
)

// Commands returns the commands. They print to streams, and what is only for
// people nowhere while quiet is true.
func Commands(streams cli.Streams, quiet *bool) []*cobra.Command {
	all := []func(*session) *cobra.Command{newPs, newUp, newDown, newGoal, newRun, newRestart, newWait, newEvents}
	commands := make([]*cobra.Command, 0, len(all))
	for _, make := range all {
		commands = append(commands, make(&session{streams: streams, quiet: quiet}))
	}
	return commands
}

// Manager says which manager a command asks.
type Manager struct{ Dir, Address string }

// Register adds its flags to a command.
func (m *Manager) Register(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&m.Dir, "dir", "C", ".", "the folder `DIR` that the application was packaged in, which has the credentials")
	cmd.Flags().StringVar(&m.Address, "manager", "", "the manager's `URL` (default: the port of this machine that DIR names)")
	_ = cmd.MarkFlagDirname("dir") // the flag is there
}

// FolderError is why a folder does not say which manager to ask.
type FolderError struct{ err error }

func (e *FolderError) Error() string { return e.err.Error() + "; name the folder with --dir" }

func (e *FolderError) Unwrap() error { return e.err }

// Ask calls a function with a client of the manager, and explains its error to
// people where that concerns the way to the manager.
func (m *Manager) Ask(f func(*client.Client) error) error {
	at, err := deploy.Manager(m.Dir)
	if err != nil {
		return &FolderError{err}
	}
	at.Address = cmp.Or(m.Address, at.Address)
	err = f(client.New(at.Address, at.User, at.Password))
	var problem *client.Problem
	switch {
	case errors.Is(err, client.ErrNoAnswer) && at.Forward != "" && m.Address == "":
		return fmt.Errorf("%w; it runs on Kubernetes, and is there only while a port is forwarded:\n%s", err, at.Forward)
	case errors.Is(err, client.ErrNoAnswer):
		return fmt.Errorf("%w; `toskose deploy` runs what is packaged in %q, and --manager names another address", err, m.Dir)
	case errors.As(err, &problem) && problem.Status == http.StatusUnauthorized:
		return fmt.Errorf("the manager at %s refuses the password of %q: it is that of another application, or of another time (%w)", at.Address, m.Dir, err)
	}
	return err
}

// session is what the commands share: where they print, and whom they ask.
type session struct {
	Manager
	streams cli.Streams
	quiet   *bool
	output  output
}

// say prints a line for people, beside what a command is for.
func (s *session) say(format string, args ...any) {
	if !*s.quiet {
		fmt.Fprintln(s.streams.Err, diag.VisibleLines(fmt.Sprintf(format, args...)))
	}
}
