package image

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/docker/docker/api/types/build"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/image/docker"
	"github.com/toskose/toskose/packager/image/event"
	"github.com/toskose/toskose/packager/image/source"
)

// buildBase makes the engine build the base of a variant from the archive. It needs an engine even
// if no image is written to one, because a Dockerfile runs commands.
func (b *Builder) buildBase(ctx context.Context, in *inputs, v *variant) (source.Base, error) {
	for _, ref := range v.archive.Parents {
		if err := in.parent(ctx, ref, v.Platform); err != nil {
			return source.Base{}, v.cannotBuild(err)
		}
	}
	ref := v.archiveRef()
	if err := b.buildArchive(ctx, v, ref); err != nil {
		return source.Base{}, err
	}
	img, err := b.onEngine(PullNever).Find(ctx, ref, v.Platform)
	if err != nil || !v.layered {
		return source.Base{Image: img, Ref: ref}, err
	}
	return source.NewBase(ctx, ref, img, v.Platform)
}

// buildArchive builds an image from a Dockerfile in the archive.
func (b *Builder) buildArchive(ctx context.Context, v *variant, ref string) error {
	began, before := time.Now(), b.engine.ID(ctx, ref)
	opts := build.ImageBuildOptions{Dockerfile: v.archive.File, Labels: map[string]string{packager.LabelApp: v.App()}}
	output := &lastLines{limit: 10}
	err := b.engine.Build(ctx, docker.BuildRequest{
		Name: ref, Platform: v.Platform, Options: opts, Bases: v.archive.Parents,
		Bytes: v.archive.Tree.Bytes(), WriteContext: v.archive.Tree.WriteTar, Output: output.add,
	})
	if err != nil {
		return fmt.Errorf("container %q: cannot build its image %q from %q: %w%s", v.image.Node, ref, v.image.Dockerfile, err, output)
	}
	if b.engine.ID(ctx, ref) == before {
		b.log.Line(event.Event{Image: ref, State: event.Unchanged}, "unchanged, from %s", v.image.Dockerfile)
		return nil
	}
	took := time.Since(began).Seconds()
	b.log.Line(event.Event{Image: ref, State: event.Built, Seconds: took}, "built from %s in %.1f s", v.image.Dockerfile, took)
	b.engine.RemoveReplaced(before, packager.LabelApp, v.App())
	return nil
}

// lastLines keeps the last lines of a build's output: its error reports only that a command failed.
type lastLines struct {
	limit int
	lines []string
}

func (l *lastLines) add(text string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "---> ") && !strings.HasPrefix(line, "Removing intermediate") {
			l.lines = append(l.lines, line)
		}
	}
	if over := len(l.lines) - l.limit; over > 0 {
		l.lines = l.lines[over:]
	}
}

// String returns the text to append to an error.
func (l *lastLines) String() string {
	if len(l.lines) == 0 {
		return ""
	}
	return "\nits last output:\n  " + strings.Join(l.lines, "\n  ")
}
