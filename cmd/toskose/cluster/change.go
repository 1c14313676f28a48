package cluster

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toskose/toskose/cmd/toskose/cli"
	"github.com/toskose/toskose/edge"
	"github.com/toskose/toskose/edge/folder"
	"github.com/toskose/toskose/edge/observe"
	"github.com/toskose/toskose/edge/retire"
)

// changing are the flags of commands that change a cluster.
type changing struct {
	dryRun, keepToken bool
	drain             time.Duration
}

func (c *changing) register(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&c.dryRun, "dry-run", false, "print what would change, and change nothing")
}

// registerLeaving registers the flags of commands after which a machine leaves the cluster.
func (c *changing) registerLeaving(s *session, cmd *cobra.Command) {
	c.register(cmd)
	s.inContext(cmd, "kubectl context in which to drain the machine and delete its Node (default: do neither)")
	cmd.Flags().BoolVar(&c.keepToken, "keep-token", false, "keep the token, which the machine that leaves knows")
	cmd.Flags().DurationVar(&c.drain, "drain-timeout", 5*time.Minute, "time limit for draining the machine")
}

// change changes the cluster in the folder, and prints the next steps.
func (s *session) change(ctx context.Context, flags changing, how func(edge.Document) (edge.Change, error)) error {
	f, err := folder.Open(s.dir)
	if err != nil {
		return err
	}
	defer f.Close()
	before := f.Document
	c, err := how(before)
	if err != nil {
		return err
	}
	retiring := retire.Options{Kubectl: s.kubectl(), Drain: flags.drain, Say: s.say}
	online := c.Leaves != "" && s.context != ""
	if online {
		if err := retire.Check(ctx, before, c.Leaves, retiring); err != nil {
			return err
		}
		c.Steps = c.Steps[1:] // Leave does the first one
	}
	if f.TokenIsLost && !c.DrawToken {
		c = c.WithNewToken(before)
		s.warn("the token is lost (secrets/token): another one is drawn, and every machine has to join again")
	}
	s.warn(c.Warnings...)
	if flags.dryRun {
		return s.preview(f, c, online)
	}
	if online {
		if err := retire.Leave(ctx, c.Leaves, retiring); err != nil {
			return err
		}
	}
	r, err := f.Apply(c, s.random)
	if err != nil {
		return err
	}
	s.say("%s has revision %d of %s: %d files written", s.dir, c.Document.Revision, c.Document.Name, len(r.Written))
	s.next(c)
	return nil
}

// next prints the steps that follow a change.
func (s *session) next(c edge.Change) {
	if len(c.Steps) > 0 {
		s.say("Copy the files in nodes to their machines. Then, in this order:")
		s.printSteps(c.Steps)
	}
}

// preview prints the effects of a change.
func (s *session) preview(f *folder.Folder, c edge.Change, online bool) error {
	r, err := f.Preview(c, s.random)
	if err != nil {
		return err
	}
	if online {
		s.say("would drain %s and delete its Node", c.Leaves)
	}
	s.say("would write %s", strings.Join(r.Written, ", "))
	if len(r.Removed) > 0 {
		s.say("would remove %s", strings.Join(r.Removed, ", "))
	}
	s.next(c)
	return nil
}

