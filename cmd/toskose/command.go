package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"

	"github.com/docker/docker/client"
	"github.com/spf13/cobra"

	"github.com/toskose/toskose/packager/config"
	"github.com/toskose/toskose/tosca/diag"
)

// The exit codes.
const (
	exitOK       = 0
	exitError    = 1 // what was given is wrong, or something failed
	exitUsage    = 2
	exitUnopened = 2 // of the commands that only read: there is nothing to read
)

// usageError is a command line that means nothing.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// run is the whole program.
func run(ctx context.Context, args []string, env environment) int {
	cmd := newCommand(env) //nolint:contextcheck // ExecuteContextC hands it on
	cmd.SetArgs(args)
	cmd.SetOut(env.out)
	cmd.SetErr(env.err)
	called, err := cmd.ExecuteContextC(ctx)
	var usage usageError
	var unopened unopenedError
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errInvalid):
		return exitError // the report says it
	case errors.As(err, &unopened):
		fmt.Fprintln(env.err, diag.VisibleLines(message(err)))
		return exitUnopened
	case errors.As(err, &usage):
		fmt.Fprintln(env.err, diag.VisibleLines(fmt.Sprintf("toskose: %v\nTry `%s --help`.", err, called.CommandPath())))
		return exitUsage
	case ctx.Err() != nil:
		fmt.Fprintln(env.err, diag.VisibleLines(fmt.Sprintf("toskose: interrupted: %v", err)))
	default:
		fmt.Fprintln(env.err, diag.VisibleLines(message(err)))
	}
	return exitError
}

// message leaves a list of diagnostics as it is: each line begins with its
// place already.
func message(err error) string {
	var problems config.Problems
	var diagnostics diag.List
	if errors.As(err, &problems) || errors.As(err, &diagnostics) {
		return err.Error()
	}
	return "toskose: " + strings.ReplaceAll(err.Error(), "\n", "\n  ")
}

const longHelp = `Package a TOSCA application so that each of its components can be managed on
its own: images in which every container's main process is a unit, a manager, and
manifests that run them on Docker Swarm, a single engine or Kubernetes.

CSAR_PATH is a .csar, .zip, .tar or .tar.gz, an unpacked directory, or a service
template. CONFIG_PATH is a toskose.yml; whatever it leaves open gets a default,
and passwords are generated.`

const examples = `  toskose thinking.csar
  toskose -o deployment -i api_port=9090 thinking.csar toskose.yml
  toskose --inputs production.yaml thinking.csar
  toskose --endpoint-mode dnsrr --publish-mode host thinking.csar
  toskose --target kubernetes thinking.csar
  toskose config thinking.csar
  toskose validate thinking.csar
  toskose graph -o thinking.svg thinking.csar
  toskose deploy thinking-toskosed
  toskose undeploy thinking-toskosed
  toskose plan thinking.csar`

func newCommand(env environment) *cobra.Command {
	var engine engineFlags
	var flags packageFlags
	cmd := &cobra.Command{
		Use:                   "toskose [OPTIONS] CSAR_PATH [CONFIG_PATH]",
		Short:                 "Manage the components of containers, each on its own",
		Long:                  longHelp,
		Example:               examples,
		Version:               version,
		Args:                  args(1, 2),
		SilenceErrors:         true,
		SilenceUsage:          true,
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			return pack(cmd.Context(), env, engine, flags, args)
		},
	}
	cmd.SetVersionTemplate("toskose {{.Version}}\n")
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	engine.register(cmd)
	flags.register(cmd)
	cmd.AddCommand(newDeploy(env, &engine), newUndeploy(env, &engine), newVersion(env), newConfig(env),
		newValidate(env), newInspect(env), newGraph(env), newPlan(env, &engine))
	completions(cmd)
	return cmd
}

func newVersion(env environment) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: args(0, 0),
		Run: func(*cobra.Command, []string) {
			fmt.Fprintf(env.out, "toskose %s (%s, %s/%s)\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
		},
	}
}

// args is cobra's check of the number of arguments, as a usage error.
func args(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) >= least && len(args) <= most {
			return nil
		}
		return usageError{fmt.Errorf("%d arguments given: the command is `%s`", len(args), cmd.UseLine())}
	}
}

// engineFlags are what all commands have in common.
type engineFlags struct {
	url          string
	quiet, debug bool
}

func (f *engineFlags) register(cmd *cobra.Command) {
	flags := cmd.PersistentFlags()
	flags.StringVar(&f.url, "docker-url", "", "the Docker engine, as unix:///… or tcp://… (default $DOCKER_HOST, or the local one)")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "print errors only")
	flags.BoolVar(&f.debug, "debug", false, "print all that the engine says")
	cmd.MarkFlagsMutuallyExclusive("quiet", "debug")
}

func (f *engineFlags) connect() (*client.Client, error) {
	opts := []client.Opt{client.FromEnv, client.WithAPIVersionNegotiation()}
	if f.url != "" {
		opts = append(opts, client.WithHost(f.url))
	}
	engine, err := client.NewClientWithOpts(opts...)
	if err != nil {
		return nil, fmt.Errorf("cannot use the Docker engine %q: %w", f.url, err)
	}
	return engine, nil
}

// environ is the environment of Docker's commands.
func (f *engineFlags) environ(env environment) []string {
	if f.url == "" {
		return env.environ
	}
	return append(append([]string{}, env.environ...), "DOCKER_HOST="+f.url)
}

// progress and debugging are where the output goes that a flag switches.
func (f *engineFlags) progress(env environment) io.Writer {
	if f.quiet {
		return io.Discard
	}
	return env.out
}

func (f *engineFlags) debugging(env environment) io.Writer {
	if f.debug {
		return env.err
	}
	return nil
}

// warn prints what the user has to know and need not change.
func (f *engineFlags) warn(env environment, warnings []string) {
	for _, warning := range warnings {
		if !f.quiet {
			fmt.Fprintln(env.err, "warning: "+warning)
		}
	}
}
