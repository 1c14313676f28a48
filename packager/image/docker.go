package image

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/docker/docker/api/types/build"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/image/event"
	"github.com/toskose/toskose/packager/image/layer"
	"github.com/toskose/toskose/packager/image/source"
)

// dockerAll builds images in parallel. Images on the same base share their first steps, which the
// engine runs once if one image is built first.
func (b *Builder) dockerAll(ctx context.Context, jobs []*job) error {
	shared := b.sharedLayers(ctx, jobs)
	alike := func(j *job) string { return j.Base.Ref + " " + j.Shared }
	return inTurns(ctx, jobs, alike, func(ctx context.Context, j *job, passed func()) error { return b.dockerOne(ctx, j, shared, passed) })
}

// dockerOne builds an image. On scratch, the classic builder supports only the engine's platform,
// so images for other platforms are made without it. dockerOne calls passed when the engine has
// run the steps shared by images on the same base.
func (b *Builder) dockerOne(ctx context.Context, j *job, shared map[string]*layer.Layer, passed func()) error {
	if j.Base.Ref == source.ScratchRef && len(b.opts.platforms) > 0 {
		return b.direct(ctx, b.toEngine(), []*job{j}, shared)
	}
	began, name := time.Now(), j.image.Name
	_, own, err := b.describe(ctx, []*job{j}, shared)
	if err != nil {
		return err
	}
	if has, err := b.has(ctx, j, own); has || err != nil {
		return err
	}
	before := b.engine.ID(ctx, name)
	text, err := j.Dockerfile()
	if err != nil {
		return fmt.Errorf("cannot build image %q: %w", name, err)
	}
	common := j.CommonSteps(string(text))
	err = b.engine.Build(ctx, name, j.Platform, build.ImageBuildOptions{}, j.Bytes(), j.WriteContext, func(step int, _ string) {
		if step > common {
			passed()
		}
	})
	if err != nil {
		return fmt.Errorf("cannot build image %q: %w", name, err)
	}
	if err := b.engine.Tag(ctx, name, own); err != nil {
		return err
	}
	b.sayBuilt([]*job{j}, time.Since(began))
	b.engine.RemoveReplaced(ctx, before, packager.LabelApp, j.App())
	return nil
}

// prebuild makes the engine build the base of a job from the archive. An engine is also needed
// where images are made without a builder, as a Dockerfile runs commands.
func (b *Builder) prebuild(ctx context.Context, f *finder, j *job) (source.Base, error) {
	for _, ref := range j.archive.Parents {
		if err := f.parent(ctx, ref, j.Platform); err != nil {
			return source.Base{}, j.cannotBuild(err)
		}
	}
	ref := j.archiveRef()
	if err := b.buildArchive(ctx, j, ref); err != nil {
		return source.Base{}, err
	}
	img, err := b.onEngine(PullNever).Find(ctx, ref, j.Platform)
	if err != nil || !j.layers {
		return source.Base{Image: img, Ref: ref}, err
	}
	return source.NewBase(ctx, ref, img, j.Platform)
}

// buildArchive builds an image from a Dockerfile in the archive.
func (b *Builder) buildArchive(ctx context.Context, j *job, ref string) error {
	began, before := time.Now(), b.engine.ID(ctx, ref)
	opts := build.ImageBuildOptions{Dockerfile: j.archive.File, Labels: map[string]string{packager.LabelApp: j.App()}}
	last := &tail{most: 10}
	err := b.engine.Build(ctx, ref, j.Platform, opts, j.archive.Tree.Bytes(), j.archive.Tree.WriteTar, func(_ int, line string) { last.add(line) })
	if err != nil {
		return fmt.Errorf("container %q: cannot build its image %q from %q: %w%s", j.image.Node, ref, j.image.Dockerfile, err, last)
	}
	if b.engine.ID(ctx, ref) == before {
		b.log.Line(event.Event{Image: ref, State: event.Unchanged}, "unchanged, from %s", j.image.Dockerfile)
		return nil
	}
	took := time.Since(began).Seconds()
	b.log.Line(event.Event{Image: ref, State: event.Built, Seconds: took}, "built from %s in %.1f s", j.image.Dockerfile, took)
	b.engine.RemoveReplaced(ctx, before, packager.LabelApp, j.App())
	return nil
}

// tail keeps the last lines of a builder's output: its error only reports that a command failed.
type tail struct {
	most  int
	lines []string
}

func (t *tail) add(text string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "---> ") && !strings.HasPrefix(line, "Removing intermediate") {
			t.lines = append(t.lines, line)
		}
	}
	if over := len(t.lines) - t.most; over > 0 {
		t.lines = t.lines[over:]
	}
}

// String returns the text to append to an error.
func (t *tail) String() string {
	if len(t.lines) == 0 {
		return ""
	}
	return "\nits last output:\n  " + strings.Join(t.lines, "\n  ")
}
