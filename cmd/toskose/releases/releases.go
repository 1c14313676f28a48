// Package releases provides the commands that compare packaged releases and list deployed ones. It
// starts no goroutines.
package releases

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/docker/docker/client"
	"github.com/spf13/cobra"

	"github.com/toskose/toskose/cmd/toskose/cli"
	"github.com/toskose/toskose/cmd/toskose/contexts"
	"github.com/toskose/toskose/internal/visible"
	"github.com/toskose/toskose/packager/deploy"
	"github.com/toskose/toskose/packager/release"
)

// Engine provides access to an engine, according to the flags that all commands share.
type Engine struct {
	Connect func() (*client.Client, error)
	Environ func() []string // of Docker's and Kubernetes' commands
}

// Commands returns the commands.
func Commands(streams cli.Streams, engine Engine) []*cobra.Command {
	return []*cobra.Command{newRelease(streams, engine), newDiff(streams, engine)}
}

// target selects the deployment target of an application.
type target struct{ opts deploy.Options }

func (t *target) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&t.opts.Target, "target", "", "swarm, compose or kubernetes (default: as deploy chooses)")
	cmd.Flags().StringVar(&t.opts.Context, "context", "", "kubectl context of the cluster (default: the current one)")
}

// deployed returns the deployed releases of a folder's application.
func (t *target) deployed(cmd *cobra.Command, engine Engine, dir string) (deploy.Deployed, error) {
	if err := t.opts.Validate(); err != nil {
		return deploy.Deployed{}, cli.Misuse(err)
	}
	docker, err := engine.Connect()
	if err != nil {
		return deploy.Deployed{}, err
	}
	defer docker.Close()
	opts := t.opts
	opts.Dir, opts.Environ, opts.Progress = dir, engine.Environ(), io.Discard
	return deploy.Releases(cmd.Context(), docker, opts)
}

// listed is the output of `toskose release`.
type listed struct {
	Application string            `json:"application"`
	Releases    []release.Record  `json:"releases"` // the newest first: it is deployed
	Others      map[string]string `json:"others,omitempty"`
}

func newRelease(streams cli.Streams, engine Engine) *cobra.Command {
	var t target
	var form cli.Form
	cmd := &cobra.Command{
		Use:   "release [DIR]",
		Short: "List the releases of an application: when and by whom each was deployed",
		Long: `List the deployments of the application that was packaged in DIR, the newest first;
without DIR, of the application in the working directory or in the current context. A folder is
a release: its id is a digest of its manifests and its toskose.yml. The last ten
deployments are kept: on the services of a Swarm, the workloads of Kubernetes, and
for Compose in the folders that were deployed. undeploy removes them. Deploying the folder
again resumes an interrupted deployment, and deploy --rollback returns to the release
before it.`,
		Example: "  toskose release thinking-toskosed\n  toskose release -o json thinking-toskosed",
		Args:    cli.Args(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, err := Folder(args, engine.Environ())
			if err != nil {
				return err
			}
			all, err := t.deployed(cmd, engine, dir)
			if err != nil {
				return err
			}
			l := listed{all.App, []release.Record{}, all.Others}
			for _, r := range slices.Backward(all.Log) {
				l.Releases = append(l.Releases, r)
			}
			return form.Show(streams.Out, l, l.print)
		},
	}
	t.register(cmd)
	form.Register(cmd)
	return cmd
}

// Folder returns the folder that an argument names or, without one, that is at hand.
func Folder(args []string, environ []string) (string, error) {
	if len(args) > 0 {
		return args[0], nil
	}
	return contexts.Folder(environ)
}

// print prints a line for each deployment.
func (l listed) print(w io.Writer) {
	if len(l.Releases) == 0 {
		fmt.Fprintf(w, "no release of %s is recorded\n", visible.Text(l.Application))
		return
	}
	table := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "\tRELEASE\tDEPLOYED\tBY\tFOLDER")
	for i, r := range l.Releases {
		mark, kind := "", ""
		if i == 0 {
			mark = "*"
		}
		if r.Kind != "" {
			kind = " (" + r.Kind + ")"
		}
		if r.Pending {
			kind += " (not completed)"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", mark, visible.Text(r.Release), r.At.UTC().Format(time.RFC3339), visible.Text(r.By+kind), visible.Text(r.Folder))
	}
	table.Flush()
	for _, service := range slices.Sorted(maps.Keys(l.Others)) {
		fmt.Fprintf(w, "%s is at release %s\n", visible.Text(service), visible.Text(l.Others[service]))
	}
}
