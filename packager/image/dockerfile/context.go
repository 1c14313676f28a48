// Package dockerfile reads the Dockerfiles of an archive and their build contexts. It starts no
// goroutine.
package dockerfile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/moby/patternmatcher"
	"github.com/moby/patternmatcher/ignorefile"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/image/layer"
)

// Context is a Dockerfile of an archive with its folder, without the files that its .dockerignore
// excludes.
type Context struct {
	File    string // the Dockerfile's name in its folder
	Tree    layer.Tree
	Parents []string // images in FROM and COPY --from
}

// Read reads a Dockerfile of an archive.
func Read(archive fs.FS, file string) (*Context, error) {
	text, err := fs.ReadFile(archive, file)
	if err != nil {
		return nil, err
	}
	folder, err := fs.Sub(archive, path.Dir(file))
	if err != nil {
		return nil, err
	}
	c := &Context{File: path.Base(file), Parents: parents(string(text))}
	c.Tree, err = contextTree(folder, c.File)
	return c, err
}

const ignoreFile = ".dockerignore"

// contextTree returns the files of a build context.
func contextTree(folder fs.FS, dockerfile string) (layer.Tree, error) {
	ignored, err := ignores(folder)
	if err != nil {
		return nil, err
	}
	var entries []layer.Entry
	err = fs.WalkDir(folder, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == "." {
			return err
		}
		out, err := ignored.MatchesOrParentMatches(name)
		if err != nil {
			return err
		}
		if name == dockerfile || name == ignoreFile {
			out = false // the engine needs them and excludes them itself
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
	return layer.NewTree(entries), err
}

// ignores reads the .dockerignore of a folder, if it has one.
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

// contextEntry returns a file or folder of a context. Of a file's mode, only the execute permission
// is kept, because archives come from all kinds of machines.
func contextEntry(folder fs.FS, name string, d fs.DirEntry) (layer.Entry, error) {
	info, err := d.Info()
	if err != nil {
		return layer.Entry{}, err
	}
	switch {
	case d.IsDir():
		return layer.Entry{Name: name, Mode: 0o755, Dir: true}, nil
	case !info.Mode().IsRegular():
		return layer.Entry{}, fmt.Errorf("%q is not a regular file", name)
	}
	mode, err := packager.FileMode(folder, name, info)
	if err != nil {
		return layer.Entry{}, fmt.Errorf("%q: %w", name, err)
	}
	return layer.Entry{Name: name, Mode: int64(mode) &^ 0o020, Size: info.Size(), Open: func() (io.ReadCloser, error) { return folder.Open(name) }}, nil
}

// WriteFolder writes the context to a folder.
func (c *Context) WriteFolder(ctx context.Context, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // they are no secret
		return err
	}
	for _, e := range c.Tree {
		at := filepath.Join(dir, filepath.FromSlash(e.Name))
		if e.Dir {
			if err := os.MkdirAll(at, 0o755); err != nil { //nolint:gosec // they are no secret
				return err
			}
			continue
		}
		if err := copyTo(ctx, at, e); err != nil {
			return fmt.Errorf("cannot add %q: %w", e.Name, err)
		}
	}
	return nil
}

func copyTo(ctx context.Context, path string, e layer.Entry) error {
	r, err := e.Open()
	if err != nil {
		return err
	}
	defer r.Close()
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, layer.Stoppable(ctx, r))
	return errors.Join(err, f.Chmod(fs.FileMode(e.Mode)), f.Close())
}
