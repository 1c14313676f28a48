package contexts

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/toskose/toskose/cmd/toskose/cli"
	"github.com/toskose/toskose/internal/visible"
)

// Command returns `toskose context`.
func Command(streams cli.Streams, environ []string) *cobra.Command {
	k := &keeper{streams: streams, environ: environ}
	cmd := &cobra.Command{
		Use:     "context",
		Aliases: []string{"contexts"},
		Short:   "Name managers, and choose the one that commands ask",
		Long: `A context names a manager and the credentials for it. ` + "`toskose deploy`" + ` makes a
context for the application, and selects it, so that commands such as ` + "`toskose ps`" + `
need no --dir, in any folder. ` + "`toskose undeploy`" + ` removes it.

Commands use the first that is given: --dir; --context or $TOSKOSE_CONTEXT; the
application that was packaged in the working directory; the selected context.

Each terminal session has its own selection: no shell switches the context of
another. With a single context, none needs to be selected.

Contexts are files in $TOSKOSE_CONFIG (default: toskose in the user's configuration
folder). They contain the paths of files with passwords, tokens and keys, never the
secrets themselves.`,
		Example: "  toskose context ls\n  toskose context use thinking",
		Args:    cli.Args(0, 0),
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(k.list(), k.use(), k.show(), k.create(), k.remove())
	return cmd
}

// keeper holds the state that the commands share.
type keeper struct {
	streams cli.Streams
	environ []string
}

func (k *keeper) list() *cobra.Command {
	var form cli.Form
	cmd := &cobra.Command{
		Use:     "ls",
		Aliases: []string{"list"},
		Short:   "List the contexts; the selected one is marked with *",
		Example: "  toskose context ls",
		Args:    cli.Args(0, 0),
		RunE: func(*cobra.Command, []string) error {
			all, err := k.all()
			if err != nil {
				return err
			}
			return form.Show(k.streams.Out, all, func(w io.Writer) { printContexts(w, all) })
		},
	}
	form.Register(cmd)
	return cmd
}

func printContexts(w io.Writer, all []listed) {
	table := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "\tNAME\tMANAGER\tUSER\tDIR")
	for _, c := range all {
		mark := ""
		if c.Current {
			mark = "*"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", mark, c.Name, cmp.Or(c.Manager, "-"), cmp.Or(c.User, "-"), cmp.Or(c.Dir, "-"))
	}
	_ = table.Flush() // the reader may have closed the output
}

// listed is a context in the output.
type listed struct {
	Name    string `json:"name"`
	Current bool   `json:"current"`
	Context
	Problem string `json:"problem,omitempty"` // why its manager cannot be asked
}

func (k *keeper) all() ([]listed, error) {
	store, err := Find(k.environ)
	if err != nil {
		return nil, err
	}
	names, err := store.Names()
	if err != nil {
		return nil, err
	}
	current, err := store.Current()
	if err != nil && !errors.Is(err, ErrNone) {
		return nil, err
	}
	all := make([]listed, 0, len(names))
	for _, name := range names {
		l := listed{Name: name, Current: name == current}
		if l.Context, err = store.Get(name); err == nil {
			at, failed := l.Access()
			l.Manager, l.User, err = visible.Text(at.Address), visible.Text(at.User), failed
		}
		if err != nil {
			l.Problem = err.Error()
		}
		all = append(all, l)
	}
	return all, nil
}

// one is a command that does something with the context of a name.
func (k *keeper) one(use, short, example string, do func(Store, string) error) *cobra.Command {
	return &cobra.Command{
		Use: use + " NAME", Short: short, Example: example, Args: cli.Args(1, 1),
		ValidArgsFunction: Completion(k.environ),
		RunE: func(_ *cobra.Command, args []string) error {
			store, err := Find(k.environ)
			if err != nil {
				return err
			}
			return do(store, args[0])
		},
	}
}

func (k *keeper) use() *cobra.Command {
	return k.one("use", "Choose the context that commands ask from now on", "  toskose context use thinking", Store.Use)
}

func (k *keeper) remove() *cobra.Command {
	cmd := k.one("rm", "Remove a context; the application runs on", "  toskose context rm thinking", Store.Remove)
	cmd.Aliases = []string{"remove"}
	return cmd
}

func (k *keeper) show() *cobra.Command {
	var form cli.Form
	cmd := &cobra.Command{
		Use:               "show [NAME]",
		Short:             "Print a context (default: the one in use)",
		Example:           "  toskose context show thinking",
		Args:              cli.Args(0, 1),
		ValidArgsFunction: Completion(k.environ),
		RunE: func(_ *cobra.Command, args []string) error {
			store, err := Find(k.environ)
			if err != nil {
				return err
			}
			name := ""
			if len(args) == 1 {
				name = args[0]
			} else if name, err = store.Current(); err != nil {
				return err
			}
			l := listed{Name: name}
			if l.Context, err = store.Get(name); err != nil {
				return err
			}
			current, _ := store.Current() // no current context is valid here
			l.Current = current == name
			return form.Show(k.streams.Out, l, nil)
		},
	}
	form.RegisterForPrograms(cmd)
	return cmd
}

func (k *keeper) create() *cobra.Command {
	var c Context
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Make or change a context, and choose it",
		Long: `Make a context from the folder that an application was packaged in. Without such a
folder, give the manager's URL and your credentials: a user with a password file, a
token file, or a certificate with its key.

The files stay where they are, and must be readable by you only. Each command reads
them again, and the token is read for each request.`,
		Example: `  toskose context create thinking --dir thinking-toskosed
  toskose context create staging --manager http://10.0.0.7:10000 --user admin --password-file staging-password
  toskose context create shop --manager https://10.0.0.7:10000 --ca tls-ca.crt --server-name localhost --token-file token
  toskose context create ann --manager https://shop.example.org:10000 --cert ann.crt --key ann.key`,
		Args:              cli.Args(1, 1),
		ValidArgsFunction: Completion(k.environ),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := c.complete(); err != nil {
				return cli.Misuse(err)
			}
			if err := c.check(); err != nil {
				return err
			}
			store, err := Find(k.environ)
			if err == nil {
				err = store.Put(args[0], c)
			}
			if err == nil {
				err = store.Use(args[0])
			}
			return err
		},
	}
	c.register(cmd)
	return cmd
}

// Completion has a shell propose the names of contexts.
func Completion(environ []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		store, err := Find(environ)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		names, _ := store.Names() // a completion prints no errors
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}
