package image

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/image/event"
	"github.com/toskose/toskose/packager/image/layer"
	"github.com/toskose/toskose/packager/image/sink"
)

// assembleAll builds images and writes them to the output. The variants of an image are next to
// each other. An engine receives one image on a base first, so that it need not receive the layer
// with the binary again for other images on that base; the rest is parallel.
func (b *Builder) assembleAll(ctx context.Context, variants []*variant, images int) error {
	out, err := b.output()
	if err != nil {
		return err
	}
	defer out.Abort() // removes uncommitted images
	shared := b.sharedLayers(ctx, variants)
	slots := make(chan struct{}, maxParallel)
	assemble := func(ctx context.Context, image []*variant) error {
		select {
		case slots <- struct{}{}:
			defer func() { <-slots }()
			return b.assemble(ctx, out, image, shared)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	group, inner := errgroup.WithContext(ctx)
	for _, images := range b.groupByBase(slices.Collect(slices.Chunk(variants, len(variants)/images))) {
		group.Go(func() error {
			if err := assemble(inner, images[0]); err != nil {
				return err
			}
			rest, ctx := errgroup.WithContext(inner)
			for _, image := range images[1:] {
				rest.Go(func() error { return assemble(ctx, image) })
			}
			return rest.Wait()
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return out.Commit(ctx)
}

// groupByBase groups the images that an engine builds on the same layers. A registry or a layout
// identifies each blob by its digest, so every image is a group there.
func (b *Builder) groupByBase(images [][]*variant) map[string][][]*variant {
	groups := map[string][][]*variant{}
	for _, image := range images {
		key := image[0].image.Name
		if b.opts.Output == Engine {
			key = image[0].Base.Ref + " " + image[0].Shared
		}
		groups[key] = append(groups[key], image)
	}
	return groups
}

// output returns the destination of the images.
func (b *Builder) output() (sink.Sink, error) {
	registry := &sink.Registry{Registry: b.registry(), Log: b.log}
	switch b.opts.Output {
	case Engine:
		return &sink.Engine{Engine: b.engine}, nil
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

// sharedLayers makes one layer of each tree that several variants share, so that it is read and
// compressed once.
func (b *Builder) sharedLayers(ctx context.Context, variants []*variant) map[string]*layer.Layer {
	shared := map[string]*layer.Layer{}
	for _, v := range variants {
		if v.Shared != "" && shared[v.Shared] == nil {
			shared[v.Shared] = b.layer(ctx, v.Trees[0])
		}
	}
	return shared
}

func (b *Builder) layer(ctx context.Context, t layer.Tree) *layer.Layer {
	return layer.New(ctx, b.temp, t, b.opts.Output != Engine)
}

// addLayers returns the image of a variant: its base with its layers.
func (b *Builder) addLayers(ctx context.Context, v *variant, shared map[string]*layer.Layer) (*sink.Image, error) {
	layers := make([]*layer.Layer, len(v.Trees))
	for k, t := range v.Trees {
		if k == 0 && v.Shared != "" {
			layers[k] = shared[v.Shared]
		} else {
			layers[k] = b.layer(ctx, t)
		}
	}
	return sink.Assemble(v.image.Name, v.Platform, v.Base, v.Config(), layers)
}

// assemble builds one image with all of its variants, and writes it to the output.
func (b *Builder) assemble(ctx context.Context, out sink.Sink, variants []*variant, shared map[string]*layer.Layer) error {
	began, v := time.Now(), variants[0]
	name := v.image.Name
	images, pinned, err := b.describe(ctx, variants, shared)
	if err != nil {
		return err
	}
	before := ""
	if v.toEngine {
		if exists, err := b.exists(ctx, v, pinned); exists || err != nil {
			return err
		}
		before = b.engine.ID(ctx, name)
	}
	if err := out.Put(ctx, name, pinned, images); err != nil {
		return err
	}
	b.reportBuilt(variants, time.Since(began))
	b.engine.RemoveReplaced(before, packager.LabelApp, v.App())
	return nil
}

// describe computes an image before it is written: its variants and its pinned name.
func (b *Builder) describe(ctx context.Context, variants []*variant, shared map[string]*layer.Layer) (images []*sink.Image, pinned string, err error) {
	name := variants[0].image.Name
	for _, v := range variants {
		if v.layered {
			b.log.Send(event.Event{Image: name, State: event.Packing, Total: v.Bytes()})
		}
		m, err := b.addLayers(ctx, v, shared)
		if err != nil {
			return nil, "", fmt.Errorf("cannot build image %q: %w", name, err)
		}
		images = append(images, m)
	}
	info, err := infoOf(name, images)
	if err != nil {
		return nil, "", err
	}
	info.uid = userID(variants)
	b.setInfo(name, info)
	return images, info.pinned, nil
}

// userID returns the numeric ID of the user that an image runs as, or "" if it differs between
// platforms.
func userID(variants []*variant) string {
	for _, v := range variants[1:] {
		if v.Base.UID != variants[0].Base.UID {
			return ""
		}
	}
	return strconv.Itoa(variants[0].Base.UID)
}

// exists reports whether the engine has a variant: built from its Dockerfile, or from an earlier
// build with the same inputs, found by its pinned name. It makes sure that the image has both names.
func (b *Builder) exists(ctx context.Context, v *variant, pinned string) (bool, error) {
	name := v.image.Name
	if !v.layered {
		return true, b.engine.Tag(ctx, name, pinned)
	}
	id, before := b.engine.ID(ctx, pinned), b.engine.ID(ctx, name)
	if id == "" {
		return false, nil
	}
	e := event.Event{Image: name, State: event.Unchanged, Base: v.Base.Ref}
	if id == before {
		b.log.Line(e, "unchanged, on %s", e.Base)
		return true, nil
	}
	if err := b.engine.Tag(ctx, pinned, name); err != nil {
		return false, err
	}
	b.log.Line(e, "as it was built before, on %s", e.Base)
	b.engine.RemoveReplaced(before, packager.LabelApp, v.App())
	return true, nil
}

// reportBuilt reports the built image and its growth over the base.
func (b *Builder) reportBuilt(variants []*variant, took time.Duration) {
	v := variants[0]
	if !v.layered {
		return // the build has already reported it
	}
	grows, text := v.Growth()
	e := event.Event{Image: v.image.Name, State: event.Built, Base: v.Base.Ref, Seconds: took.Seconds(), Grows: grows}
	for _, v := range variants {
		e.Platforms = append(e.Platforms, v.Platform.String())
	}
	b.log.Line(e, "built on %s for %s in %.1f s: %s", e.Base, strings.Join(e.Platforms, ", "), e.Seconds, text)
}
