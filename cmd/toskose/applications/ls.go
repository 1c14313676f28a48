package applications

import (
	"cmp"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/docker/docker/client"
	"github.com/spf13/cobra"

	"github.com/toskose/toskose/cmd/toskose/cli"
	"github.com/toskose/toskose/internal/visible"
	"github.com/toskose/toskose/packager/deploy"
	"github.com/toskose/toskose/packager/running"
)

// Command returns `toskose ls`.
func Command(streams cli.Streams, environ []string, connect func() (*client.Client, error)) *cobra.Command {
	places := Places{Connect: connect, Environ: environ}
	var output cli.Form
	cmd := &cobra.Command{
		Use:     "ls",
		Aliases: []string{"list"},
		Short:   "List the applications that run on the engine, in its swarm and on the cluster",
		Long: `List the applications that run on the Docker engine, in its swarm, and on the
cluster in kubectl's current context, if there is one: where the manager of each
is, how many of its containers are up, and the folder that it was deployed from,
where that is known.`,
		Example: "  toskose ls\n  toskose ls --target kubernetes --context staging\n  toskose ls --namespace thinking\n  toskose ls -o json",
		Args:    cli.Args(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := (deploy.Options{Target: places.Target, Context: places.Context, Space: places.Namespace}).Validate(); err != nil {
				return cli.Misuse(err)
			}
			all, problems, err := places.All(cmd.Context())
			if err != nil {
				return err
			}
			for _, problem := range problems {
				fmt.Fprintln(streams.Err, visible.Lines("warning: "+problem.Error()))
			}
			return output.Show(streams.Out, all, func(w io.Writer) { table(w, all) })
		},
	}
	output.Register(cmd)
	cmd.Flags().StringVar(&places.Target, "target", "", "swarm, compose or kubernetes only")
	cmd.Flags().StringVar(&places.Context, "context", "", "kubectl context of the cluster (default: the current one)")
	cmd.Flags().StringVar(&places.Namespace, "namespace", "", "only applications in that namespace of the cluster")
	_ = cmd.RegisterFlagCompletionFunc("target", cobra.FixedCompletions([]string{deploy.Swarm, deploy.Compose, deploy.Kubernetes}, cobra.ShellCompDirectiveNoFileComp)) // the flag is there
	return cmd
}

func table(w io.Writer, all []running.Application) {
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprintln(t, "NAME\tTARGET\tCONTAINERS\tMANAGER\tDIR")
	for _, a := range all {
		manager := cmp.Or(a.Manager, "-")
		if a.Forward != "" {
			manager = "service in namespace " + a.Namespace
		}
		fmt.Fprintf(t, "%s\t%s\t%d/%d\t%s\t%s\n", visible.Text(a.Name), a.Target, a.Up, a.Of, visible.Text(manager), visible.Text(cmp.Or(a.Dir, "-")))
	}
	_ = t.Flush() // output errors are ignored
}
