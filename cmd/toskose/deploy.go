package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/docker/docker/client"
	"github.com/spf13/cobra"

	"github.com/toskose/toskose/cmd/toskose/applications"
	"github.com/toskose/toskose/cmd/toskose/cli"
	"github.com/toskose/toskose/cmd/toskose/contexts"
	"github.com/toskose/toskose/cmd/toskose/live"
	"github.com/toskose/toskose/cmd/toskose/releases"
	"github.com/toskose/toskose/packager/deploy"
	"github.com/toskose/toskose/packager/deploy/backend"
)

func newDeploy(env environment, engine *engineFlags) *cobra.Command {
	var flags deployFlags
	cmd := &cobra.Command{
		Use:   "deploy [DIR]",
		Short: "Run a packaged application, and wait until the manager and all units answer",
		Long: `Run the application that was packaged in DIR: as a stack if the engine is in a
swarm, otherwise on the single engine with docker compose or docker-compose. If
DIR has manifests for Kubernetes only, or with --target kubernetes, it runs on
the cluster in kubectl's current context. Deploying again updates what has
changed, and removes what is no longer part of the application. If something does
not start, deploy prints the reason, and removes what it started or restores the
previous release: see ` + "`toskose release`" + `. Commands such as ` + "`toskose ps`" + ` then use
this application, from any folder: see ` + "`toskose context`" + `.

With --up, it then sets the goal that every component is up, and waits until it is
reached. A goal that was set before is kept: if all units lost it together with
their containers, deploy sets it again.

Secrets belong to the application. A folder with other secrets than the running
application has is refused. Package it with --from, which copies them, or deploy it
with --new-secrets: a Swarm then replaces all containers; on other targets, manager
and units read the new secrets without a restart.

deploy, undeploy, rotate and volume lock the application, so that only one of them
changes it at a time. The others report who has locked it, and exit with 1. If a
command was killed, the next one takes its lock over: at once on the same host,
otherwise after 30 seconds without a renewal.

With --rollback, it deploys the images and manifests of the previous release. Data
in volumes stays as it is. An interrupted rollback is resumed. Without DIR, it rolls
back the application in the working directory or in the current context.`,
		Example: "  toskose deploy --up thinking-toskosed\n  toskose deploy thinking-toskosed\n  toskose deploy --timeout 5m --keep thinking-toskosed\n  toskose deploy --target kubernetes --context staging thinking-toskosed",
		Args:    cli.Args(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			flags.opts.Command = cli.Line(cmd, args)
			if flags.rollback {
				flags.opts.Command += " --rollback"
				dir, err := releases.Folder(args, engine.environ(env))
				if err != nil {
					return err
				}
				return flags.run(cmd.Context(), env, engine, dir, rollback)
			}
			if err := cli.Args(1, 1)(cmd, args); err != nil {
				return err
			}
			return flags.run(cmd.Context(), env, engine, args[0], up)
		},
	}
	cmd.Flags().DurationVar(&flags.opts.Timeout, "timeout", 2*time.Minute, "how long to wait until everything answers")
	flags.register(cmd)
	cmd.Flags().BoolVar(&flags.up, "up", false, "start all components, and wait for them, for another --timeout")
	cmd.Flags().BoolVar(&flags.opts.Keep, "keep", false, "keep the containers of a failed deployment, for inspection")
	cmd.Flags().BoolVar(&flags.opts.NewSecrets, "new-secrets", false, "deploy secrets that differ from the secrets of the running application")
	cmd.Flags().BoolVar(&flags.rollback, "rollback", false, "deploy the previous release")
	return cmd
}

func newUndeploy(env environment, engine *engineFlags) *cobra.Command {
	flags := deployFlags{byName: true}
	cmd := &cobra.Command{
		Use:   "undeploy {DIR | NAME}",
		Short: "Remove a deployed application",
		Long: `Remove the containers, networks and Swarm secrets of the application that was
packaged in DIR, or that runs by the NAME that ` + "`toskose ls`" + ` shows, and what its
units keep for the manager; on Kubernetes, all of its objects except volume
claims, and its namespace if toskose created it and nothing else is left in it.
Images, the application's volumes and files stay.`,
		Example: "  toskose undeploy thinking-toskosed\n  toskose undeploy --images thinking\n  toskose undeploy --volumes thinking-toskosed\n  toskose undeploy --target kubernetes thinking-toskosed\n  toskose undeploy --namespace staging thinking",
		Args:    cli.Args(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			flags.opts.Command = cli.Line(cmd, args)
			return flags.run(cmd.Context(), env, engine, args[0], down)
		},
	}
	cmd.Flags().DurationVar(&flags.opts.Timeout, "timeout", 2*time.Minute, "how long to wait until everything is gone")
	flags.register(cmd)
	cmd.Flags().BoolVar(&flags.opts.Volumes, "volumes", false, "also remove the application's volumes and the data in them")
	cmd.Flags().StringVar(&flags.opts.Space, "namespace", "", "namespace of an application on Kubernetes that is named (default: the one that it runs in)")
	cmd.Flags().BoolVar(&flags.opts.Images, "images", false, "also remove the images that were built for it from the engine, unless they are in use")
	return cmd
}

// deployFlags are the flags of deploy and undeploy.
type deployFlags struct {
	opts     deploy.Options
	up       bool
	rollback bool
	progress string
	byName   bool // the argument may be the name of a running application
}

