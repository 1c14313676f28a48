package image

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/image/event"
	"github.com/toskose/toskose/packager/image/layer"
	"github.com/toskose/toskose/packager/image/sink"
)

// directAll makes the images without a builder. jobs contains the jobs of each image, one for each
// platform, next to each other.
func (b *Builder) directAll(ctx context.Context, jobs []*job, images int) error {
	out, err := b.output()
	if err != nil {
		return err
	}
	defer out.Abort() // removes uncommitted images
	shared := b.sharedLayers(ctx, jobs)
	all := slices.Collect(slices.Chunk(jobs, len(jobs)/images))
	alike := func(same []*job) string {
		if b.opts.Output != Engine {
			return same[0].image.Name // places that know blobs by their digests
		}
		return same[0].Base.Ref + " " + same[0].Shared
	}
	err = inTurns(ctx, all, alike, func(ctx context.Context, same []*job, _ func()) error { return b.direct(ctx, out, same, shared) })
	if err != nil {
		return err
	}
	return out.Commit(ctx)
}

// output is where images go that are made here.
func (b *Builder) output() (sink.Sink, error) {
	registry := &sink.Registry{Registry: b.registry(), Log: b.log}
	switch b.opts.Output {
	case Engine:
		return b.toEngine(), nil
	case Registry:
		return registry, nil
	default:
		out, err := sink.NewLayout(b.opts.Output.dir, b.log)
		if b.opts.Push {
			return sink.Both(out, registry), err
		}
		return out, err
	}
}

func (b *Builder) toEngine() sink.Sink { return &sink.Engine{Engine: b.engine} }

// sharedLayers makes one layer of each tree that several jobs share, so that it is read and
// compressed once.
func (b *Builder) sharedLayers(ctx context.Context, jobs []*job) map[string]*layer.Layer {
	shared := map[string]*layer.Layer{}
	for _, j := range jobs {
		if j.Shared != "" && shared[j.Shared] == nil {
			shared[j.Shared] = b.layer(ctx, j.Trees[0])
		}
	}
	return shared
}

func (b *Builder) layer(ctx context.Context, t layer.Tree) *layer.Layer {
	return layer.New(ctx, b.temp, t, b.opts.Output != Engine)
}

// assemble makes the image of a job.
func (b *Builder) assemble(ctx context.Context, j *job, shared map[string]*layer.Layer) (*sink.Image, error) {
	layers := make([]*layer.Layer, len(j.Trees))
	for k, t := range j.Trees {
		if k == 0 && j.Shared != "" {
			layers[k] = shared[j.Shared]
		} else {
			layers[k] = b.layer(ctx, t)
		}
	}
	return sink.Assemble(j.image.Name, j.Platform, j.Base, j.Config(), layers)
}

// direct makes one image, for all platforms.
func (b *Builder) direct(ctx context.Context, out sink.Sink, jobs []*job, shared map[string]*layer.Layer) error {
	began, j := time.Now(), jobs[0]
	name := j.image.Name
	images, own, err := b.describe(ctx, jobs, shared)
	if err != nil {
		return err
	}
	before := ""
	if !j.written {
		if has, err := b.has(ctx, j, own); has || err != nil {
			return err
		}
		before = b.engine.ID(ctx, name)
	}
	if err := out.Put(ctx, name, own, images); err != nil {
		return err
	}
	b.sayBuilt(jobs, time.Since(began))
	b.engine.RemoveReplaced(ctx, before, packager.LabelApp, j.App())
	return nil
}

// userIDOf returns the number of the user that an image runs as; empty: it is another on
// another platform.
func userIDOf(jobs []*job) string {
	for _, j := range jobs[1:] {
		if j.Base.UID != jobs[0].Base.UID {
			return ""
		}
	}
	return strconv.Itoa(jobs[0].Base.UID)
}

// describe computes the image of jobs, one for each platform, before it is written, and returns
// its unique name.
func (b *Builder) describe(ctx context.Context, jobs []*job, shared map[string]*layer.Layer) (images []*sink.Image, own string, err error) {
	name := jobs[0].image.Name
	for _, j := range jobs {
		if j.layers {
			b.log.Send(event.Event{Image: name, State: event.Packing, Total: j.Bytes()})
		}
		m, err := b.assemble(ctx, j, shared)
		if err != nil {
			return nil, "", fmt.Errorf("cannot build image %q: %w", name, err)
		}
		images = append(images, m)
	}
	is, err := aboutAll(name, images)
	if err != nil {
		return nil, "", err
	}
	is.uid = userIDOf(jobs)
	b.remember(name, is)
	return images, is.name, nil
}

// has reports whether the engine has the image of a job: built from its Dockerfile, or from an
// earlier build with the same inputs, found by its unique name. It makes sure that the image has
// both names.
func (b *Builder) has(ctx context.Context, j *job, own string) (bool, error) {
	name := j.image.Name
	if !j.layers {
		return true, b.engine.Tag(ctx, name, own)
	}
	has, before := b.engine.ID(ctx, own), b.engine.ID(ctx, name)
	if has == "" {
		return false, nil
	}
	e := event.Event{Image: name, State: event.Unchanged, Base: j.Base.Ref}
	if has == before {
		b.log.Line(e, "unchanged, on %s", e.Base)
		return true, nil
	}
	if err := b.engine.Tag(ctx, own, name); err != nil {
		return false, err
	}
	b.log.Line(e, "as it was built before, on %s", e.Base)
	b.engine.RemoveReplaced(ctx, before, packager.LabelApp, j.App())
	return true, nil
}

// sayBuilt reports the built image and its growth over the base.
func (b *Builder) sayBuilt(jobs []*job, took time.Duration) {
	j := jobs[0]
	if !j.layers {
		return // the build has already reported it
	}
	grows, text := j.Growth()
	e := event.Event{Image: j.image.Name, State: event.Built, Base: j.Base.Ref, Seconds: took.Seconds(), Grows: grows}
	for _, j := range jobs {
		e.Platforms = append(e.Platforms, j.Platform.String())
	}
	b.log.Line(e, "built on %s for %s in %.1f s: %s", e.Base, strings.Join(e.Platforms, ", "), e.Seconds, text)
}
