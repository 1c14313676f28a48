package main

import (
	"context"
	"fmt"

	"github.com/docker/docker/client"
	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/spf13/cobra"

	"github.com/toskose/toskose/cmd/toskose/cli"
	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/image"
	"github.com/toskose/toskose/tosca/csar"
)

// imageFlags are the flags of building images.
type imageFlags struct {
	opts     image.Options
	unused   string // the value of --builder
	bases    string
	output   string
	dryRun   bool
	progress string
}

func (f *imageFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVarP(&f.opts.Push, "enable-push", "p", false, "push the images to their registries")
	flags.StringVar(&f.opts.UnitImage, "unit-image", "", "image to take the unit from (default the binary installed with toskose, or toskose-unit:VERSION)")
	flags.StringVar(&f.opts.ManagerImage, "manager-image", "", "image to take the manager from (default the binary installed with toskose, or toskose-manager:VERSION)")
	flags.StringVar(&f.unused, "builder", "", "deprecated: has no effect")
	flags.Lookup("builder").Hidden = true
	flags.StringSliceVar(&f.opts.Platforms, "platform", nil, "build for `OS/ARCH[,…]` (default the engine's; without one, linux of this machine)")
	flags.StringVar(&f.opts.Pull, "pull", image.PullMissing, "when the engine pulls bases: always, missing or never")
	flags.StringVar(&f.bases, "base-images", "", "where bases come from: engine, registry or oci:DIR (default the engine if images go there, else registry)")
	flags.StringVar(&f.output, "output-images", image.Engine.String(), "where images go: engine, registry or oci:DIR")
	flags.StringVar(&f.opts.Contexts, "contexts", "", "write Dockerfiles and build contexts to `DIR` instead of building")
	flags.StringVar(&f.progress, "progress", progressAuto, "how to show progress: auto, tty, plain, or json, an object per line")
	flags.BoolVar(&f.dryRun, "dry-run", false, "print what would be built and written, and change nothing")
}

// validate checks the flags before anything is read.
func (f *imageFlags) validate() (err error) {
	if f.bases != "" {
		if f.opts.Bases, err = image.ParsePlace(f.bases); err != nil {
			return cli.Misuse(fmt.Errorf("--base-images %w", err))
		}
	}
	if f.opts.Output, err = image.ParsePlace(f.output); err != nil {
		return cli.Misuse(fmt.Errorf("--output-images %w", err))
	}
	if f.opts, err = f.opts.Complete(); err != nil {
		return cli.Misuse(err)
	}
	return checkProgress(f.progress)
}

// builder returns the image builder. It remembers the images that it built.
func (f *imageFlags) builder(env environment, engine engineFlags, shown progress, docker *client.Client) (*image.Builder, error) {
	opts := f.opts
	opts.Version, opts.Binaries, opts.Keychain = built().version, env.binaries, authn.DefaultKeychain
	opts.Events, opts.Debug = shown.event, engine.debugging(env)
	return image.New(docker, opts)
}

// build builds the images of a plan, or prints the steps of a dry run.
func (f *imageFlags) build(ctx context.Context, builder *image.Builder, shown progress, plan *packager.Plan, archive *csar.Archive) error {
	defer shown.close()
	if f.dryRun {
		return builder.DryRun(plan, archive)
	}
	return builder.Build(ctx, plan, archive)
}

// inspector reads images with Docker's credentials.
func inspector(engine *client.Client, place image.Place) *image.Inspector {
	return &image.Inspector{Engine: engine, Place: place, Keychain: authn.DefaultKeychain}
}
