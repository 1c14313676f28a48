// Package live has the commands that use the manager of a running application: states,
// goal, operations, events and logs. It starts no goroutines.
package live

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/toskose/toskose/cmd/toskose/cli"
	"github.com/toskose/toskose/cmd/toskose/contexts"
	"github.com/toskose/toskose/internal/visible"
	"github.com/toskose/toskose/manager/client"
	"github.com/toskose/toskose/packager/deploy/backend"
)

// Commands returns the commands of a process with the given environment. They print to streams;
// they suppress messages for people while quiet is true.
func Commands(streams cli.Streams, environ []string, quiet *bool) []*cobra.Command {
	all := []func(*session) *cobra.Command{newPs, newUp, newDown, newGoal, newRun, newRestart, newWait, newEvents, newLogs, newHistory, newTop}
	commands := make([]*cobra.Command, 0, len(all))
	for _, command := range all {
		s := &session{Manager: Manager{Environ: environ}, streams: streams, quiet: quiet}
		s.Say = func(text string) { s.say("%s", text) }
		commands = append(commands, command(s))
	}
	return commands
}

// Manager selects the manager of a command; see contexts.Choose.
type Manager struct {
	Dir, Context, Address string
	Environ               []string
	Say                   func(string) // prints which application is meant, if a context selected it; nil: do not
}

// Register adds its flags to a command.
func (m *Manager) Register(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&m.Dir, "dir", "C", "", "the folder `DIR` that the application was packaged in (default: the working directory if it is one, else the current context)")
	cmd.Flags().StringVar(&m.Context, "context", "", "the `NAME` of the manager, as `toskose context ls` has it")
	cmd.Flags().StringVar(&m.Address, "manager", "", "the manager's `URL` (default: from the folder or the context)")
	_ = cmd.MarkFlagDirname("dir") // the flag is there
	_ = cmd.RegisterFlagCompletionFunc("context", contexts.Completion(m.Environ))
}

// Ask calls a function with a client of the manager, and explains errors of the connection
// to it.
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
	if m.Say != nil && at.Context != "" {
		m.Say(at.Context + " at " + hostOf(at.Address))
	}
	err = f(manager)
	var problem *client.Problem
	switch {
	case errors.Is(err, client.ErrNoAnswer) && at.Forward != "" && m.Address == "":
		return fmt.Errorf("%w; it runs on Kubernetes, and needs a forwarded port:\n%s", err, at.Forward)
	case errors.Is(err, client.ErrNoAnswer):
		return fmt.Errorf("%w; `toskose deploy` runs the application of %s, and --manager names another address", err, at.Source)
	case errors.As(err, &problem) && problem.Status == http.StatusUnauthorized:
		return fmt.Errorf("the manager at %s refuses the %s of %s: it belongs to another application, or was replaced (%w)", at.Address, shown(at.Access), at.Source, err)
	}
	return err
}

// hostOf returns the host and port of an address.
func hostOf(address string) string {
	if at, err := url.Parse(address); err == nil && at.Host != "" {
		return at.Host
	}
	return address
}

// shown names the credential of a request.
func shown(at backend.Access) string {
	switch {
	case at.TokenFile != "":
		return "token"
	case at.User == "":
		return "certificate"
	default:
		return "password"
	}
}

// ClientOf returns a client of a manager.
func ClientOf(at backend.Access) (*client.Client, error) {
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

// session is shared by the commands: their output and their manager.
type session struct {
	Manager
	streams cli.Streams
	quiet   *bool
	output  cli.Form
}

// say prints a message for people, on standard error.
func (s *session) say(format string, args ...any) {
	if !*s.quiet {
		fmt.Fprintln(s.streams.Err, visible.Lines(fmt.Sprintf(format, args...)))
	}
}
