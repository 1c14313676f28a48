package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/toskose/toskose/packager/deploy"
)

func newDeploy(env environment, engine *engineFlags) *cobra.Command {
	var opts deploy.Options
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
			return up(cmd.Context(), env, engine, opts, args[0])
		},
	}
	cmd.Flags().DurationVar(&opts.Timeout, "timeout", 2*time.Minute, "how long to wait for all of it to answer")
	whereFlags(cmd, &opts)
	cmd.Flags().BoolVar(&opts.Keep, "keep", false, "leave what did not come up, to be looked at")
	return cmd
}

func newUndeploy(env environment, engine *engineFlags) *cobra.Command {
	var opts deploy.Options
	cmd := &cobra.Command{
		Use:   "undeploy DIR",
		Short: "Remove what `deploy` started",
		Long: `Remove the containers, networks and Swarm secrets of what toskose has packaged in
DIR, or on Kubernetes all objects, but for the claims of volumes; a namespace that
was made for it goes when nothing is left in it. Its images, volumes and files stay.`,
		Example: "  toskose undeploy thinking-toskosed\n  toskose undeploy --volumes thinking-toskosed\n  toskose undeploy --target kubernetes thinking-toskosed",
		Args:    args(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return down(cmd.Context(), env, engine, opts, args[0])
		},
	}
	cmd.Flags().DurationVar(&opts.Timeout, "timeout", 2*time.Minute, "how long to wait for all of it to be gone")
	whereFlags(cmd, &opts)
	cmd.Flags().BoolVar(&opts.Volumes, "volumes", false, "remove the volumes, too, and the data in them")
	return cmd
}

// whereFlags are the options that say where DIR is deployed.
func whereFlags(cmd *cobra.Command, opts *deploy.Options) {
	cmd.Flags().StringVar(&opts.Target, "target", "", "swarm, compose or kubernetes (default what DIR is for: with Compose files, the engine)")
	cmd.Flags().StringVar(&opts.Context, "context", "", "the Kubernetes cluster, as a context of kubectl's (default its current one)")
}

func up(ctx context.Context, env environment, engine *engineFlags, opts deploy.Options, dir string) error {
	if err := opts.Validate(); err != nil {
		return usageError{err}
	}
	cli, err := engine.connect()
	if err != nil {
		return err
	}
	defer cli.Close()
	result, err := deploy.Up(ctx, cli, engine.deployOptions(env, opts, dir))
	if err != nil {
		return err
	}
	sayDeployed(engine.progress(env), opts, dir, result)
	return nil
}

func down(ctx context.Context, env environment, engine *engineFlags, opts deploy.Options, dir string) error {
	if err := opts.Validate(); err != nil {
		return usageError{err}
	}
	cli, err := engine.connect()
	if err != nil {
		return err
	}
	defer cli.Close()
	return deploy.Down(ctx, cli, engine.deployOptions(env, opts, dir))
}

func (f *engineFlags) deployOptions(env environment, opts deploy.Options, dir string) deploy.Options {
	opts.Dir, opts.Environ, opts.Progress, opts.Debug = dir, f.environ(env), f.progress(env), f.debugging(env)
	return opts
}
