// Package image builds the images of a plan: it finds or builds their base images, adds Toskose's
// binary and the application's files as layers, and writes the results to an engine, to registries
// or to an OCI image layout. Build waits for its goroutines; the goroutine of Prefetch ends when the
// caller stops it.
package image

import (
	"context"
	"io/fs"
	"sync"

	"github.com/docker/docker/client"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"golang.org/x/sync/errgroup"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/image/docker"
	"github.com/toskose/toskose/packager/image/event"
	"github.com/toskose/toskose/packager/image/layer"
	"github.com/toskose/toskose/packager/image/source"
)

// Builder builds the images of plans.
type Builder struct {
	engine *docker.Engine
	opts   Options
	log    *event.Log

	bases, local source.Source // local: without a pull
	temp         *layer.Temp

	architecture source.Cache[string] // of the engine, under the key ""

	mu    sync.Mutex           // protects infos
	infos map[string]imageInfo // by the plan's names of images
}

// New returns a builder. The caller keeps ownership of the engine, which is unused if the options
// do not need it.
func New(engine *client.Client, opts Options) (*Builder, error) {
	opts, err := opts.Complete()
	if err != nil {
		return nil, err
	}
	log := &event.Log{Events: opts.Events, Lines: opts.Progress, Debug: opts.Debug}
	return &Builder{engine: &docker.Engine{Client: engine, Log: log, Retry: opts.Retry, Platforms: len(opts.platforms) > 0}, opts: opts, log: log}, nil
}

// maxParallel is the number of images that are built or pushed concurrently.
const maxParallel = 4

// Build builds the images of a plan and pushes them if the options request it. With
// Options.Contexts, it writes their build contexts instead. If the context ends meanwhile, the engine keeps its
// previous images and names, and the pulled images.
func (b *Builder) Build(whole context.Context, plan *packager.Plan, archive fs.FS) error {
	b.temp = &layer.Temp{In: b.opts.Temp}
	defer b.temp.Remove()
	b.open(plan)
	ctx, cancel := context.WithCancel(whole)
	defer cancel()
	wait := b.pinUnbuilt(ctx, plan)
	err := b.buildAll(ctx, plan, archive)
	if err != nil {
		cancel()
	}
	wait()
	b.settle(whole, err)
	return err
}

// settle ends a build that returned err: it undoes the changes on the engine if the build was interrupted, and makes them
// final otherwise.
func (b *Builder) settle(ctx context.Context, err error) {
	if err != nil && ctx.Err() != nil {
		b.engine.Undo(ctx)
	} else {
		b.engine.Finish(ctx)
	}
}

func (b *Builder) buildAll(ctx context.Context, plan *packager.Plan, archive fs.FS) error {
	targets, err := b.targets(plan, archive)
	if err != nil {
		return err
	}
	if s, ok := b.bases.(*source.Engine); ok {
		defer s.Prefetch(ctx, existingBases(targets))()
	}
	platforms, err := b.platforms(ctx, plan)
	if err != nil {
		return err
	}
	variants, err := b.prepare(ctx, targets, platforms)
	if err != nil {
		return err
	}
	b.warnOfInterpreters(ctx, variants, archive)
	if b.opts.Contexts != "" {
		return b.writeContexts(ctx, variants)
	}
	if err := b.assembleAll(ctx, variants, len(targets)); err != nil || !b.opts.Push || b.opts.Output != Engine {
		return err
	}
	return b.pushAll(ctx, targets)
}

// open opens the source of bases.
func (b *Builder) open(plan *packager.Plan) {
	b.engine.Keychain = docker.WithPasswords(b.opts.Keychain, plan.Images)
	b.local = source.None{}
	switch b.opts.Bases {
	case Engine:
		b.bases, b.local = b.onEngine(b.opts.Pull), b.onEngine(PullNever)
	case Registry:
		b.bases = b.registry()
	default:
		b.bases = &source.Layout{Dir: b.opts.Bases.dir}
	}
}

// onEngine returns the source of images on the engine.
func (b *Builder) onEngine(pull string) *source.Engine {
	return &source.Engine{Engine: b.engine, Pull: pull, Temp: b.temp, History: b.opts.Contexts == ""}
}

func (b *Builder) registry() *source.Registry {
	return &source.Registry{
		Keychain: b.engine.Keychain,
		Backoff:  remote.Backoff{Duration: b.opts.Retry, Factor: 3, Jitter: 0.1, Steps: docker.MaxPushes},
	}
}

// pushAll pushes the images from the engine.
func (b *Builder) pushAll(ctx context.Context, targets []*target) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxParallel)
	for _, t := range targets {
		group.Go(func() error {
			pinned, _ := b.Pinned(t.image.Name)
			if err := b.engine.Push(ctx, pinned); err != nil {
				return err
			}
			return b.engine.Push(ctx, t.image.Name)
		})
	}
	return group.Wait()
}
