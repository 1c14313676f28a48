package attach

import (
	"context"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/compose-spec/compose-go/v2/types"

	"github.com/toskose/toskose/packager/image/source"
)

// hostMount is a file or folder of this machine in a container; its path is empty if its content is
// not known.
type hostMount struct{ target, path string }

// mountedFiles are the files of a container: the image, with mounted files over it.
type mountedFiles struct {
	source.Files
	mounts []hostMount
}

// withMounts returns the files of a service's container. A volume has the files of the image until
// the application changes them.
func withMounts(files source.Files, s types.ServiceConfig, configs types.Configs) source.Files {
	m := mountedFiles{Files: files}
	for _, v := range s.Volumes {
		switch v.Type {
		case types.VolumeTypeBind:
			m.mounts = append(m.mounts, hostMount{path.Clean(v.Target), v.Source})
		case unknownMount:
			m.mounts = append(m.mounts, hostMount{path.Clean(v.Target), ""})
		}
	}
	for _, c := range s.Configs {
		m.mounts = append(m.mounts, hostMount{path.Join("/", c.Target), configs[c.Source].File})
	}
	return m
}

// unknownMount is the type of a mount whose content is not known.
const unknownMount = "unknown"

// find returns the innermost mount of a path, and the path in it.
func (m mountedFiles) find(name string) (mount hostMount, inside string, ok bool) {
	name = path.Clean(name)
	for _, candidate := range m.mounts {
		rest, in := strings.CutPrefix(name, strings.TrimSuffix(candidate.target, "/"))
		if in && (rest == "" || rest[0] == '/') && len(candidate.target) >= len(mount.target) {
			mount, inside, ok = candidate, strings.TrimPrefix(rest, "/"), true
		}
	}
	return mount, inside, ok
}

// open opens a mounted file. Links do not lead out of a mounted folder.
func (h hostMount) open(inside string) (*os.File, error) {
	switch {
	case h.path == "":
		return nil, fs.ErrNotExist
	case inside == "":
		return os.Open(h.path)
	}
	root, err := os.OpenRoot(h.path)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return root.Open(filepath.FromSlash(inside))
}

// Stat implements source.Files.
func (m mountedFiles) Stat(ctx context.Context, name string) (source.File, error) {
	mount, inside, ok := m.find(name)
	if !ok {
		return m.Files.Stat(ctx, name)
	}
	f, err := mount.open(inside)
	if err != nil {
		return source.File{}, missing(name)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return source.File{}, missing(name)
	}
	return source.File{Path: path.Clean(name), Mode: info.Mode(), Size: info.Size()}, nil
}

// missing is the error of a mounted file that does not exist or that this user cannot read.
func missing(name string) error {
	return &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

// Read implements source.Files.
func (m mountedFiles) Read(ctx context.Context, name string, limit int64) ([]byte, error) {
	mount, inside, ok := m.find(name)
	if !ok {
		return m.Files.Read(ctx, name, limit)
	}
	f, err := mount.open(inside)
	if err != nil {
		return nil, missing(name)
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, limit))
}

// List implements source.Files.
func (m mountedFiles) List(ctx context.Context, name string) ([]string, error) {
	mount, inside, ok := m.find(name)
	if !ok {
		return m.Files.List(ctx, name)
	}
	f, err := mount.open(inside)
	if err != nil {
		return nil, missing(name)
	}
	defer f.Close()
	names, err := f.Readdirnames(maxListed)
	if err != nil {
		return nil, missing(name)
	}
	slices.Sort(names)
	return names, nil
}

// maxListed is the maximum number of files of a mounted folder that are considered.
const maxListed = 4096
