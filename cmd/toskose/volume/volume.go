// Package volume has the commands that list the volumes of an application, and copy them to
// a file and back. Its goroutines end before a command returns.
package volume

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/docker/docker/client"
	"github.com/spf13/cobra"

	"github.com/toskose/toskose/cmd/toskose/cli"
	"github.com/toskose/toskose/cmd/toskose/contexts"
	"github.com/toskose/toskose/internal/visible"
	"github.com/toskose/toskose/packager/volumes"
)

// Command returns `toskose volume`.
func Command(streams cli.Streams, environ []string, connect func() (*client.Client, error), quiet *bool) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "volume",
		Aliases: []string{"volumes"},
		Short:   "Back up the volumes of an application, and restore them",
		Long: `List the volumes of an application on the Docker engine or on Kubernetes, back them up
to a file, and restore them. A container of the manager's image reads or writes the
volume, without a network or other rights; on Kubernetes it is a pod, on the node that
uses the volume.

APPLICATION is the folder that an application was packaged in, or its name in
` + "`toskose ls`" + `. It need not be running. On a swarm, the volumes are on the machine of
the engine.`,
		Example: "  toskose volume ls thinking\n  toskose volume backup --stop thinking thinking.tar\n  toskose volume restore --stop thinking thinking.tar",
		Args:    cli.Args(0, 0),
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	s := &session{streams: streams, environ: environ, connect: connect, quiet: quiet}
	for _, sub := range []*cobra.Command{s.ls(), s.backup(), s.restore()} {
		sub.ValidArgsFunction = s.complete
		s.where.register(sub)
		cmd.AddCommand(sub)
	}
	return cmd
}

// complete proposes applications that were deployed, and then files.
func (s *session) complete(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 1 && cmd.Name() != "ls" {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return contexts.Completion(s.environ)(cmd, args, begun)
}

// session holds the state that the commands share.
type session struct {
	streams cli.Streams
	environ []string
	connect func() (*client.Client, error)
	quiet   *bool
	where   where
}

func (s *session) say(format string, args ...any) {
	if !*s.quiet {
		fmt.Fprintln(s.streams.Out, visible.Lines(fmt.Sprintf(format, args...)))
	}
}

func (s *session) ls() *cobra.Command {
	var form cli.Form
	cmd := &cobra.Command{
		Use:     "ls APPLICATION",
		Aliases: []string{"list"},
		Short:   "List the volumes of an application, where they are and which containers mount them",
		Example: "  toskose volume ls thinking\n  toskose volume ls -o json thinking-toskosed",
		Args:    cli.Args(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.at(cmd.Context(), args[0], func(p place) error {
				all, err := p.List(cmd.Context())
				if err != nil {
					return err
				}
				return form.Show(s.streams.Out, all, func(w io.Writer) { table(w, all) })
			})
		},
	}
	form.Register(cmd)
	return cmd
}

func table(w io.Writer, all []volumes.Volume) {
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprintln(t, "VOLUME\tMACHINE\tCONTAINERS")
	for _, v := range all {
		machines := slices.Clone(v.Elsewhere)
		if v.Machine != "" {
			machines = append([]string{v.Machine}, machines...)
		}
		var users []string
		for _, u := range v.Users {
			name := u.Name
			if !u.Running {
				name += " (stopped)"
			}
			users = append(users, name)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\n", visible.Text(v.Name), visible.Text(strings.Join(machines, ", ")), visible.Text(cmp.Or(strings.Join(users, ", "), "-")))
	}
	_ = t.Flush() // output errors are ignored
}

// chosen returns the volumes selected by name; all of them can be copied from this machine.
func chosen(ctx context.Context, p place, names []string) ([]volumes.Volume, error) {
	all, err := p.List(ctx)
	if err != nil {
		return nil, err
	}
	some, err := volumes.Choose(all, names)
	if errors.Is(err, volumes.ErrNone) {
		return nil, fmt.Errorf("no volume of an application %q is %s: `toskose ls` lists the applications, and where they run", p.app, p.name)
	}
	if err != nil {
		return nil, fmt.Errorf("application %q: %w", p.app, err)
	}
	for _, v := range some {
		if err := v.Reachable(); err != nil {
			return nil, err
		}
	}
	return some, nil
}

// shown is a size as people read it.
func shown(size volumes.Size) string {
	n, units := float64(size.Bytes), []string{"B", "KiB", "MiB", "GiB", "TiB"}
	for n >= 1024 && len(units) > 1 {
		n, units = n/1024, units[1:]
	}
	return fmt.Sprintf("%d entries, %.4g %s", size.Entries, n, units[0])
}
