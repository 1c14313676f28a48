package image

import (
	"context"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/docker/docker/api/types/build"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/toskose/toskose/packager"
)

// prebuild has the engine build the base of a job from the archive. Also where
// images are made here: what a Dockerfile runs takes an engine.
func (b *Builder) prebuild(ctx context.Context, f *finder, j *job, archive fs.FS, platforms int) (err error) {
	if j.given, err = readGiven(j.image, archive); err != nil {
		return err
	}
	if b.opts.Contexts != "" && j.image.Alone() {
		return nil // its context is all that is made
	}
	for _, ref := range j.given.parent {
		if err := f.parent(ctx, ref, j.platform); err != nil {
			return fmt.Errorf("container %q: cannot build its image from %q: %w", j.image.Node, j.image.Dockerfile, err)
		}
	}
	ref := tagFor(j.image.Base, j.platform.String(), platforms)
	if err := b.buildGiven(ctx, j, ref); err != nil {
		return err
	}
	onEngine := b.onEngine(PullNever)
	if j.image.Alone() {
		found, err := onEngine.find(ctx, ref, j.platform)
		j.base = base{found: found, ref: ref}
		return err
	}
	j.base, err = baseFrom(ctx, onEngine, ref, "", j.platform)
	return err
}

// buildGiven builds what the archive gives, by the engine's classic builder.
func (b *Builder) buildGiven(ctx context.Context, j *job, ref string) error {
	began, before := time.Now(), b.idOf(ctx, ref)
	opts := build.ImageBuildOptions{
		Dockerfile: j.given.file, Labels: map[string]string{packager.LabelApp: j.app()},
		Version: build.BuilderV1, Remove: true, ForceRemove: true,
	}
	if len(b.opts.Platforms) > 0 {
		opts.Platform = j.platform.String()
	}
	said := &tail{most: 10}
	err := b.buildOnEngine(ctx, ref, opts, j.given.tree.contents(), j.given.writeContext, func(m message) {
		b.steps(ref, m)
		said.add(m.Stream)
	})
	if err != nil {
		return fmt.Errorf("container %q: cannot build its image %q from %q: %w%s", j.image.Node, ref, j.image.Dockerfile, err, said)
	}
	if b.idOf(ctx, ref) == before {
		b.tell(Event{Image: ref, State: StateUnchanged}, "unchanged, from %s", j.image.Dockerfile)
		return nil
	}
	took := time.Since(began).Seconds()
	b.tell(Event{Image: ref, State: StateBuilt, Seconds: took}, "built from %s in %.1f s", j.image.Dockerfile, took)
	b.removeReplaced(ctx, before, packager.LabelApp, j.app())
	return nil
}

// parent sees to an image that a Dockerfile of the archive is built from, so
// that it is pulled, or not, as other bases are, and with their credentials.
func (f *finder) parent(ctx context.Context, ref string, platform v1.Platform) error {
	_, err := once(&f.mu, f.parents, platform.String()+" "+ref, func() (struct{}, error) {
		_, err := f.b.onEngine(f.b.opts.Pull).find(ctx, ref, platform)
		return struct{}{}, err
	})
	return err
}

// tail keeps the last lines of what a builder says: its error is only that a
// command has failed.
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

// String is what to append to an error.
func (t *tail) String() string {
	if len(t.lines) == 0 {
		return ""
	}
	return "\nit said last:\n  " + strings.Join(t.lines, "\n  ")
}
