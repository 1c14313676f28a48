package releases

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/toskose/toskose/cmd/toskose/cli"
	"github.com/toskose/toskose/internal/visible"
	"github.com/toskose/toskose/packager/release"
)

func newDiff(streams cli.Streams, engine Engine) *cobra.Command {
	var t target
	var form cli.Form
	cmd := &cobra.Command{
		Use:   "diff [DIR] NEWER",
		Short: "Show what changes when another release is deployed",
		Long: `Compare two folders that an application was packaged in or, with one folder, the
running release with that folder: images, environment, ports, mounts, names of
secrets, volumes, components with their operations and protocols. The result says
which containers are replaced, and which components have to be created again with
them. It lists the host paths that the newer release uses, even if they are the same.
It never shows values of secrets. The exit code is 0 with and without differences.

Targets differ in the changes for which they replace a container. Without --target,
diff uses the target on which the application was deployed from one of the folders
(recorded in the folder for Compose), or else the one that deploy chooses. The first
line names it.`,
		Example: "  toskose diff thinking-1 thinking-2\n  toskose diff -o json thinking-1 thinking-2",
		Args:    cli.Args(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := t.opts.Validate(); err != nil {
				return cli.Misuse(err)
			}
			by, from, to := t.compared(cmd.Context(), engine, args), args[0], args[len(args)-1]
			if len(args) == 1 {
				var err error
				if from, err = t.running(cmd, engine, to); err != nil {
					return err
				}
			}
			d, err := difference(from, to, by.target)
			if err != nil {
				return err
			}
			return form.Show(streams.Out, d, func(w io.Writer) { printDiff(w, d, by.why) })
		},
	}
	t.register(cmd)
	form.Register(cmd)
	return cmd
}

// difference compares two folders.
func difference(from, to string, by release.Target) (release.Diff, error) {
	a, err := release.Read(from, by)
	if err != nil {
		return release.Diff{}, err
	}
	b, err := release.Read(to, by)
	if err != nil {
		return release.Diff{}, err
	}
	return release.Compare(a, b), nil
}

// running returns the folder with the files of the deployed version of a folder's application.
func (t *target) running(cmd *cobra.Command, engine Engine, dir string) (string, error) {
	all, err := t.deployed(cmd, engine, dir)
	if err != nil {
		return "", err
	}
	now, ok := all.Log.Current()
	if !ok {
		return "", errors.New("no release is recorded of " + all.App + ": name two folders")
	}
	return release.Find(now)
}

// printHost lists the paths of the machine that the newer release uses.
func printHost(w io.Writer, all []release.HostUse) {
	if len(all) == 0 {
		return
	}
	fmt.Fprintf(w, "\nIt uses these paths of the host:\n")
	for _, used := range all {
		mark := ""
		if used.Added {
			mark = " (" + release.Added + ")"
		}
		fmt.Fprintf(w, "  %s%s\n", visible.Text(used.String()), mark)
	}
}

// printDiff prints a table for each kind of resource that differs, and the paths used on the host.
func printDiff(w io.Writer, d release.Diff, why string) {
	defer printHost(w, d.Host)
	if d.Same() {
		fmt.Fprintf(w, "%s and %s deploy the same, by %s%s\n", d.From, d.To, names[d.Target], why)
		return
	}
	fmt.Fprintf(w, "from release %s to %s, by %s%s\n", d.From, d.To, names[d.Target], why)
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 0, 3, ' ', 0)
	if len(d.Containers) > 0 {
		fmt.Fprintln(table, "\nCONTAINER\tCHANGE\tWHAT\tFROM\tTO")
	}
	for _, c := range d.Containers {
		printChanges(table, c.Name, c.Change, c.Changes)
	}
	table.Flush()
	if len(d.Components) > 0 {
		fmt.Fprintln(table, "\nCOMPONENT\tCONTAINER\tCHANGE\tWHAT")
	}
	for _, c := range d.Components {
		change := c.Change
		if c.Again && change == release.Changed {
			change += ", " + release.Again
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", visible.Text(c.Name), visible.Text(c.Container), change, visible.Text(strings.Join(c.What, "; ")))
	}
	table.Flush()
	if len(d.Volumes) > 0 {
		fmt.Fprintln(table, "\nVOLUME\tCHANGE\tWHAT\tFROM\tTO")
	}
	for _, v := range d.Volumes {
		printChanges(table, v.Name, v.Change, v.Changes)
	}
	table.Flush()
	for line := range strings.Lines(text.String()) {
		fmt.Fprintln(w, strings.TrimRight(line, " \n"))
	}
}

// printChanges prints a line for each change of a resource, or one line if it was added or
// removed.
func printChanges(w io.Writer, name, change string, all []release.Change) {
	if len(all) == 0 {
		fmt.Fprintf(w, "%s\t%s\t\t\t\n", visible.Text(name), change)
	}
	for _, c := range all {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", visible.Text(name), change, short(c.What), short(c.From), short(c.To))
		name, change = "", ""
	}
}

// widest is how much of a value a table shows.
const widest = 60

func short(text string) string {
	if runes := []rune(text); len(runes) > widest {
		text = string(runes[:widest-1]) + "…"
	}
	return visible.Text(text)
}
