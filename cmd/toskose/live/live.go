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
	"github.com/toskose/toskose/cmd/toskose/contexts"
	"github.com/toskose/toskose/manager/client"
	"github.com/toskose/toskose/packager/endpoint"
	"github.com/toskose/toskose/tosca/diag"
)

// Commands returns the commands of a process with an environment. They print to
// streams, and what is only for people nowhere while quiet is true.
func Commands(streams cli.Streams, environ []string, quiet *bool) []*cobra.Command {
	all := []func(*session) *cobra.Command{newPs, newUp, newDown, newGoal, newRun, newRestart, newWait, newEvents, newLogs, newHistory, newTop}
	commands := make([]*cobra.Command, 0, len(all))
	for _, command := range all {
		commands = append(commands, command(&session{Manager: Manager{Environ: environ}, streams: streams, quiet: quiet}))
	}
	return commands
}

// Manager says which manager a command asks; see contexts.Choose.
type Manager struct {
	Dir, Context, Address string
	Environ               []string
}

// Register adds its flags to a command.
func (m *Manager) Register(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&m.Dir, "dir", "C", "", "the folder `DIR` that the application was packaged in (default: the working directory if it is one, else the context in use)")
	cmd.Flags().StringVar(&m.Context, "context", "", "the `NAME` of the manager, as `toskose context ls` has it")
	cmd.Flags().StringVar(&m.Address, "manager", "", "the manager's `URL` (default: as the folder or the context says)")
	_ = cmd.MarkFlagDirname("dir") // the flag is there
	_ = cmd.RegisterFlagCompletionFunc("context", contexts.Completion(m.Environ))
}

// Ask calls a function with a client of the manager, and explains its error to
// people where that concerns the way to the manager.
func (m *Manager) Ask(f func(*client.Client) error) error {
	at, err := contexts.Choose(m.Environ, m.Dir, m.Context)
	if err != nil {
		return err
	}
	at.Address = cmp.Or(m.Address, at.Address)
	manager, err := ClientOf(at.Access)
	if err != nil {
		return err
	}
	err = f(manager)
	var problem *client.Problem
	switch {
	case errors.Is(err, client.ErrNoAnswer) && at.Forward != "" && m.Address == "":
		return fmt.Errorf("%w; it runs on Kubernetes, and is there only while a port is forwarded:\n%s", err, at.Forward)
	case errors.Is(err, client.ErrNoAnswer):
		return fmt.Errorf("%w; `toskose deploy` runs the application of %s, and --manager names another address", err, at.Source)
	case errors.As(err, &problem) && problem.Status == http.StatusUnauthorized:
		return fmt.Errorf("the manager at %s refuses the %s of %s: it is that of another application, or of another time (%w)", at.Address, shown(at.Access), at.Source, err)
	}
	return err
}

// shown is what shows a manager who asks.
func shown(at endpoint.Access) string {
	switch {
	case at.TokenFile != "":
		return "token"
	case at.User == "":
		return "certificate"
	default:
		return "password"
	}
}

// ClientOf returns what asks a manager.
func ClientOf(at endpoint.Access) (*client.Client, error) {
	config, err := at.TLS()
	opts := client.Options{Address: at.Address, User: at.User, Password: at.Password, TLS: config}
	if at.TokenFile != "" {
		opts.Token = at.Token
	}
	if at.PasswordFile != "" {
		opts.PasswordAgain, opts.Patient = at.PasswordNow, at.Replacing
	}
	return client.With(opts), err
}

// session is what the commands share: where they print, and whom they ask.
type session struct {
	Manager
	streams cli.Streams
	quiet   *bool
	output  cli.Form
}

// say prints a line for people, beside what a command is for.
func (s *session) say(format string, args ...any) {
	if !*s.quiet {
		fmt.Fprintln(s.streams.Err, diag.VisibleLines(fmt.Sprintf(format, args...)))
	}
}
