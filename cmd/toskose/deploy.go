package main

import (
	"context"
	"time"

	"github.com/docker/docker/client"
	"github.com/spf13/cobra"

	"github.com/toskose/toskose/packager/deploy"
)

func newDeploy(env environment, engine *engineFlags) *cobra.Command {
	var flags deployFlags
	cmd := &cobra.Command{
		Use:   "deploy DIR",
		Short: "Run what was packaged, and wait until the manager and all units answer",
		Long: `Run what toskose has packaged in DIR: as a stack where the engine is in a swarm,
otherwise on the single engine, by docker compose or docker-compose. Where DIR
has manifests for Kubernetes only, or with --target kubernetes, it runs on the
cluster that kubectl is set to. What was deployed before is changed where it
differs, and what is no part of it any more is removed. Where something does
not come up, the reason is printed and what was started is removed again.`,
		Example: "  toskose deploy thinking-toskosed\n  toskose deploy --timeout 5m --keep thinking-toskosed\n  toskose deploy --target kubernetes --context staging thinking-toskosed",
		Args:    args(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return flags.run(cmd.Context(), env, engine, args[0], up)
		},
	}
	cmd.Flags().DurationVar(&flags.opts.Timeout, "timeout", 2*time.Minute, "how long to wait for all of it to answer")
	flags.register(cmd)
	cmd.Flags().BoolVar(&flags.opts.Keep, "keep", false, "leave what did not come up, to be looked at")
	return cmd
}

func newUndeploy(env environment, engine *engineFlags) *cobra.Command {
	var flags deployFlags
	cmd := &cobra.Command{
		Use:   "undeploy DIR",
		Short: "Remove what `deploy` started",
		Long: `Remove the containers, networks and Swarm secrets of what toskose has packaged in
DIR, or on Kubernetes all objects, but for the claims of volumes; a namespace that
was made for it goes when nothing is left in it. Its images, volumes and files stay.`,
		Example: "  toskose undeploy thinking-toskosed\n  toskose undeploy --volumes thinking-toskosed\n  toskose undeploy --target kubernetes thinking-toskosed",
		Args:    args(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return flags.run(cmd.Context(), env, engine, args[0], down)
		},
	}
	cmd.Flags().DurationVar(&flags.opts.Timeout, "timeout", 2*time.Minute, "how long to wait for all of it to be gone")
	flags.register(cmd)
	cmd.Flags().BoolVar(&flags.opts.Volumes, "volumes", false, "remove the volumes, too, and the data in them")
	return cmd
}

// deployFlags are the options of deploying and of undoing that.
type deployFlags struct {
	opts     deploy.Options
	progress string
}

// deploying is up or down.
type deploying func(context.Context, *client.Client, deploy.Options) (*deployed, error)

// register adds those that both have: where DIR is deployed, and what is shown.
func (f *deployFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.opts.Target, "target", "", "swarm, compose or kubernetes (default what DIR is for: with Compose files, the engine)")
	cmd.Flags().StringVar(&f.opts.Context, "context", "", "the Kubernetes cluster, as a context of kubectl's (default its current one)")
	cmd.Flags().StringVar(&f.progress, "progress", progressAuto, "how to show what is done: auto, tty and plain are a line for each step; json, an object a line")
}

// run does it, and says how it ended.
func (f *deployFlags) run(ctx context.Context, env environment, engine *engineFlags, dir string, do deploying) error {
	done, err := f.connected(ctx, env, engine, dir, do)
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

func (f *deployFlags) connected(ctx context.Context, env environment, engine *engineFlags, dir string, do deploying) (*deployed, error) {
	if err := f.opts.Validate(); err != nil {
		return nil, usageError{err}
	}
	if err := checkProgress(f.progress); err != nil {
		return nil, err
	}
	cli, err := engine.connect()
	if err != nil {
		return nil, err
	}
	defer cli.Close()
	opts := f.opts
	opts.Dir, opts.Environ, opts.Progress, opts.Debug = dir, engine.environ(env), engine.progress(env), engine.debugging(env)
	if f.progress == progressJSON {
		opts.Progress = jsonSteps{opts.Progress}
	}
	return do(ctx, cli, opts)
}

func up(ctx context.Context, cli *client.Client, opts deploy.Options) (*deployed, error) {
	result, err := deploy.Up(ctx, cli, opts)
	if err != nil {
		return nil, err
	}
	return newDeployed(opts, result), nil
}

func down(ctx context.Context, cli *client.Client, opts deploy.Options) (*deployed, error) {
	return &deployed{Kind: eventUndeployed, Path: opts.Dir}, deploy.Down(ctx, cli, opts)
}
