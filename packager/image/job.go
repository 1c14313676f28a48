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
	"github.com/toskose/toskose/packager/internal/once"
)

// job is a task on one platform.
type job struct {
	*task
	recipe.Image
	platforms int // for how many it is done
}

// prepare finds the inputs of all images concurrently, each once. It does not pass on the group's
// context, which ends when the group does: layers are read later.
func (b *Builder) prepare(ctx context.Context, tasks []*task, platforms []v1.Platform) ([]*job, error) {
	f := &finder{b: b}
	jobs := make([]*job, len(tasks)*len(platforms))
	var group errgroup.Group
	group.SetLimit(atOnce)
	for i, t := range tasks {
		for k, platform := range platforms {
			j := &job{task: t, platforms: len(platforms), Image: recipe.Image{Plan: t.image, Platform: platform, Entry: t.entry, User: t.user}}
			jobs[i*len(platforms)+k] = j
			group.Go(func() error { return b.find(ctx, f, j) })
		}
	}
	return jobs, group.Wait()
}

// find finds the inputs of a job's image.
func (b *Builder) find(ctx context.Context, f *finder, j *job) (err error) {
	if j.binary != nil {
		binary, err := f.own(ctx, j)
		if err != nil {
			return err
		}
		j.AddBinary(binary)
	}
	switch {
	case j.prebuilt:
		j.Base, err = b.prebuild(ctx, f, j)
	case j.archive == nil:
		j.Base, err = f.base(ctx, j)
	}
	if err == nil && j.layers {
		j.AddFiles(j.files)
	}
	return err
}

// archiveRef returns the name of the image built from the archive. An engine holds one image per
// name, so each of several platforms has its own name.
func (j *job) archiveRef() string {
	if j.platforms < 2 {
		return j.base
	}
	return j.base + "-" + j.platformWord()
}

// platformWord is the platform in a name.
func (j *job) platformWord() string { return strings.ReplaceAll(j.Platform.String(), "/", "-") }

// finder finds the inputs of images, each only once even if images request it concurrently.
type finder struct {
	b       *Builder
	bases   once.Group[source.Base]
	owns    once.Group[layer.Tree]
	parents once.Group[*source.Image]
}

// base finds an existing base image.
func (f *finder) base(ctx context.Context, j *job) (source.Base, error) {
	if j.base == source.ScratchRef {
		return source.Scratch(j.Platform), nil
	}
	return f.bases.Do(j.Platform.String()+" "+j.base, func() (source.Base, error) {
		img, err := f.b.bases.Find(ctx, j.base, j.Platform)
		if err != nil && j.image.Node != "" && ctx.Err() == nil {
			err = fmt.Errorf("%w, or name another base by nodes.%s.docker.base_image in toskose.yml", err, j.image.Node)
		}
		if err != nil {
			return source.Base{}, err
		}
		return source.NewBase(ctx, j.base, img, j.Platform)
	})
}

// own finds a binary of Toskose's own.
func (f *finder) own(ctx context.Context, j *job) (layer.Tree, error) {
	return f.owns.Do(j.Platform.String()+" "+j.binary.name, func() (layer.Tree, error) { return f.b.own(ctx, *j.binary, j.from, j.Platform) })
}

// parent finds an image that a Dockerfile of the archive is built from, so
// that it is pulled, or not, as other bases are, and with their credentials.
func (f *finder) parent(ctx context.Context, ref string, platform v1.Platform) error {
	_, err := f.parents.Do(platform.String()+" "+ref, func() (*source.Image, error) {
		return f.b.onEngine(f.b.opts.Pull).Find(ctx, ref, platform)
	})
	return err
}
