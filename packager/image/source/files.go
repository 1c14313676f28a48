package source

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/containerd/errdefs"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/toskose/toskose/packager/image/layer"
)

// File describes a regular file or a folder of an image.
type File struct {
	Path string // absolute, without symbolic links
	Mode fs.FileMode
	Size int64
}

// Files are the files of an image. Paths are absolute; symbolic links are followed.
type Files interface {
	// Stat returns an error that wraps fs.ErrNotExist if there is no such file.
	Stat(ctx context.Context, name string) (File, error)
	// Read returns up to limit bytes of a regular file.
	Read(ctx context.Context, name string, limit int64) ([]byte, error)
	// List returns the names in a folder, sorted.
	List(ctx context.Context, name string) ([]string, error)
}

// WithFiles calls use with the files of an image. They are valid until use returns.
func (i *Image) WithFiles(ctx context.Context, use func(Files) error) error {
	if i.withFiles != nil {
		return i.withFiles(ctx, use)
	}
	layers, err := i.Layers()
	if err != nil {
		return err
	}
	files, err := indexLayers(ctx, layers)
	if err != nil {
		return err
	}
	return use(files)
}

// containerFiles are the files of a container that is never started.
type containerFiles struct {
	engine *Engine
	id     string
}

// Stat implements Files.
func (c containerFiles) Stat(ctx context.Context, name string) (File, error) {
	stat, err := c.engine.Engine.Client.ContainerStatPath(ctx, c.id, name)
	if err == nil && stat.Mode&fs.ModeSymlink != 0 {
		name = stat.LinkTarget // the engine follows all links
		stat, err = c.engine.Engine.Client.ContainerStatPath(ctx, c.id, name)
	}
	switch {
	case errdefs.IsNotFound(err):
		return File{}, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
	case err != nil:
		return File{}, err
	case stat.Mode&fs.ModeSymlink != 0:
		return File{}, &fs.PathError{Op: "stat", Path: name, Err: errTooManyLinks}
	}
	name, err = c.withoutLinks(ctx, path.Clean(name))
	return File{Path: name, Mode: stat.Mode, Size: stat.Size}, err
}

// withoutLinks resolves links among the parents of an existing path.
func (c containerFiles) withoutLinks(ctx context.Context, name string) (string, error) {
	for dir := path.Dir(name); dir != "/" && dir != "."; dir = path.Dir(dir) {
		stat, err := c.engine.Engine.Client.ContainerStatPath(ctx, c.id, dir)
		if err != nil {
			return "", err
		}
		if stat.Mode&fs.ModeSymlink != 0 {
			return path.Join(stat.LinkTarget, strings.TrimPrefix(name, dir)), nil
		}
	}
	return name, nil
}

// Read implements Files.
func (c containerFiles) Read(ctx context.Context, name string, limit int64) (data []byte, err error) {
	file, err := c.Stat(ctx, name)
	if err != nil {
		return nil, err
	}
	err = c.archive(ctx, file.Path, func(h *tar.Header, r io.Reader) error {
		if h.Typeflag != tar.TypeReg {
			return notRegular(name)
		}
		if data, err = io.ReadAll(io.LimitReader(r, limit)); err != nil {
			return err
		}
		return io.EOF
	})
	return data, err
}

// List implements Files. A tar stream of the folder is its only source, so a large folder is refused.
func (c containerFiles) List(ctx context.Context, name string) (names []string, err error) {
	folder, err := c.Stat(ctx, name)
	if err != nil {
		return nil, err
	}
	entries := 0
	err = c.archive(ctx, folder.Path, func(h *tar.Header, _ io.Reader) error {
		if entries++; entries > maxListed {
			return fmt.Errorf("%s has more than %d files", name, maxListed)
		}
		_, inside, _ := strings.Cut(path.Clean(h.Name), "/") // the first element is the folder
		if inside != "" && !strings.Contains(inside, "/") {
			names = append(names, inside)
		}
		return nil
	})
	slices.Sort(names)
	return names, err
}

// maxListed is the maximum number of files below a folder that List lists.
const maxListed = 4096

