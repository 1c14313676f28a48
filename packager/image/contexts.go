package image

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
)

// managerContext is the folder of the manager's context; no container can have
// the name, as the manager has it.
const managerContext = "manager"

// writeContexts leaves a build context for each image, below one folder that is
// there only when it is whole.
func (b *Builder) writeContexts(ctx context.Context, jobs []*job, platforms int) (err error) {
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
	defer os.RemoveAll(staged) // it is gone once renamed
	writer := contextWriter{shared: map[string]func() (string, error){}}
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for _, j := range jobs {
		group.Go(func() error { return writer.writeContextsTo(inner, j, staged, platforms) })
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
	for _, j := range jobs {
		if !j.image.Alone() { // the base of one that is alone is not known
			b.remember(j.image.Name, About{User: j.config().Config.User})
		}
		b.sayContexts(j, dir, platforms)
	}
	return nil
}

// sayContexts says what to do with a job's contexts, the first first.
func (b *Builder) sayContexts(j *job, dir string, platforms int) {
	name, platform := j.image.Name, ""
	if len(b.opts.Platforms) > 0 {
		platform = " --platform " + j.platform.String()
	}
	if j.given != nil {
		ref, file, at := tagFor(j.image.Base, j.platform.String(), platforms), "", filepath.Join(dir, j.givenFolder(platforms))
		if j.given.file != "Dockerfile" {
			file = " -f " + filepath.Join(at, j.given.file)
		}
		b.tell(Event{Image: ref, State: StateContext}, "docker build%s -t %s%s %s", platform, ref, file, at)
	}
	if !j.image.Alone() {
		b.tell(Event{Image: name, State: StateContext}, "docker build%s -t %s %s", platform, name, filepath.Join(dir, j.folder(platforms)))
	}
}

// givenContexts is the folder of the contexts that the archive has; no
// container can have the name.
const givenContexts = "_archive"

// givenFolder is the place of the context that the archive has.
func (j *job) givenFolder(platforms int) string {
	return filepath.Join(givenContexts, j.folder(platforms))
}

// folder is a context's place: by node and, where there are several, by
// platform.
func (j *job) folder(platforms int) string {
	name := j.image.Node
	if name == "" {
		name = managerContext
	}
	if platforms > 1 {
		return filepath.Join(name, strings.ReplaceAll(j.platform.String(), "/", "-"))
	}
	return name
}

// contextWriter writes contexts at the same time.
type contextWriter struct {
	mu     sync.Mutex
	shared map[string]func() (string, error) // files of the layers that jobs share, by job.shared
}

// writeContextsTo writes the contexts of a job below a folder.
func (w *contextWriter) writeContextsTo(ctx context.Context, j *job, dir string, platforms int) error {
	if j.given != nil {
		if err := j.given.writeContextTo(ctx, filepath.Join(dir, j.givenFolder(platforms))); err != nil {
			return err
		}
	}
	if j.image.Alone() {
		return nil
	}
	return w.writeContextTo(ctx, j, filepath.Join(dir, j.folder(platforms)))
}

// writeContextTo writes the context that the archive has.
func (g *given) writeContextTo(ctx context.Context, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // they are no secret
		return err
	}
	for _, e := range g.tree {
		at := filepath.Join(dir, filepath.FromSlash(e.name))
		if e.dir {
			if err := os.MkdirAll(at, 0o755); err != nil { //nolint:gosec // they are no secret
				return err
			}
			continue
		}
		if err := e.copyTo(ctx, at); err != nil {
			return fmt.Errorf("cannot add %q: %w", e.name, err)
		}
	}
	return nil
}

func (e *entry) copyTo(ctx context.Context, path string) error {
	r, err := e.open()
	if err != nil {
		return err
	}
	defer r.Close()
	if err := writeFile(path, &stoppable{ctx, r}); err != nil {
		return err
	}
	return os.Chmod(path, fs.FileMode(e.mode))
}

// writeContextTo writes a context. The binary's layer is the same in many, so
// it is written once and then linked.
func (w *contextWriter) writeContextTo(ctx context.Context, j *job, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // they are no secret
		return err
	}
	text, err := j.dockerfile()
	if err != nil {
		return err
	}
	if err := writeFile(filepath.Join(dir, "Dockerfile"), bytes.NewReader(text)); err != nil {
		return err
	}
	for i, t := range j.trees {
		path := filepath.Join(dir, j.archiveName(i))
		create := func() (string, error) {
			return path, createFile(path, func(f *os.File) error { return t.writeTo(ctx, f) })
		}
		if i > 0 || j.shared == "" {
			_, err = create()
		} else if first, e := once(&w.mu, w.shared, j.shared, create); e != nil || first != path {
			err = e
			if e == nil && os.Link(first, path) != nil { // not every file system can
				_, err = create()
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}
