package cluster

import (
	"cmp"
	"errors"

	"github.com/spf13/cobra"

	"github.com/toskose/toskose/cmd/toskose/cli"
	"github.com/toskose/toskose/edge"
	"github.com/toskose/toskose/edge/folder"
)

func (s *session) create() *cobra.Command {
	var o edge.CreateOptions
	var servers, agents []string
	var dir string
	cmd := &cobra.Command{
		Use:   "create NAME --interface NAME --node NAME=KEY...",
		Short: "Make the folder of a new cluster",
		Long: `Make the folder of a new cluster: cluster.yaml, a file for each machine in nodes, and
the token in secrets, which git ignores. The token in the file of a machine is encrypted
to the key of this machine, which ` + "`toskose cluster key`" + ` prints there.

There are 1, 3, 5 or 7 servers (--node), and any number of agents (--agent). All others
join the seed: the first server, or the one that --seed names. It has the first address
of the prefix.`,
		Example: `  toskose cluster create factory-7 --interface eth1 --node edge-a=age1… --node edge-b=age1… --node edge-c=age1…
  toskose cluster create site-9 --interface eth1 --node edge-a=age1… --agent edge-x=age1… --prefix 10.9.0.0/28 --reserved 10.1.0.0/16`,
		Args: cli.Args(1, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			if o.Interface == "" || len(servers) == 0 {
				return cli.Misuse(errors.New("--interface and at least one --node are needed"))
			}
			var err error
			if o.Servers, err = machines(servers); err != nil {
				return err
			}
			if o.Agents, err = machines(agents); err != nil {
				return err
			}
			o.Name, o.Random = args[0], s.random
			d, err := edge.Create(o)
			if err != nil {
				return err
			}
			to := cmp.Or(dir, o.Name)
			if err := folder.Create(to, d, s.random); err != nil {
				return err
			}
			s.say("created %s: copy each file in %s/nodes to its machine, then run there, the seed first:", to, to)
			s.printSteps(d.Steps())
			return nil
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	flags := cmd.Flags()
	flags.StringVar(&o.Interface, "interface", "", "the network interface `NAME` on which the machines reach each other, on all machines")
	flags.StringArrayVar(&servers, "node", nil, "a server and its key, as `NAME=KEY`; repeatable")
	flags.StringArrayVar(&agents, "agent", nil, "an agent and its key, as `NAME=KEY`; repeatable")
	flags.StringVar(&o.Seed, "seed", "", "the server `NAME` that all others join (default: the first)")
	flags.StringVar(&o.Prefix, "prefix", edge.DefaultPrefix, "the private `PREFIX` of the machines' addresses on the interface")
	flags.StringArrayVar(&o.Reserved, "reserved", nil, "a `PREFIX` that the site uses for something else; repeatable")
	flags.StringVarP(&dir, "dir", "C", "", "the folder `DIR` to make (default: the name of the cluster)")
	_ = cmd.MarkFlagDirname("dir") // the flag is there
	return cmd
}

// machines parses arguments of the form NAME=KEY.
func machines(texts []string) ([]edge.Machine, error) {
	var all []edge.Machine
	for _, text := range texts {
		m, err := edge.ParseMachine(text)
		if err != nil {
			return nil, cli.Misuse(err)
		}
		all = append(all, m)
	}
	return all, nil
}
