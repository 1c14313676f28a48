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

// managerContext is the folder of the manager's context. The name is not available to containers.
const managerContext = "manager"

// writeContexts writes a build context for each image. Their folder is renamed into place when it
// is complete.
func (b *Builder) writeContexts(ctx context.Context, variants []*variant) error {
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
	group.SetLimit(maxParallel)
	for _, v := range variants {
		group.Go(func() error { return v.writeContexts(inner, &folders, staged) })
	}
	images, shared := slices.Collect(slices.Chunk(variants, variants[0].platforms)), b.sharedLayers(inner, variants)
	for _, image := range images {
		if image[0].layered { // otherwise the content of the built image is unknown
			group.Go(func() error {
				_, _, err := b.describe(inner, image, shared)
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
	for _, image := range images {
		if !image[0].layered {
			b.warnUnpinned(image[0].image.Name, "it is built elsewhere")
		}
		for _, v := range image {
			b.reportContexts(v, dir)
		}
	}
	return nil
}

// reportContexts prints the commands that use a variant's contexts.
func (b *Builder) reportContexts(v *variant, dir string) {
	name, platform := v.image.Name, ""
	if len(b.opts.platforms) > 0 {
		platform = " --platform " + v.Platform.String()
	}
	if v.archive != nil {
		ref, file, at := v.archiveRef(), "", filepath.Join(dir, archiveContexts, v.folder())
		if v.archive.File != "Dockerfile" {
			file = " -f " + filepath.Join(at, v.archive.File)
		}
		b.log.Line(event.Event{Image: ref, State: event.Context}, "docker build%s -t %s%s %s", platform, ref, file, at)
	}
	if v.layered {
		pinned, _ := b.Pinned(name)
		b.log.Line(event.Event{Image: name, State: event.Context}, "docker build%s -t %s -t %s %s", platform, name, pinned, filepath.Join(dir, v.folder()))
	}
}

// archiveContexts is the folder of the archive's own build contexts. It is not a valid name of a
// container.
const archiveContexts = "_archive"

// folder returns the folder of a variant's context: the node's name, with the platform if there are
// several.
func (v *variant) folder() string {
	name := v.image.Node
	if name == "" {
		name = managerContext
	}
	if v.platforms > 1 {
		return filepath.Join(name, v.platformSuffix())
	}
	return name
}

// writeContexts writes the contexts of a variant below a folder.
func (v *variant) writeContexts(ctx context.Context, folders *recipe.Folders, dir string) error {
	if v.archive != nil {
		if err := v.archive.WriteFolder(ctx, filepath.Join(dir, archiveContexts, v.folder())); err != nil {
			return err
		}
	}
	if !v.layered {
		return nil
	}
	return folders.Write(ctx, &v.Image, filepath.Join(dir, v.folder()))
}
