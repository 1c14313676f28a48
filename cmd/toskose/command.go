package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/docker/docker/client"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/toskose/toskose/cmd/toskose/applications"
	"github.com/toskose/toskose/cmd/toskose/attach"
	"github.com/toskose/toskose/cmd/toskose/cli"
	"github.com/toskose/toskose/cmd/toskose/cluster"
	"github.com/toskose/toskose/cmd/toskose/contexts"
	"github.com/toskose/toskose/cmd/toskose/live"
	"github.com/toskose/toskose/cmd/toskose/releases"
	"github.com/toskose/toskose/cmd/toskose/rotate"
	"github.com/toskose/toskose/cmd/toskose/shell"
	"github.com/toskose/toskose/cmd/toskose/user"
	"github.com/toskose/toskose/cmd/toskose/volume"
	"github.com/toskose/toskose/internal/located"
	"github.com/toskose/toskose/internal/visible"
	"github.com/toskose/toskose/tosca/diag"
)

// run runs the program and returns its exit code.
func run(ctx context.Context, args []string, env environment) int {
	cmd := newCommand(env) //nolint:contextcheck // ExecuteContextC hands it on
	cmd.SetArgs(args)
	cmd.SetOut(env.out)
	cmd.SetErr(env.err)
	called, err := cmd.ExecuteContextC(ctx)
	var usage cli.UsageError
	var unopened cli.UnopenedError
	switch {
	case err == nil:
		return cli.ExitOK
	case errors.Is(err, errInvalid):
		return cli.ExitFailed // already reported
	case errors.As(err, &unopened):
		fmt.Fprintln(env.err, visible.Lines(message(err)))
		return cli.ExitUnopened
	case errors.As(err, &usage):
		fmt.Fprintln(env.err, visible.Lines(fmt.Sprintf("toskose: %v\nTry `%s --help`.", err, called.CommandPath())))
		return cli.ExitUsage
	case ctx.Err() != nil:
		fmt.Fprintln(env.err, visible.Lines(fmt.Sprintf("toskose: interrupted: %s; run the command again to complete it", strings.TrimSuffix(err.Error(), ": context canceled"))))
		return cli.ExitInterrupted
	default:
		fmt.Fprintln(env.err, visible.Lines(message(err)))
	}
	return cli.CodeOf(err)
}

// message returns the text to print for an error. A list of diagnostics is unchanged: each line
// starts with its position.
func message(err error) string {
	var problems located.Problems
	var diagnostics diag.List
	if errors.As(err, &problems) || errors.As(err, &diagnostics) {
		return err.Error()
	}
	text := err.Error()
	if client.IsErrConnectionFailed(err) {
		text += " Start it, or name another one with DOCKER_HOST or --docker-url."
	}
	return "toskose: " + strings.ReplaceAll(text, "\n", "\n  ")
}

const longHelp = `Package a TOSCA application so that each of its components can be managed on its
own, even if several of them share a container, and deploy it.

"toskose CSAR_PATH" is short for "toskose package CSAR_PATH", with the same flags.`

const examples = `  toskose package thinking.csar
  toskose deploy thinking-toskosed
  toskose up --dir thinking-toskosed
  toskose undeploy thinking-toskosed`

func newCommand(env environment) *cobra.Command {
	var engine engineFlags
	cmd := packaging(env, &engine)
	cmd.Use = "toskose [OPTIONS] CSAR_PATH [CONFIG_PATH]"
	cmd.Args, cmd.SuggestionsMinimumDistance = commandOrArchive, 2
	cmd.Short = "Manage the components of containers, each on its own"
	cmd.Long = longHelp
	cmd.Example = examples
	cmd.Version = built().String()
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetVersionTemplate("toskose {{.Version}}\n")
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return cli.Misuse(err) })
	shortenHelp(cmd)
	engine.register(cmd)
	cmd.AddCommand(newPackage(env, &engine), newDeploy(env, &engine), newUndeploy(env, &engine), newVersion(env), newConfig(env),
		newInit(env, &engine), newValidate(env), newInspect(env), newGraph(env), newPlan(env, &engine), newOperator(env, &engine), newMan())
	cmd.AddCommand(attach.Commands(attach.Environment{
		Streams: env.streams(), Environ: env.environ, Binaries: env.binaries, Version: built().version, Connect: engine.connect, Quiet: &engine.quiet,
		Inspector: inspector,
	})...)
	cmd.AddCommand(releases.Commands(env.streams(), releases.Engine{Connect: engine.connect, Environ: func() []string { return engine.environ(env) }})...)
	cmd.AddCommand(user.Command(env.streams(), &engine.quiet, contexts.Mounted(env.environ)))
	cmd.AddCommand(live.Commands(env.streams(), env.environ, &engine.quiet)...)
	cmd.AddCommand(shell.Command(shell.Environment{
		Streams: env.streams(), Terminal: env.inTerminal && env.outTerminal, Environ: func() []string { return engine.environ(env) }, Connect: engine.connect,
		Say: func(line string) { engine.print(env, line) },
	}))
	cmd.AddCommand(applications.Command(env.streams(), env.environ, engine.connect))
	cmd.AddCommand(cluster.Command(env.streams(), env.environ, &engine.quiet))
	cmd.AddCommand(volume.Command(env.streams(), env.environ, engine.connect, &engine.quiet))
	cmd.AddCommand(contexts.Command(env.streams(), env.environ))
	cmd.AddCommand(rotate.Command(env.streams(), rotate.Engine{Connect: engine.connect, Environ: func() []string { return engine.environ(env) }}, &engine.quiet))
	completions(cmd)
	return cmd
}