// archive calls each for the entries of a path until it returns io.EOF.
func (c containerFiles) archive(ctx context.Context, name string, each func(*tar.Header, io.Reader) error) error {
	stream, _, err := c.engine.Engine.Client.CopyFromContainer(ctx, c.id, name)
	if err != nil {
		return err
	}
	defer stream.Close()
	for tr := tar.NewReader(stream); ; {
		h, err := tr.Next()
		if err == nil {
			err = each(h, tr)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

var errTooManyLinks = errors.New("too many symbolic links")

func notRegular(name string) error {
	return &fs.PathError{Op: "read", Path: name, Err: errors.New("it is not a regular file")}
}

// Limits of reading the files of layers.
const (
	maxEntries  = 4 << 20  // in all layers
	maxKept     = 64 << 10 // bytes of a file whose content is kept
	maxKeptSum  = 64 << 20 // bytes of all of them
	maxLinks    = 40       // followed for one path, as Linux does
	rootEntries = "/"
)

// layerFiles are the files of layers. The content of small files is kept, so that a registry sends
// each layer once.
type layerFiles struct {
	layers []v1.Layer
	all    map[string]layerFile // by absolute path
	kept   int64                // bytes
}

type layerFile struct {
	mode fs.FileMode
	size int64
	link string // target of a symbolic link
	data []byte // nil: not kept
}

// indexLayers reads all layers, the first one first, as a container engine unpacks them.
func indexLayers(ctx context.Context, layers []v1.Layer) (*layerFiles, error) {
	files := &layerFiles{layers: layers, all: map[string]layerFile{rootEntries: {mode: fs.ModeDir | 0o755}}}
	for _, l := range layers {
		if err := files.add(ctx, l); err != nil {
			return nil, err
		}
	}
	return files, nil
}

func (f *layerFiles) add(ctx context.Context, l v1.Layer) error {
	r, err := l.Uncompressed()
	if err != nil {
		return err
	}
	defer r.Close()
	added := map[string]bool{} // by this layer; whiteouts hide only files of lower ones
	for tr := tar.NewReader(layer.Stoppable(ctx, r)); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		name := path.Clean("/" + h.Name)
		dir, base := path.Split(name)
		switch hidden, isWhiteout := strings.CutPrefix(base, ".wh."); {
		case base == ".wh..wh..opq":
			f.hide(dir, added)
		case isWhiteout:
			f.hide(dir+hidden+"/", added)
			f.hide(dir+hidden, added)
		default:
			if err := f.put(name, h, tr); err != nil {
				return err
			}
			for ; name != rootEntries; name = path.Dir(name) {
				added[name] = true
			}
		}
		if len(f.all) > maxEntries {
			return fmt.Errorf("it has more than %d files", maxEntries)
		}
	}
}

// hide removes a file or, if name ends in a slash, the contents of a folder.
func (f *layerFiles) hide(name string, except map[string]bool) {
	if !strings.HasSuffix(name, "/") {
		if !except[name] {
			delete(f.all, name)
		}
		return
	}
	if !f.all[path.Clean(name)].mode.IsDir() {
		return
	}
	for other := range f.all {
		if other != rootEntries && strings.HasPrefix(other, name) && !except[other] {
			delete(f.all, other)
		}
	}
}

func (f *layerFiles) put(name string, h *tar.Header, r io.Reader) error {
	file := layerFile{mode: h.FileInfo().Mode(), size: h.Size, link: h.Linkname}
	switch h.Typeflag {
	case tar.TypeLink:
		file = f.all[path.Clean("/"+h.Linkname)]
	case tar.TypeReg:
		if h.Size > maxKept || f.kept+h.Size > maxKeptSum {
			break
		}
		data, err := io.ReadAll(io.LimitReader(r, maxKept))
		if err != nil {
			return err
		}
		file.data = append([]byte{}, data...)
		f.kept += int64(len(data))
	}
	if !file.mode.IsDir() {
		f.hide(name+"/", nil) // a file replaces a folder
	}
	f.all[name] = file
	for dir := path.Dir(name); f.all[dir].mode == 0; dir = path.Dir(dir) { // layers need not list folders
		f.all[dir] = layerFile{mode: fs.ModeDir | 0o755}
	}
	return nil
}

// resolve returns the path of a file without symbolic links.
func (f *layerFiles) resolve(name string) (string, error) {
	missing := &fs.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
	links := 0
	at := rootEntries
	for rest := strings.Split(strings.Trim(path.Clean("/"+name), "/"), "/"); len(rest) > 0; rest = rest[1:] {
		switch rest[0] {
		case "", ".":
			continue
		case "..":
			at = path.Dir(at)
			continue
		}
		next := path.Join(at, rest[0])
		file, ok := f.all[next]
		switch {
		case !ok:
			return "", missing
		case file.mode&fs.ModeSymlink != 0:
			if links++; links > maxLinks {
				return "", &fs.PathError{Op: "stat", Path: name, Err: errTooManyLinks}
			}
			if path.IsAbs(file.link) {
				at = rootEntries
			}
			rest = slices.Concat([]string{""}, strings.Split(file.link, "/"), rest[1:])
		default:
			at = next
		}
	}
	return at, nil
}

// Stat implements Files.
func (f *layerFiles) Stat(_ context.Context, name string) (File, error) {
	at, err := f.resolve(name)
	if err != nil {
		return File{}, err
	}
	file := f.all[at]
	return File{Path: at, Mode: file.mode, Size: file.size}, nil
}

// Read implements Files.
func (f *layerFiles) Read(ctx context.Context, name string, limit int64) ([]byte, error) {
	at, err := f.resolve(name)
	if err != nil {
		return nil, err
	}
	file := f.all[at]
	if !file.mode.IsRegular() {
		return nil, notRegular(name)
	}
	if file.data == nil {
		r, err := layer.ReadFile(ctx, f.layers, strings.TrimPrefix(at, "/"))
		if err != nil {
			return nil, err
		}
		return io.ReadAll(io.LimitReader(r, limit))
	}
	return bytes.Clone(file.data[:min(int64(len(file.data)), limit)]), nil
}

// List implements Files.
func (f *layerFiles) List(_ context.Context, name string) (names []string, err error) {
	at, err := f.resolve(name)
	if err != nil {
		return nil, err
	}
	prefix := strings.TrimSuffix(at, "/") + "/"
	for other := range f.all {
		if inside, ok := strings.CutPrefix(other, prefix); ok && inside != "" && !strings.Contains(inside, "/") {
			names = append(names, inside)
		}
	}
	slices.Sort(names)
	return names, nil
}

// withContainerFiles calls use with the files of an image on the engine.
func (s *Engine) withContainerFiles(ctx context.Context, id string, use func(Files) error) error {
	return s.withContainer(ctx, id, func(created string) error { return use(containerFiles{s, created}) })
}
