package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toskose/toskose/cmd/toskose/cli"
	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/deploy"
	"github.com/toskose/toskose/packager/output"
	"github.com/toskose/toskose/tosca"
	"github.com/toskose/toskose/tosca/csar"
)

// packageFlags are the flags of packaging.
type packageFlags struct {
	name      string
	output    string
	images    imageFlags
	inputs    inputFlags
	targets   targetFlags
	allowHost []string
}

func (f *packageFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.name, "name", "", "name of the application: two copies of one have two (default as the archive says)")
	flags.StringVarP(&f.output, "output-path", "o", "", "folder for the manifests and credentials (default NAME-toskosed)")
	f.images.register(cmd)
	f.inputs.register(cmd)
	cmd.Flags().StringArrayVar(&f.allowHost, "allow-host", nil, "let the application use `PATH` of its host, and everything below it: a folder, a device, the engine's socket; may be repeated")
	f.targets.register(cmd)
}

const packageHelp = `Build an image for each container of a TOSCA application that hosts components,
with a unit as its main process that manages them, and an image for the manager;
and write manifests that run the application on Docker Swarm, a single engine or
Kubernetes.

CSAR_PATH is a .csar, .zip, .tar or .tar.gz, an unpacked directory, or a service
template. CONFIG_PATH is a toskose.yml; without it, the one beside the service
template is used, if there is one. What it leaves out has a default, and passwords are
generated. Packaging into the same folder again keeps them; into
another one, --from takes over those of an earlier folder.`

const packageExamples = `  toskose package thinking.csar
  toskose package -o thinking-2 --from thinking-toskosed thinking.csar
  toskose package -o deployment -i api_port=9090 thinking.csar toskose.yml
  toskose package --inputs production.yaml thinking.csar
  toskose package --endpoint-mode dnsrr --publish-mode host thinking.csar
  toskose package --target kubernetes thinking.csar`

func newPackage(env environment, engine *engineFlags) *cobra.Command {
	cmd := packaging(env, engine)
	cmd.Use = "package [OPTIONS] CSAR_PATH [CONFIG_PATH]"
	cmd.Short = "Build images and write manifests for an application"
	cmd.Long = packageHelp
	cmd.Example = packageExamples
	return cmd
}

// packaging returns a command that packages. The root command and `package`
// have the same flags.
func packaging(env environment, engine *engineFlags) *cobra.Command {
	var flags packageFlags
	cmd := &cobra.Command{
		Args:                  cli.Args(1, 2),
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 { // only the root command allows it
				return cmd.Help()
			}
			return pack(cmd.Context(), env, *engine, flags, args)
		},
	}
	flags.register(cmd)
	return cmd
}

// pack packages an archive: everything is checked before anything is built,
// and built before anything is written.
func pack(ctx context.Context, env environment, engine engineFlags, flags packageFlags, args []string) error {
	shown := newProgress(flags.images.progress, env, engine)
	done, err := packShown(ctx, env, engine, flags, args, shown)
	lines, ok := shown.(*jsonProgress)
	switch {
	case ok && err != nil:
		lines.fail(err)
	case ok:
		printJSON(lines.w, done)
	case err == nil:
		done.print(engine.progress(env))
	}
	return err
}

func packShown(ctx context.Context, env environment, engine engineFlags, flags packageFlags, args []string, shown progress) (*summary, error) {
	if err := flags.targets.complete(); err != nil {
		return nil, cli.Misuse(err)
	}
	if err := flags.images.validate(); err != nil {
		return nil, err
	}
	opts, err := flags.inputs.options()
	if err != nil {
		return nil, err
	}
	docker, err := engine.connect()
	if err != nil {
		return nil, err
	}
	defer docker.Close()
	builder, err := flags.images.builder(env, engine, shown, docker)
	if err != nil {
		return nil, err
	}
	if !flags.images.dryRun {
		defer builder.Prefetch(ctx)()
	}
	archive, err := csar.Open(args[0])
	if err != nil {
		return nil, err
	}
	defer archive.Close()
	how := packager.Options{Version: built().version, TLS: flags.targets.tls, AllowHost: flags.allowHost, Now: time.Now(), Read: beside(settingsOf(args))}
	plan, err := makePlan(ctx, env, engine, archive, flags.name, opts, args, how)
	if err != nil {
		return nil, err
	}
	if err := flags.complete(env, engine, plan, settingsOf(args)); err != nil {
		return nil, err
	}
	engine.warn(env, flags.inUse(ctx, docker, plan))
	if err := flags.images.build(ctx, builder, shown, plan, archive); err != nil {
		return nil, err
	}
	if flags.images.dryRun {
		return &summary{Kind: eventPlanned, Application: plan.App, Path: flags.output}, nil
	}
	flags.targets.mounted = mounted(ctx, docker, plan.App)
	pinned := plan.WithSecretUsers(builder.UserID).Pinned(builder.Pinned) // the names and users of images are known when they are built
	if err := flags.targets.write(flags.output, pinned); err != nil {
		return nil, err
	}
	return summarise(flags.output, pinned, &flags.targets), nil
}

// complete sets the default of the folder, and checks the flags against the plan before anything is built.
func (f *packageFlags) complete(env environment, engine engineFlags, plan *packager.Plan, configs []string) error {
	if f.images.unused != "" {
		engine.warn(env, []string{"--builder is deprecated and has no effect: toskose assembles all images itself"})
	}
	if err := f.targets.check(plan); err != nil {
		return err
	}
	engine.warn(env, f.targets.warnings(plan))
	if f.output == "" {
		f.output = plan.App + "-toskosed"
	}
	if err := output.Check(f.output, strings.Join(configs, "")); err != nil {
		return err
	}
	if f.targets.from != "" {
		if err := deploy.CheckSecretsOf(f.targets.from, plan.App); err != nil {
			return fmt.Errorf("--from: %w", err)
		}
	}
	return nil
}

func makePlan(ctx context.Context, env environment, engine engineFlags, archive *csar.Archive, name string, opts tosca.Options, args []string, how packager.Options) (*packager.Plan, error) {
	file := readConfig(settingsOf(args))
	file.apply(&opts)
	opts.Places = tosca.Places{}
	how.Places = opts.Places
	names := fileNames(args[0], opts.InputFile)
	app, diagnostics, err := tosca.Load(ctx, archive, opts)
	if err != nil {
		return nil, errorWithNames(err, names)
	}
	if !engine.quiet && len(diagnostics) > 0 {
		fmt.Fprintln(env.streams().Err, withNames(diagnostics, names).Error())
	}
	for key, at := range how.Places {
		at.File = names(at.File)
		how.Places[key] = at
	}
	app.Name = cmp.Or(name, app.Name)
	target := packager.TargetOf(app)
	cfg, err := file.check(&target)
	if err != nil {
		return nil, err
	}
	if err := checkFound(args, cfg); err != nil {
		return nil, err
	}
	plan, err := packager.New(app, archive, cfg, how)
	if err != nil {
		return nil, err
	}
	engine.warn(env, plan.Warnings)
	return plan, nil
}
