// Package user provides the commands that manage the users of an application's manager. They
// change a file that the manager reloads. They start no goroutines.
package user

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/toskose/toskose/cmd/toskose/cli"
	"github.com/toskose/toskose/manager/users"
)

// Command returns `toskose user`. It suppresses messages for people while quiet is true. mounted
// is the folder for secrets that containers on a single engine mount; empty: the folders of their
// applications.
func Command(streams cli.Streams, quiet *bool, mounted string) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "user",
		Short: "Manage the users of an application's manager, and their roles",
		Long: `Manage the users of an application's manager, and their roles: a viewer reads, an
operator also runs operations and sets the goal, an admin may do everything.

The users are a secret beside the manifests, with hashed passwords. The user in
toskose.yml is an admin and is not in this file.`,
		Example: "  toskose user add ann --role operator --dir thinking-toskosed\n  toskose user ls --dir thinking-toskosed\n  toskose user rm ann --dir thinking-toskosed",
		Args:    cli.Args(0, 0),
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	s := &session{streams: streams, quiet: quiet, mounted: mounted}
	cmd.PersistentFlags().StringVarP(&s.dir, "dir", "C", ".", "the folder `DIR` that the application was packaged in")
	cmd.PersistentFlags().StringVar(&s.file, "file", "", "the `FILE` of users, instead of the one in DIR; made if it does not exist")
	_ = cmd.MarkPersistentFlagDirname("dir") // the flag is there
	cmd.AddCommand(newAdd(s), newLs(s), newPasswd(s), newRole(s), newRm(s))
	return cmd
}

// session holds the state that the commands share.
type session struct {
	place
	streams cli.Streams
	quiet   *bool
	mounted string
}

// say prints a message.
func (s *session) say(format string, args ...any) {
	if !*s.quiet {
		fmt.Fprintf(s.streams.Err, format+"\n", args...)
	}
}

func newAdd(s *session) *cobra.Command {
	role, stdin := string(users.Viewer), false
	cmd := &cobra.Command{
		Use:   "add NAME",
		Short: "Add a user, and print the password",
		Args:  cli.Args(1, 1),
		RunE: func(_ *cobra.Command, given []string) error {
			as, err := users.ParseRole(role)
			if err != nil {
				return cli.Misuse(err)
			}
			return s.withPassword(stdin, func(l *users.List, password string) error { return l.Add(given[0], as, password) })
		},
	}
	cmd.Flags().StringVar(&role, "role", role, "viewer, operator or admin")
	_ = cmd.RegisterFlagCompletionFunc("role", cobra.FixedCompletions(roles(), cobra.ShellCompDirectiveNoFileComp)) // the flag is there
	fromStdin(cmd, &stdin)
	return cmd
}

func newPasswd(s *session) *cobra.Command {
	stdin := false
	cmd := &cobra.Command{
		Use:   "passwd NAME",
		Short: "Give a user another password, and print it; tokens of the user end",
		Args:  cli.Args(1, 1),
		RunE: func(_ *cobra.Command, given []string) error {
			return s.withPassword(stdin, func(l *users.List, password string) error { return l.SetPassword(given[0], password) })
		},
		ValidArgsFunction: s.names,
	}
	fromStdin(cmd, &stdin)
	return cmd
}

func fromStdin(cmd *cobra.Command, stdin *bool) {
	cmd.Flags().BoolVar(stdin, "password-stdin", false, "read the password from the standard input (default: one is generated and printed)")
}

// withPassword changes the users with a password from stdin, or with a generated one, which it
// prints.
func (s *session) withPassword(stdin bool, change func(*users.List, string) error) error {
	password := rand.Text()
	if stdin {
		text, err := io.ReadAll(io.LimitReader(s.streams.In, users.MaxPassword+3))
		if err != nil {
			return fmt.Errorf("cannot read the password: %w", err)
		}
		password = strings.TrimRight(string(text), "\r\n")
	}
	if err := s.change(func(l *users.List) error { return change(l, password) }); err != nil {
		return err
	}
	if !stdin {
		fmt.Fprintln(s.streams.Out, password)
	}
	return nil
}

func newRole(s *session) *cobra.Command {
	return &cobra.Command{
		Use:   "role NAME ROLE",
		Short: "Give a user another role; tokens of the user end",
		Args:  cli.Args(2, 2),
		RunE: func(_ *cobra.Command, given []string) error {
			as, err := users.ParseRole(given[1])
			if err != nil {
				return cli.Misuse(err)
			}
			return s.change(func(l *users.List) error { return l.SetRole(given[0], as) })
		},
		ValidArgsFunction: func(cmd *cobra.Command, given []string, begun string) ([]string, cobra.ShellCompDirective) {
			if len(given) == 1 {
				return roles(), cobra.ShellCompDirectiveNoFileComp
			}
			return s.names(cmd, given, begun)
		},
	}
}

func newRm(s *session) *cobra.Command {
	return &cobra.Command{
		Use:   "rm NAME...",
		Short: "Remove users; their tokens end",
		Args:  cli.Args(1, 1000),
		RunE: func(_ *cobra.Command, given []string) error {
			return s.change(func(l *users.List) error {
				var problems []error
				for _, name := range given {
					problems = append(problems, l.Remove(name))
				}
				return errors.Join(problems...)
			})
		},
		ValidArgsFunction: s.names,
	}
}

// listed is a user in the output of ls.
type listed struct {
	Name string     `json:"name"`
	Role users.Role `json:"role"`
}

func newLs(s *session) *cobra.Command {
	var form cli.Form
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List the users",
		Args:  cli.Args(0, 0),
		RunE: func(*cobra.Command, []string) error {
			l, err := s.read()
			if err != nil {
				return err
			}
			all := []listed{}
			if first := s.first(); first != "" {
				all = append(all, listed{first, users.Admin})
			}
			for _, u := range l.Users {
				all = append(all, listed{u.Name, u.Role})
			}
			return form.Show(s.streams.Out, all, func(w io.Writer) { printUsers(w, all) })
		},
	}
	form.Register(cmd)
	return cmd
}

func printUsers(w io.Writer, all []listed) {
	table := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "NAME\tROLE")
	for _, u := range all {
		fmt.Fprintf(table, "%s\t%s\n", u.Name, u.Role)
	}
	_ = table.Flush() // the reader may have closed the output
}

func roles() []string {
	names := make([]string, 0, len(users.Roles))
	for _, r := range users.Roles {
		names = append(names, string(r))
	}
	return names
}

// names completes the names of users.
func (s *session) names(_ *cobra.Command, given []string, _ string) ([]string, cobra.ShellCompDirective) {
	l, err := s.read()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var all []string
	for _, u := range l.Users {
		if !slices.Contains(given, u.Name) {
			all = append(all, u.Name)
		}
	}
	return all, cobra.ShellCompDirectiveNoFileComp
}
