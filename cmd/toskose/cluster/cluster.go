// Package cluster provides the commands for clusters of edge machines: on the user's machine, where the folder of a cluster is, and on the
// machines of the cluster. It starts no goroutines.
package cluster

import (
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toskose/toskose/cmd/toskose/cli"
	"github.com/toskose/toskose/edge"
	"github.com/toskose/toskose/edge/folder"
	"github.com/toskose/toskose/internal/visible"
	"github.com/toskose/toskose/packager/command"
)

// session holds the state that the commands share.
type session struct {
	streams cli.Streams
	environ []string
	quiet   *bool
	random  io.Reader
	dir     string
	context string
}

// Command returns `toskose cluster`. It suppresses messages for people while quiet is true.
func Command(streams cli.Streams, environ []string, quiet *bool) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cluster",
		Short: "Create, grow and repair clusters of edge machines",
		Long: `Create, grow and repair clusters of edge machines that run k3s. A folder for git has the
document cluster.yaml and a file for each machine; with its file alone, a machine joins
the cluster. The commands key, join and leave run on the machines, as root; all others
run on your machine.`,
		Example: `  toskose cluster create factory-7 --interface eth1 --node edge-a=age1… --node edge-b=age1… --node edge-c=age1…
  toskose cluster join edge-a.json --start 'systemctl enable --now k3s'
  toskose cluster status --dir factory-7`,
		Args: cli.Args(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	s := &session{streams: streams, environ: environ, quiet: quiet, random: rand.Reader}
	cmd.AddCommand(s.key(), s.join(), s.leave(), s.create(), s.status(), s.volumes())
	for _, sub := range []*cobra.Command{s.add(), s.remove(), s.replace(), s.seed(), s.label(), s.trust(), s.attach(), s.detach()} {
		s.inFolder(sub)
		cmd.AddCommand(sub)
	}
	return cmd
}

// inFolder registers --dir.
func (s *session) inFolder(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&s.dir, "dir", "C", ".", "the folder `DIR` of the cluster")
	_ = cmd.MarkFlagDirname("dir") // the flag is there
}

// inContext registers --context.
func (s *session) inContext(cmd *cobra.Command, usage string) {
	cmd.Flags().StringVar(&s.context, "context", "", usage)
}

func (s *session) say(format string, args ...any) {
	if !*s.quiet {
		fmt.Fprintln(s.streams.Err, visible.Lines(fmt.Sprintf(format, args...)))
	}
}

func (s *session) warn(warnings ...string) {
	for _, w := range warnings {
		s.say("warning: %s", w)
	}
}

// kubectl returns the cluster that kubectl accesses: in the context, as the environment says or, on a machine of the cluster, with k3s's
// own configuration.
func (s *session) kubectl() command.Cluster {
	environ := s.environ
	if s.context == "" && !set(environ, "KUBECONFIG") {
		if f, err := os.Open(edge.Kubeconfig); err == nil {
			f.Close()
			environ = append(append([]string{}, environ...), "KUBECONFIG="+edge.Kubeconfig)
		}
	}
	return command.Cluster{Context: s.context, Environ: environ}
}

func set(environ []string, name string) bool {
	for _, pair := range environ {
		if value, ok := strings.CutPrefix(pair, name+"="); ok && value != "" {
			return true
		}
	}
	return false
}

// names completes the names of the cluster's machines.
func (s *session) names(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	d, err := folder.Read(s.dir)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return d.Names(), cobra.ShellCompDirectiveNoFileComp
}

// networks completes the names of the cluster's networks.
func (s *session) networks(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	var all []string
	if d, err := folder.Read(s.dir); err == nil && len(args) == 0 {
		for _, n := range d.Networks {
			all = append(all, n.Name)
		}
	}
	return all, cobra.ShellCompDirectiveNoFileComp
}

// printSteps prints which commands to run on which machine.
func (s *session) printSteps(steps []edge.Step) {
	if *s.quiet {
		return
	}
	for _, step := range steps {
		where := "On your machine"
		if step.Machine != "" {
			where = "On " + step.Machine
		}
		fmt.Fprintf(s.streams.Out, "%s:\n", visible.Text(where))
		for _, line := range step.Commands {
			fmt.Fprintf(s.streams.Out, "  %s\n", visible.Text(line))
		}
	}
}

// since is a time as people read it.
func since(t *time.Time) string {
	if t == nil {
		return "-"
	}
	return t.UTC().Format(time.RFC3339)
}