func (s *session) add() *cobra.Command {
	var flags changing
	var server bool
	cmd := &cobra.Command{
		Use:   "add NAME=KEY",
		Short: "Add a machine to a cluster, as an agent or as a server",
		Long: `Add a machine to a cluster: as an agent, or with --server as a server. It gets an
address that no machine had; addresses of removed machines are assigned last.`,
		Example: "  toskose cluster add edge-x=age1… --dir factory-7\n  toskose cluster add edge-d=age1… --server --dir factory-7 --dry-run",
		Args:    cli.Args(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			all, err := machines(args)
			if err != nil {
				return err
			}
			role := edge.Agent
			if server {
				role = edge.Server
			}
			return s.change(cmd.Context(), flags, func(d edge.Document) (edge.Change, error) { return edge.Add(d, all[0], role) })
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	cmd.Flags().BoolVar(&server, "server", false, "the machine becomes a server")
	flags.register(cmd)
	return cmd
}

func (s *session) remove() *cobra.Command {
	var flags changing
	cmd := &cobra.Command{
		Use:     "remove NAME",
		Aliases: []string{"rm"},
		Short:   "Remove a machine from a cluster",
		Long: `Remove a machine from a cluster, and draw a new token, because the removed machine knows
the old one. With --context, kubectl first cordons and drains the machine, and deletes
its Node. That stops before anything changes if the servers that remain and respond
would not be a majority, or if a pod can run only on this machine.

The seed cannot be removed: name another one first (` + "`toskose cluster seed`" + `).`,
		Example: "  toskose cluster remove edge-x --dir factory-7 --context factory-7\n  toskose cluster remove edge-c --dir factory-7 --dry-run",
		Args:    cli.Args(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.change(cmd.Context(), flags, func(d edge.Document) (edge.Change, error) { return edge.Remove(d, args[0], flags.keepToken) })
		},
		ValidArgsFunction: s.names,
	}
	flags.registerLeaving(s, cmd)
	return cmd
}

func (s *session) replace() *cobra.Command {
	var flags changing
	cmd := &cobra.Command{
		Use:   "replace OLD NEW=KEY",
		Short: "Put a new machine in the place of another one",
		Long: `Put a new machine in the place of another one: it takes over the address, the role, the
labels and the networks. A new token is drawn, because the old machine knows the old one.
With --context, the old machine leaves the cluster as it does by ` + "`toskose cluster remove`" + `.
The new machine may have the name of the old one.`,
		Example: "  toskose cluster replace edge-c edge-d=age1… --dir factory-7 --context factory-7",
		Args:    cli.Args(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			all, err := machines(args[1:])
			if err != nil {
				return err
			}
			return s.change(cmd.Context(), flags, func(d edge.Document) (edge.Change, error) { return edge.Replace(d, args[0], all[0], flags.keepToken) })
		},
		ValidArgsFunction: s.names,
	}
	flags.registerLeaving(s, cmd)
	return cmd
}

func (s *session) seed() *cobra.Command {
	var flags changing
	cmd := &cobra.Command{
		Use:     "seed NAME",
		Short:   "Make another server the one that all others join",
		Example: "  toskose cluster seed edge-b --dir factory-7",
		Args:    cli.Args(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.change(cmd.Context(), flags, func(d edge.Document) (edge.Change, error) { return edge.SetSeed(d, args[0]) })
		},
		ValidArgsFunction: s.names,
	}
	flags.register(cmd)
	return cmd
}

func (s *session) label() *cobra.Command {
	var flags changing
	cmd := &cobra.Command{
		Use:   "label [NAME KEY=VALUE... KEY-...]",
		Short: "Set and remove labels of a machine",
		Long: `Set labels of a machine, and remove labels whose key is followed by a minus sign. k3s
gives them to the machine's Node when it joins. Without arguments, all files are written
again after you edited cluster.yaml.`,
		Example: "  toskose cluster label edge-a GPU=2 DirectConnect=eth3 --dir factory-7\n  toskose cluster label edge-a GPU- --dir factory-7\n  toskose cluster label --dir factory-7",
		Args:    cli.Args(0, 1000),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return s.change(cmd.Context(), flags, edge.Refresh)
			}
			set, remove, err := edge.ParseLabels(args[1:])
			if err == nil && len(set)+len(remove) == 0 {
				err = fmt.Errorf("%q needs a label: KEY=VALUE, or KEY- to remove one", args[0])
			}
			if err != nil {
				return cli.Misuse(err)
			}
			return s.change(cmd.Context(), flags, func(d edge.Document) (edge.Change, error) { return edge.Label(d, args[0], set, remove) })
		},
		ValidArgsFunction: s.names,
	}
	flags.register(cmd)
	return cmd
}

func (s *session) trust() *cobra.Command {
	var flags changing
	cmd := &cobra.Command{
		Use:   "trust",
		Short: "Make machines that join later verify the cluster",
		Long: `Put the digest of the cluster's certificate authority into the token. On the first join,
a machine trusts any server that answers at the seed's address; with the digest, it
verifies the server. The authority is the one by which kubectl verifies the cluster.`,
		Example: "  toskose cluster trust --dir factory-7 --context factory-7",
		Args:    cli.Args(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			d, err := folder.Read(s.dir)
			if err != nil {
				return err
			}
			digest, err := s.observed(d, defaultTimeout).AuthorityDigest(cmd.Context())
			if err != nil {
				return err
			}
			return s.change(cmd.Context(), flags, func(d edge.Document) (edge.Change, error) { return edge.Trust(d, digest) })
		},
	}
	s.inContext(cmd, "kubectl context of the cluster (default: the current one)")
	flags.register(cmd)
	return cmd
}

// observed returns the cluster of a document, as kubectl reads it.
func (s *session) observed(d edge.Document, timeout time.Duration) observe.Cluster {
	c := observe.Cluster{Kubectl: s.kubectl(), Timeout: timeout}
	for _, n := range d.Servers() {
		c.Servers = append(c.Servers, fmt.Sprintf("https://%s:%d", n.Address, edge.APIPort))
	}
	return c
}

func (s *session) attach() *cobra.Command {
	var flags changing
	var node string
	cmd := &cobra.Command{
		Use:   "attach NETWORK APPLICATION",
		Short: "Give a network of cluster.yaml to the machines of an application",
		Long: `Give a network of cluster.yaml to the machines of an application: to the one that --node
names or, without it, to all machines that have the network's labels. Their next join
configures a bridge, and the network's NetworkAttachmentDefinition is in the folder
networks. Multus attaches the pods that name it.`,
		Example: "  toskose cluster attach cameras thinking --dir factory-7\n  toskose cluster attach cameras thinking --node edge-b --dir factory-7",
		Args:    cli.Args(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.change(cmd.Context(), flags, func(d edge.Document) (edge.Change, error) { return edge.Attach(d, args[0], args[1], node) })
		},
		ValidArgsFunction: s.networks,
	}
	cmd.Flags().StringVar(&node, "node", "", "only this machine `NAME`")
	_ = cmd.RegisterFlagCompletionFunc("node", func(cmd *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
		return s.names(cmd, nil, begun)
	}) // the flag is there
	flags.register(cmd)
	return cmd
}

func (s *session) detach() *cobra.Command {
	var flags changing
	cmd := &cobra.Command{
		Use:     "detach NETWORK APPLICATION",
		Short:   "End the use of a network by an application",
		Example: "  toskose cluster detach cameras thinking --dir factory-7",
		Args:    cli.Args(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.change(cmd.Context(), flags, func(d edge.Document) (edge.Change, error) { return edge.Detach(d, args[0], args[1]) })
		},
		ValidArgsFunction: s.networks,
	}
	flags.register(cmd)
	return cmd
}
