// Package shell has `toskose exec`, which runs a command in the container of a component by the caller's docker or kubectl. The
// manager only says where the component runs: no shell is behind its API. It starts no goroutine.
package shell

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/docker/docker/client"
	"github.com/spf13/cobra"

	"github.com/toskose/toskose/cmd/toskose/cli"
	"github.com/toskose/toskose/cmd/toskose/live"
	managerclient "github.com/toskose/toskose/manager/client"
	"github.com/toskose/toskose/packager/command"
)

// Environment has the streams, the environment variables and the connections that the command uses.
type Environment struct {
	cli.Streams
	Terminal bool // input and output are terminals
	Environ  func() []string
	Connect  func() (*client.Client, error)
	Say      func(string) // prints which application is meant
}

// flags are the flags of the command.
type flags struct {
	Environment
	live.Manager
	replica string
	cluster string // kubectl context
}

// Command returns `toskose exec`.
func Command(env Environment) *cobra.Command {
	f := &flags{Environment: env}
	cmd := &cobra.Command{
		Use:   "exec COMPONENT [-- COMMAND...]",
		Short: "Run a shell, or a command, as the processes of a component run",
		Long: `Run a shell, or COMMAND, in the container of a component, with the user, folder and
environment of the component's processes. It uses your docker or kubectl, so you need
access to the engine or the cluster; the manager only says where the component runs.
The exit code is that of the command.`,
		Example: "  toskose exec api\n  toskose exec api -- ls -l\n  toskose exec web/php-fpm --replica 10.0.1.7 -- env",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 || cmd.ArgsLenAtDash() == 0 || len(args) > 1 && cmd.ArgsLenAtDash() != 1 {
				return cli.Misuse(errors.New("it needs a COMPONENT, and a command only after --: `toskose exec COMPONENT -- COMMAND`"))
			}
			return f.run(cmd.Context(), args[0], args[1:])
		},
	}
	f.Manager.Environ, f.Manager.Say = env.Environ(), env.Say
	f.Register(cmd)
	cmd.ValidArgsFunction = f.CompleteComponents()
	cmd.Flags().StringVar(&f.replica, "replica", "", "the replica with this `ADDRESS` or instance (default: the first that responds)")
	cmd.Flags().StringVar(&f.cluster, "kube-context", "", "kubectl context of the cluster (default: the current one)")
	return cmd
}

func (f *flags) run(ctx context.Context, component string, command []string) error {
	var at target
	err := f.Ask(func(c *managerclient.Client) error {
		app, err := c.App(ctx)
		if err == nil {
			at, err = choose(app, component, f.replica)
		}
		return err
	})
	if err != nil {
		return err
	}
	words, err := f.find(ctx, at)
	if err != nil {
		return err
	}
	if len(command) > 0 {
		command = append([]string{"--"}, command...)
	}
	return f.execute(ctx, slices.Concat(words, []string{"exec", at.program}, command))
}

// target is where a component runs.
type target struct {
	app, node string
	program   string // the component's name in its container
	address   string // of the replica, without a port
}

// choose returns where a component runs: on the wanted replica, or on the first one that responds.
func choose(app managerclient.App, component, replica string) (target, error) {
	i := slices.IndexFunc(app.Components, func(c managerclient.Component) bool { return c.Name == component })
	if i < 0 {
		return target{}, cli.Misuse(live.UnknownComponent(app, component))
	}
	c := app.Components[i]
	at := target{app: app.Name, node: c.Node, program: strings.TrimPrefix(component, c.Node+"/")}
	for _, r := range c.Replicas {
		host := hostOf(r.Address)
		if replica == "" && r.Problem == "" || replica != "" && (replica == r.Address || replica == host || replica == r.Instance) {
			at.address = host
			return at, nil
		}
	}
	if replica != "" {
		return at, fmt.Errorf("component %q has no replica %q", component, replica)
	}
	return at, fmt.Errorf("no container of component %q responds: `toskose ps` shows why", component)
}

func hostOf(address string) string {
	if i := strings.LastIndexByte(address, ':'); i >= 0 {
		address = address[:i]
	}
	return strings.Trim(address, "[]")
}

// find returns the command line that runs the unit's binary in a container, without the arguments of the unit.
func (f *flags) find(ctx context.Context, at target) ([]string, error) {
	words, engineErr := f.onEngine(ctx, at)
	if len(words) > 0 {
		return words, nil
	}
	cluster := command.Cluster{Context: f.cluster, Environ: f.Environment.Environ()}
	if f.cluster != "" || cluster.Configured(ctx) {
		words, err := f.onCluster(ctx, cluster, at)
		if len(words) > 0 || err != nil {
			return words, err
		}
	}
	err := fmt.Errorf("no container of %q at %s is on this engine or cluster: on a swarm, run the command on the machine of the container", at.node, at.address)
	return nil, errors.Join(err, engineErr)
}

// execute runs a command with the input and output of this process, and returns its exit code as an error.
func (f *flags) execute(ctx context.Context, words []string) error {
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = f.Environment.Environ(), f.In, f.Raw, f.Err
	if f.Terminal { // docker needs the terminal itself
		cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() > 0 {
		return cli.ExitError{Err: fmt.Errorf("the command ended with exit code %d", exit.ExitCode()), Code: exit.ExitCode()}
	}
	return err
}