// deployFunc is up or down.
type deployFunc func(context.Context, *client.Client, deploy.Options) (*deployment, error)

// register adds the flags that both commands have.
func (f *deployFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.opts.Target, "target", "", "swarm, compose or kubernetes (default: the engine if DIR has Compose files, else Kubernetes)")
	cmd.Flags().StringVar(&f.opts.Context, "context", "", "kubectl context of the cluster (default: the current one)")
	cli.StealLock(cmd, &f.opts.StealLock)
	cmd.Flags().StringVar(&f.progress, "progress", progressAuto, "how to show progress: auto, tty and plain print a line for each step; json, an object per line")
}

// findRunning sets the application to undeploy, from a folder or from the name of a running
// application.
func (f *deployFlags) findRunning(ctx context.Context, env environment, engine *engineFlags, arg string) error {
	info, err := os.Stat(arg)
	folder := err == nil && info.IsDir()
	if strings.ContainsAny(arg, `/\`) || folder && deploy.Packaged(arg) {
		if f.opts.Dir = arg; f.opts.Space != "" {
			return cli.Misuse(fmt.Errorf("--namespace is of an application that is named: the folder %q says where it runs", arg))
		}
		return nil
	}
	app, err := applications.Places{
		Connect: engine.connect, Target: f.opts.Target, Context: f.opts.Context, Namespace: f.opts.Space, Environ: engine.environ(env),
	}.Named(ctx, arg)
	if err != nil && folder && f.opts.Space == "" { // deploying reports what is missing
		f.opts.Dir = arg
		return nil
	}
	if err != nil {
		return err
	}
	f.opts.Name, f.opts.Target, f.opts.Space, f.opts.Dir = app.Name, app.Target, app.Namespace, app.Dir
	return nil
}

// run calls do and reports the outcome.
func (f *deployFlags) run(ctx context.Context, env environment, engine *engineFlags, dir string, do deployFunc) error {
	done, err := f.deploy(ctx, env, engine, dir, do)
	out := engine.progress(env)
	switch {
	case f.progress == progressJSON && err != nil:
		(&jsonProgress{out}).fail(err)
	case f.progress == progressJSON:
		printJSON(out, done)
	case err == nil:
		done.print(out)
	}
	return err
}

func (f *deployFlags) deploy(ctx context.Context, env environment, engine *engineFlags, dir string, do deployFunc) (*deployment, error) {
	if err := f.opts.Validate(); err != nil {
		return nil, cli.Misuse(err)
	}
	if err := checkProgress(f.progress); err != nil {
		return nil, err
	}
	f.opts.Dir = dir
	if f.byName {
		if err := f.findRunning(ctx, env, engine, dir); err != nil {
			return nil, err
		}
	}
	docker, err := engine.connect()
	if err != nil {
		return nil, err
	}
	defer docker.Close()
	opts := f.opts
	opts.Environ, opts.Progress, opts.Debug = engine.environ(env), engine.progress(env), engine.debugging(env)
	opts.Mounted = contexts.Mounted(opts.Environ)
	if f.progress == progressJSON {
		opts.Progress = jsonSteps{opts.Progress}
	}
	opts.Goal = &live.PreservedGoal{Up: f.up, Timeout: opts.Timeout, Say: func(line string) { fmt.Fprintln(opts.Progress, line) }}
	opts.By = cli.Identity()
	return do(ctx, docker, opts)
}

func up(ctx context.Context, docker *client.Client, opts deploy.Options) (*deployment, error) {
	result, err := deploy.Up(ctx, docker, opts)
	if err != nil {
		selectFailed(opts)
		return nil, err
	}
	return deployed(opts, result), nil
}

// selectFailed selects the context of an application whose deployment has failed, so that the following commands do not
// address another one.
func selectFailed(opts deploy.Options) {
	info, _, err := backend.ReadInfo(opts.Dir)
	if err != nil {
		return // the deployment has reported it
	}
	if err := contexts.Deployed(opts.Environ, info.App, opts.Dir); err != nil {
		fmt.Fprintf(opts.Progress, "warning: commands need --dir, for the context of %s was not made: %v\n", info.App, err)
	}
}

func rollback(ctx context.Context, docker *client.Client, opts deploy.Options) (*deployment, error) {
	result, err := deploy.Rollback(ctx, docker, opts)
	if err != nil {
		return nil, err
	}
	opts.Dir = result.Dir
	return deployed(opts, result), nil
}

// deployed selects the application for the following commands.
func deployed(opts deploy.Options, result deploy.Result) *deployment {
	done := newDeployment(opts, result)
	if err := contexts.Deployed(opts.Environ, result.Info.App, opts.Dir); err != nil {
		fmt.Fprintf(opts.Progress, "warning: commands need --dir, for the context of %s was not made: %v\n", result.Info.App, err)
	} else {
		done.Context = result.Info.App
	}
	return done
}

func down(ctx context.Context, docker *client.Client, opts deploy.Options) (*deployment, error) {
	err := deploy.Down(ctx, docker, opts)
	if err == nil && opts.Dir != "" {
		if left := contexts.Undeployed(opts.Environ, opts.Dir); left != nil {
			fmt.Fprintf(opts.Progress, "warning: its context is left: %v\n", left)
		}
	}
	return &deployment{Kind: eventUndeployed, Application: opts.Name, Path: opts.Dir}, err
}
