package image

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/moby/patternmatcher"
	"github.com/moby/patternmatcher/ignorefile"

	"github.com/toskose/toskose/packager"
)

// given is an image that is built from a Dockerfile of the archive, before
// anything is put on it. Its context is the Dockerfile's folder, without what
// a .dockerignore there names.
type given struct {
	file   string // the Dockerfile's name in its folder
	tree   tree
	parent []string // images that it is built from
}

// readGiven reads what an image of a plan is built from.
func readGiven(image packager.Image, archive fs.FS) (*given, error) {
	fail := func(err error) error {
		return fmt.Errorf("container %q: cannot build its image from %q: %w", image.Node, image.Dockerfile, err)
	}
	text, err := fs.ReadFile(archive, image.Dockerfile)
	if err != nil {
		return nil, fail(err)
	}
	folder, err := fs.Sub(archive, path.Dir(image.Dockerfile))
	if err != nil {
		return nil, fail(err)
	}
	g := &given{file: path.Base(image.Dockerfile), parent: parents(string(text))}
	if g.tree, err = contextTree(folder, g.file); err != nil {
		return nil, fail(err)
	}
	return g, nil
}

const ignoreFile = ".dockerignore"

// contextTree gives the files of a build context.
func contextTree(folder fs.FS, dockerfile string) (tree, error) {
	ignored, err := ignores(folder)
	if err != nil {
		return nil, err
	}
	var entries []entry
	err = fs.WalkDir(folder, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == "." {
			return err
		}
		out, err := ignored.MatchesOrParentMatches(name)
		if err != nil {
			return err
		}
		if name == dockerfile || name == ignoreFile {
			out = false // an engine needs them, and leaves them out by itself
		}
		switch {
		case d.IsDir() && out && !ignored.Exclusions():
			return fs.SkipDir
		case out:
			return nil
		}
		e, err := contextEntry(folder, name, d)
		if err == nil {
			entries = append(entries, e)
		}
		return err
	})
	return newTree(entries), err
}

// ignores reads the .dockerignore of a folder, which need not be.
func ignores(folder fs.FS) (*patternmatcher.PatternMatcher, error) {
	var patterns []string
	f, err := folder.Open(ignoreFile)
	if err == nil {
		defer f.Close()
		patterns, err = ignorefile.ReadAll(f)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("cannot read its %s: %w", ignoreFile, err)
	}
	m, err := patternmatcher.New(patterns)
	if err != nil {
		return nil, fmt.Errorf("its %s: %w", ignoreFile, err)
	}
	return m, nil
}

// contextEntry is a file or folder of a context. Archives are made on all kinds
// of machines, so of its mode only matters whether it can be executed.
func contextEntry(folder fs.FS, name string, d fs.DirEntry) (entry, error) {
	info, err := d.Info()
	if err != nil {
		return entry{}, err
	}
	switch {
	case d.IsDir():
		return entry{name: name, mode: 0o755, dir: true}, nil
	case !info.Mode().IsRegular():
		return entry{}, fmt.Errorf("%q is no regular file", name)
	}
	mode, err := packager.FileMode(folder, name, info)
	if err != nil {
		return entry{}, fmt.Errorf("%q: %w", name, err)
	}
	return entry{name: name, mode: int64(mode) &^ 0o020, size: info.Size(), open: func() (io.ReadCloser, error) { return folder.Open(name) }}, nil
}

// writeContext writes the context as a tar.
func (g *given) writeContext(ctx context.Context, w io.Writer) error {
	tw := tar.NewWriter(w)
	for _, e := range g.tree {
		if err := e.write(ctx, tw); err != nil {
			return fmt.Errorf("cannot add %q: %w", e.name, err)
		}
	}
	return tw.Close()
}

// unreachable says what is missing without an engine.
func unreachable(plan *packager.Plan, err error) error {
	err = fmt.Errorf("cannot reach the Docker engine: %w", err)
	for _, i := range plan.Images {
		if i.Dockerfile == "" {
			continue
		}
		other := fmt.Sprintf("nodes.%s.docker.base_image in toskose.yml", i.Node)
		if i.Alone() {
			other = "an artifact of type tosker.artifacts.Image"
		}
		return fmt.Errorf("%w; the image of container %q is built from %q in the archive, which only an engine does: "+
			"start one, or build it elsewhere and name what it gives by %s", err, i.Node, i.Dockerfile, other)
	}
	return err
}

// builds tells whether anything is built from the archive.
func builds(plan *packager.Plan) bool {
	for _, i := range plan.Images {
		if i.Dockerfile != "" {
			return true
		}
	}
	return false
}

// tagFor is the name that an image gets which is built for one of several
// platforms: an engine holds one image by one name.
func tagFor(name string, platform string, platforms int) string {
	if platforms < 2 {
		return name
	}
	return name + "-" + strings.ReplaceAll(platform, "/", "-")
}
