package image

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/toskose/toskose/packager/image/event"
	"github.com/toskose/toskose/packager/image/recipe"
)

// managerContext is the folder of the manager's context; no container can have
// the name, as the manager has it.
const managerContext = "manager"

// writeContexts writes a build context for each image. Their folder is renamed into place when it
// is complete.
func (b *Builder) writeContexts(ctx context.Context, jobs []*job) error {
	dir := filepath.Clean(b.opts.Contexts)
	fail := func(err error) error { return fmt.Errorf("cannot write build contexts to %q: %w", dir, err) }
	if list, err := os.ReadDir(dir); err == nil && len(list) > 0 {
		return fail(errors.New("it is not empty"))
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fail(err)
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil { //nolint:gosec // they are no secret
		return fail(err)
	}
	staged, err := os.MkdirTemp(filepath.Dir(dir), ".toskose-contexts-")
	if err != nil {
		return fail(err)
	}
	defer os.RemoveAll(staged) // no effect after the rename
	var folders recipe.Folders
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for _, j := range jobs {
		group.Go(func() error { return j.writeContexts(inner, &folders, staged) })
	}
	images, shared := slices.Collect(slices.Chunk(jobs, jobs[0].platforms)), b.sharedLayers(inner, jobs)
	for _, same := range images {
		if same[0].layers { // otherwise the content of the built image is unknown
			group.Go(func() error {
				_, _, err := b.describe(inner, same, shared)
				return err
			})
		}
	}
	if err := group.Wait(); err != nil {
		return fail(err)
	}
	if err := os.Chmod(staged, 0o755); err != nil { //nolint:gosec // they are no secret
		return fail(err)
	}
	if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fail(err)
	}
	if err := os.Rename(staged, dir); err != nil {
		return fail(err)
	}
	for _, same := range images {
		if !same[0].layers {
			b.warnUnpinned(same[0].image.Name, "it is built by somebody else")
		}
		for _, j := range same {
			b.sayContexts(j, dir)
		}
	}
	return nil
}

// sayContexts prints the commands that use a job's contexts.
func (b *Builder) sayContexts(j *job, dir string) {
	name, platform := j.image.Name, ""
	if len(b.opts.platforms) > 0 {
		platform = " --platform " + j.Platform.String()
	}
	if j.archive != nil {
		ref, file, at := j.archiveRef(), "", filepath.Join(dir, archiveContexts, j.folder())
		if j.archive.File != "Dockerfile" {
			file = " -f " + filepath.Join(at, j.archive.File)
		}
		b.log.Line(event.Event{Image: ref, State: event.Context}, "docker build%s -t %s%s %s", platform, ref, file, at)
	}
	if j.layers {
		own, _ := b.Pinned(name)
		b.log.Line(event.Event{Image: name, State: event.Context}, "docker build%s -t %s -t %s %s", platform, name, own, filepath.Join(dir, j.folder()))
	}
}

// archiveContexts is the folder of the contexts that the archive has; no
// container can have the name.
const archiveContexts = "_archive"

// folder is a context's place: by node and, where there are several, by
// platform.
func (j *job) folder() string {
	name := j.image.Node
	if name == "" {
		name = managerContext
	}
	if j.platforms > 1 {
		return filepath.Join(name, j.platformWord())
	}
	return name
}

// writeContexts writes the contexts of a job below a folder.
func (j *job) writeContexts(ctx context.Context, folders *recipe.Folders, dir string) error {
	if j.archive != nil {
		if err := j.archive.WriteFolder(ctx, filepath.Join(dir, archiveContexts, j.folder())); err != nil {
			return err
		}
	}
	if !j.layers {
		return nil
	}
	return folders.Write(ctx, &j.Image, filepath.Join(dir, j.folder()))
}