// shortenHelp leaves the packaging flags out of the root command's help; the help
// of `toskose package` lists them.
func shortenHelp(root *cobra.Command) {
	full := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		if cmd == root {
			root.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) { f.Hidden = f.Name != "help" && f.Name != "version" })
		}
		full(cmd, args)
	})
}

// guessed maps commands of other tools to the corresponding commands of toskose.
var guessed = map[string]string{
	"scale":    "set nodes.NAME.deploy.replicas in toskose.yml, then `toskose package` and `toskose deploy`",
	"start":    "`toskose up` starts components",
	"stop":     "`toskose down` stops and deletes components, and `toskose run COMPONENT stop` stops one",
	"list":     "`toskose ls` lists applications, and `toskose ps` components",
	"get":      "`toskose ps` lists components, and `toskose ls` applications",
	"describe": "`toskose ps` shows the states of components, and `toskose inspect` describes an application",
	"rm":       "`toskose undeploy` removes an application",
	"remove":   "`toskose undeploy` removes an application",
	"delete":   "`toskose undeploy` removes an application",
	"destroy":  "`toskose undeploy` removes an application",
	"build":    "`toskose package` builds the images of an application",
	"apply":    "`toskose deploy` runs a packaged application",
	"install":  "`toskose deploy` runs a packaged application",
	"upgrade":  "`toskose package` and `toskose deploy` again upgrade an application",
	"rollback": "`toskose deploy --rollback` restores the previous release",
	"shell":    "`toskose exec COMPONENT` opens a shell",
	"ssh":      "`toskose exec COMPONENT` opens a shell",
	"use":      "`toskose context use NAME` selects an application",
	"watch":    "`toskose events --follow` prints changes, and `toskose top --follow` the use of resources",
	"kill":     "`toskose run COMPONENT stop` stops a component",
	"backup":   "`toskose volume backup` saves the data of volumes",
	"restore":  "`toskose volume restore` restores the data of volumes",
}

// commandOrArchive checks the arguments of the root command. The argument is an archive to
// package, unless no such file exists and it resembles the name of a command.
func commandOrArchive(cmd *cobra.Command, given []string) error {
	if len(given) > 0 && given[0] != "" {
		_, err := os.Lstat(given[0])
		if hint := guessed[given[0]]; err != nil && hint != "" {
			return cli.Misuse(fmt.Errorf("%q is not a command: %s", given[0], hint))
		}
		if near := cmd.SuggestionsFor(given[0]); err != nil && len(near) > 0 {
			return cli.Misuse(fmt.Errorf("%q is neither a command nor a file: did you mean `toskose %s`?", given[0], near[0]))
		}
	}
	return cli.Args(0, 2)(cmd, given)
}

// engineFlags are the flags that all commands share.
type engineFlags struct {
	url          string
	quiet, debug bool
}

func (f *engineFlags) register(cmd *cobra.Command) {
	flags := cmd.PersistentFlags()
	flags.StringVar(&f.url, "docker-url", "", "the Docker engine, as unix:///… or tcp://… (default $DOCKER_HOST, or the local one)")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "print errors only")
	flags.BoolVar(&f.debug, "debug", false, "print everything the engine reports")
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

// environ returns the environment for Docker's commands.
func (f *engineFlags) environ(env environment) []string {
	if f.url == "" {
		return env.environ
	}
	return append(append([]string{}, env.environ...), "DOCKER_HOST="+f.url)
}

// progress and debugging return the writers of output that flags turn on or off.
func (f *engineFlags) progress(env environment) io.Writer {
	if f.quiet {
		return io.Discard
	}
	return env.streams().Out
}

func (f *engineFlags) debugging(env environment) io.Writer {
	if f.debug {
		return env.err
	}
	return nil
}

// print prints a line for people, unless --quiet is set.
func (f *engineFlags) print(env environment, line string) {
	if !f.quiet {
		fmt.Fprintln(env.streams().Err, line)
	}
}

// warn prints warnings, unless --quiet is set.
func (f *engineFlags) warn(env environment, warnings []string) {
	for _, warning := range warnings {
		if !f.quiet {
			fmt.Fprintln(env.streams().Err, "warning: "+warning)
		}
	}
}
