package contexts

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/toskose/toskose/cmd/toskose/cli"
	"github.com/toskose/toskose/tosca/diag"
)

// Command returns `toskose context`.
func Command(streams cli.Streams, environ []string) *cobra.Command {
	k := &keeper{streams: streams, environ: environ}
	cmd := &cobra.Command{
		Use:     "context",
		Aliases: []string{"contexts"},
		Short:   "Name managers, and choose the one that commands ask",
		Long: `A context is a name for how a manager is asked. ` + "`toskose deploy`" + ` makes one for the
application that it deploys and chooses it, so that commands such as
` + "`toskose ps`" + ` need no --dir, in any folder; ` + "`toskose undeploy`" + ` removes it.

A command asks, in this order: the manager of --dir; of --context, or of
$TOSKOSE_CONTEXT; of the application that was packaged in the working directory;
and of the context that was chosen last.

Contexts are files in $TOSKOSE_CONFIG (default: toskose in the user's folder of
configurations). They hold the name of the file with the password, never the
password.`,
		Example: "  toskose context ls\n  toskose context use thinking",
		Args:    cli.Args(0, 0),
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(k.list(), k.use(), k.show(), k.create(), k.remove())
	return cmd
}

// keeper is what the commands share.
type keeper struct {
	streams cli.Streams
	environ []string
}

func (k *keeper) list() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "ls",
		Aliases: []string{"list"},
		Short:   "List the contexts; the one in use is marked with *",
		Example: "  toskose context ls",
		Args:    cli.Args(0, 0),
		RunE: func(*cobra.Command, []string) error {
			all, err := k.all()
			if err != nil {
				return err
			}
			if asJSON {
				return json.NewEncoder(k.streams.Out).Encode(all)
			}
			table := tabwriter.NewWriter(k.streams.Out, 0, 0, 3, ' ', 0)
			fmt.Fprintln(table, "\tNAME\tMANAGER\tUSER\tDIR")
			for _, c := range all {
				mark := ""
				if c.Current {
					mark = "*"
				}
				fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", mark, c.Name, cmp.Or(c.Manager, "-"), cmp.Or(c.User, "-"), cmp.Or(c.Dir, "-"))
			}
			return table.Flush()
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON array")
	return cmd
}

// listed is a context as it is shown.
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
			l.Manager, l.User, err = diag.Visible(at.Address), diag.Visible(at.User), failed
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
	cmd := &cobra.Command{
		Use:               "show [NAME]",
		Short:             "Print a context as JSON (default: the one in use)",
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
			current, _ := store.Current() // none is no error here
			l.Current = current == name
			encoder := json.NewEncoder(k.streams.Out)
			encoder.SetIndent("", "  ")
			return encoder.Encode(l)
		},
	}
	return cmd
}

func (k *keeper) create() *cobra.Command {
	var c Context
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Make or change a context, and choose it",
		Long: `Make a context of the folder that an application was packaged in or, where there is
no such folder, of the manager's URL, a user, and the file with his password.`,
		Example: `  toskose context create thinking --dir thinking-toskosed
  toskose context create staging --manager http://10.0.0.7:10000 --user admin --password-file staging-password`,
		Args:              cli.Args(1, 1),
		ValidArgsFunction: Completion(k.environ),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := c.complete(); err != nil {
				return cli.Misuse(err)
			}
			if _, err := c.Access(); err != nil {
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
	cmd.Flags().StringVar(&c.Dir, "dir", "", "the folder `DIR` that the application was packaged in")
	cmd.Flags().StringVar(&c.Manager, "manager", "", "the manager's `URL`")
	cmd.Flags().StringVar(&c.User, "user", "", "the user's `NAME`")
	cmd.Flags().StringVar(&c.PasswordFile, "password-file", "", "the `FILE` with the user's password")
	_ = cmd.MarkFlagDirname("dir") // the flag is there
	_ = cmd.MarkFlagFilename("password-file")
	return cmd
}

// complete checks a context, and makes its paths those of any working directory.
func (c *Context) complete() (err error) {
	if c.Dir == "" && (c.Manager == "" || c.User == "" || c.PasswordFile == "") {
		return errors.New("a context has --dir or, without one, --manager, --user and --password-file")
	}
	if c.Manager != "" {
		at, err := url.Parse(c.Manager)
		switch {
		case err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https":
			return fmt.Errorf("--manager %q is not a URL such as http://10.0.0.7:10000", c.Manager)
		case at.User != nil:
			return errors.New("--manager has a user or password in it: give --user and --password-file")
		}
	}
	for _, path := range []*string{&c.Dir, &c.PasswordFile} {
		if *path != "" {
			if *path, err = filepath.Abs(*path); err != nil {
				return err
			}
		}
	}
	return nil
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
		names, _ := store.Names() // nobody reads what a completion says
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}
