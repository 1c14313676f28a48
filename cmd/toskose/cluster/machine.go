package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toskose/toskose/cmd/toskose/cli"
	"github.com/toskose/toskose/edge"
	"github.com/toskose/toskose/edge/machine"
	"github.com/toskose/toskose/internal/visible"
)

// local are the flags of commands that run on a machine of the cluster.
type local struct{ root, key string }

func (l *local) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&l.root, "root", "/", "the root folder `DIR` of the machine's files")
	cmd.Flags().StringVar(&l.key, "key", machine.DefaultKey, "the machine's private key, a `FILE` of age below the root folder")
}

// options returns the machine that runs this process.
func (s *session) options(l local) (machine.Options, error) {
	if runtime.GOOS != "linux" {
		return machine.Options{}, errors.New("machines of a cluster run Linux")
	}
	host, err := os.Hostname()
	if err != nil {
		return machine.Options{}, fmt.Errorf("cannot read the name of this machine: %w", err)
	}
	ip, err := exec.LookPath("ip")
	if err != nil {
		return machine.Options{}, fmt.Errorf("the command ip (iproute2) is not installed: %w", err)
	}
	return machine.Options{
		Root: l.root, Key: l.key, Hostname: host, Network: machine.IP{Path: ip, Environ: s.environ}, IP: ip,
		Interval: time.Second, Dial: dial, Say: s.say,
	}, nil
}

// dialTimeout is the time limit of one attempt to reach the seed.
const dialTimeout = 5 * time.Second

func dial(ctx context.Context, address string) error {
	conn, err := (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	return conn.Close()
}

func (s *session) key() *cobra.Command {
	var l local
	cmd := &cobra.Command{
		Use:   "key",
		Short: "Print the public key of this machine, which it makes if it has none",
		Long: `Print the public key of this machine. If the machine has none, make its private key,
which never leaves it. A key that a plugin of age made, such as a TPM's, may be in its
place.`,
		Example: "  toskose cluster key",
		Args:    cli.Args(0, 0),
		RunE: func(*cobra.Command, []string) error {
			path := filepath.Join(l.root, l.key)
			public, made, err := machine.Key(path)
			if err != nil {
				return err
			}
			if made {
				s.say("made the private key %s", path)
			}
			fmt.Fprintln(s.streams.Out, visible.Text(public))
			return nil
		},
	}
	l.register(cmd)
	return cmd
}

func (s *session) join() *cobra.Command {
	var l local
	var force bool
	var start string
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "join FILE",
		Short: "Configure this machine for its cluster, and start k3s",
		Long: `Configure this machine by its file in the folder of the cluster: its address on the
cluster's interface, now and whenever it boots, and the configuration of k3s with the
token. All of this is applied, or nothing. Every machine but the seed then waits for the
seed. At the end, --start starts k3s.

Joining again changes nothing; with a newer file, it changes the differences. --start
runs again only if the configuration of k3s has changed.`,
		Example: "  toskose cluster join edge-a.json --start 'systemctl enable --now k3s'\n  toskose cluster join edge-x.json --start 'systemctl enable --now k3s-agent' --timeout 30m\n  toskose cluster join edge-b.json --start 'systemctl restart k3s'",
		Args:    cli.Args(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			data, err := cli.ReadFile(args[0])
			if err != nil {
				return fmt.Errorf("cannot read the file of this machine: %w", err)
			}
			o, err := s.options(l)
			if err != nil {
				return err
			}
			o.Force, o.Timeout = force, timeout
			if start != "" {
				o.Start = func(ctx context.Context) error { return s.run(ctx, start) }
			}
			f, r, err := machine.Join(cmd.Context(), data, o)
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			s.joined(f, r)
			return nil
		},
	}
	l.register(cmd)
	cmd.Flags().BoolVar(&force, "force", false, "the name of this machine may differ from the one in the file")
	cmd.Flags().StringVar(&start, "start", "", "the `COMMAND` that starts k3s, in a shell")
	cmd.Flags().DurationVar(&timeout, "timeout", 10*time.Minute, "time limit for the seed to respond")
	return cmd
}

// run runs a command of the user in a shell.
func (s *session) run(ctx context.Context, line string) error {
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", line)
	cmd.Env, cmd.Stdout, cmd.Stderr = s.environ, s.streams.Out, s.streams.Err
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil && !errors.Is(err, exec.ErrWaitDelay) { // what it started may keep the output open
		return fmt.Errorf("`%s`: %w", line, err)
	}
	return nil
}

// joined prints the result of a join, and the remaining steps.
func (s *session) joined(f edge.NodeFile, r machine.Result) {
	if len(r.Changed) == 0 {
		s.say("%s has joined %s with revision %d: nothing to change", f.Name, f.Cluster.Name, f.Revision)
	} else {
		s.say("%s is configured for %s, revision %d:\n  %s", f.Name, f.Cluster.Name, f.Revision, strings.Join(r.Changed, "\n  "))
	}
	if r.Current || *s.quiet {
		return
	}
	if r.Rotate {
		fmt.Fprintln(s.streams.Out, "The token has changed. On one server, before any other restarts:\n  "+edge.RotateCommand)
	}
	if r.Restart {
		fmt.Fprintln(s.streams.Out, "k3s reads its configuration when it starts:\n  systemctl restart "+f.Service())
	} else {
		fmt.Fprintln(s.streams.Out, "To start k3s:\n  systemctl enable --now "+f.Service())
	}
}

func (s *session) leave() *cobra.Command {
	var l local
	cmd := &cobra.Command{
		Use:   "leave",
		Short: "Remove everything from this machine that join made",
		Long: `Remove everything from this machine that join made: the address, the configuration of
k3s, the token and the bridges. Stop k3s first, and remove its data as its own
documentation says. The machine keeps its key.`,
		Example: "  toskose cluster leave",
		Args:    cli.Args(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			o, err := s.options(l)
			if err != nil {
				return err
			}
			f, left, err := machine.Leave(cmd.Context(), o)
			switch {
			case err != nil:
				return err
			case !left:
				s.say("this machine has joined no cluster")
			default:
				s.say("%s has left %s", cmp.Or(f.Name, o.Hostname), f.Cluster.Name)
			}
			return nil
		},
	}
	l.register(cmd)
	return cmd
}
