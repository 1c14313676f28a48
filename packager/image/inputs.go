package image

import (
	"context"
	"fmt"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"golang.org/x/sync/errgroup"

	"github.com/toskose/toskose/packager/image/layer"
	"github.com/toskose/toskose/packager/image/recipe"
	"github.com/toskose/toskose/packager/image/source"
)

// variant is the image of a target for one platform.
type variant struct {
	*target
	recipe.Image
	platforms int // number of platforms that the target is built for
}

// prepare finds the inputs of all images concurrently, each once. It does not pass on the group's
// context, which ends when the group does: layers are read later.
func (b *Builder) prepare(ctx context.Context, targets []*target, platforms []v1.Platform) ([]*variant, error) {
	in := &inputs{b: b}
	variants := make([]*variant, len(targets)*len(platforms))
	var group errgroup.Group
	group.SetLimit(maxParallel)
	for i, t := range targets {
		for k, platform := range platforms {
			v := &variant{target: t, platforms: len(platforms), Image: recipe.Image{Plan: t.image, Platform: platform, Entry: t.entry, User: t.user}}
			variants[i*len(platforms)+k] = v
			group.Go(func() error { return b.find(ctx, in, v) })
		}
	}
	return variants, group.Wait()
}

// find finds the inputs of a variant.
func (b *Builder) find(ctx context.Context, in *inputs, v *variant) (err error) {
	if v.binary != nil {
		binary, err := in.binary(ctx, v)
		if err != nil {
			return err
		}
		v.AddBinary(binary)
	}
	switch {
	case v.buildsBase:
		v.Base, err = b.buildBase(ctx, in, v)
	case v.archive == nil:
		v.Base, err = in.base(ctx, v)
	}
	if err == nil && v.layered {
		v.AddFiles(v.files)
	}
	return err
}

// archiveRef returns the name of the image built from the archive. An engine holds one image per
// name, so each of several platforms has its own name.
func (v *variant) archiveRef() string {
	if v.platforms < 2 {
		return v.base
	}
	return v.base + "-" + v.platformSuffix()
}

// platformSuffix returns the platform in a form for names.
func (v *variant) platformSuffix() string { return strings.ReplaceAll(v.Platform.String(), "/", "-") }

// inputs finds what images are built from, each input only once even if several images request it.
type inputs struct {
	b        *Builder
	bases    source.Cache[source.Base]
	binaries source.Cache[layer.Tree]
	parents  source.Cache[*source.Image]
}

// base finds an existing base image.
func (in *inputs) base(ctx context.Context, v *variant) (source.Base, error) {
	if v.base == source.ScratchRef {
		return source.Scratch(v.Platform), nil
	}
	return in.bases.Get(v.Platform.String()+" "+v.base, func() (source.Base, error) {
		img, err := in.b.bases.Find(ctx, v.base, v.Platform)
		if err != nil && v.image.Node != "" && ctx.Err() == nil {
			err = fmt.Errorf("%w, or name another base by nodes.%s.docker.base_image in toskose.yml", err, v.image.Node)
		}
		if err != nil {
			return source.Base{}, err
		}
		return source.NewBase(ctx, v.base, img, v.Platform)
	})
}

// binary finds a binary of Toskose.
func (in *inputs) binary(ctx context.Context, v *variant) (layer.Tree, error) {
	return in.binaries.Get(v.Platform.String()+" "+v.binary.name, func() (layer.Tree, error) {
		return in.b.binaryTree(ctx, *v.binary, v.binaryImage, v.Platform)
	})
}

// parent finds an image that a Dockerfile of the archive is built from. It is pulled like other
// bases, with their credentials.
func (in *inputs) parent(ctx context.Context, ref string, platform v1.Platform) error {
	_, err := in.parents.Get(platform.String()+" "+ref, func() (*source.Image, error) {
		return in.b.onEngine(in.b.opts.Pull).Find(ctx, ref, platform)
	})
	return err
}
