package image

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// scratch is the base that is nothing.
const scratch = "scratch"

// source is where images to build upon are.
type source interface {
	find(ctx context.Context, ref string, platform v1.Platform) (*found, error)
}

// found is an image to build upon.
type found struct {
	config *v1.ConfigFile
	media  types.MediaType                                           // of its manifest
	layers func() ([]v1.Layer, error)                                // nothing is transferred before they are read
	file   func(ctx context.Context, name string) (io.Reader, error) // of its file system
}

// base is an image to build upon that can be.
type base struct {
	*found
	ref string
	uid int // of its user
}

// nothing is scratch, for a platform.
func nothing(platform v1.Platform) base {
	config := &v1.ConfigFile{
		Architecture: platform.Architecture, OS: platform.OS, Variant: platform.Variant, RootFS: v1.RootFS{Type: "layers"},
	}
	return base{ref: scratch, found: &found{
		config: config, media: types.OCIManifestSchema1, layers: func() ([]v1.Layer, error) { return nil, nil },
		file: func(context.Context, string) (io.Reader, error) { return nil, fs.ErrNotExist },
	}}
}

// findBase finds a base and refuses one that cannot be built upon.
func (b *Builder) findBase(ctx context.Context, ref, node string, platform v1.Platform) (base, error) {
	if ref == scratch {
		return nothing(platform), nil
	}
	return baseFrom(ctx, b.bases, ref, node, platform)
}

// baseFrom finds a base in a place.
func baseFrom(ctx context.Context, in source, ref, node string, platform v1.Platform) (base, error) {
	f, err := in.find(ctx, ref, platform)
	if err != nil {
		if node != "" && ctx.Err() == nil {
			return base{}, fmt.Errorf("%w, or name another base by nodes.%s.docker.base_image in toskose.yml", err, node)
		}
		return base{}, err
	}
	subject, has := fmt.Sprintf("base image %q", ref), platformOf(f.config)
	if has.OS != platform.OS || has.Architecture != platform.Architecture || platform.Variant != "" && has.Variant != "" && has.Variant != platform.Variant {
		return base{}, fmt.Errorf("%s is for %s, but images are built for %s; --platform says for which", subject, has, platform)
	}
	if steps := f.config.Config.OnBuild; len(steps) > 0 {
		return base{}, fmt.Errorf("%s has ONBUILD steps (%s), which would run while building: images are built by copying only; "+
			"build an image on it by yourself first, and name that as the base", subject, strings.Join(steps, "; "))
	}
	uid, err := userID(ctx, f)
	if err != nil {
		return base{}, fmt.Errorf("%s: %w", subject, err)
	}
	return base{found: f, ref: ref, uid: uid}, nil
}

// platformOf is what an image is for; where it does not say, linux.
func platformOf(c *v1.ConfigFile) v1.Platform {
	p := v1.Platform{OS: c.OS, Architecture: c.Architecture, Variant: c.Variant}
	if p.OS == "" {
		p.OS = "linux"
	}
	return p
}

// userID gives the number of an image's user, which may be a name of its
// /etc/passwd.
func userID(ctx context.Context, f *found) (int, error) {
	user, _, _ := strings.Cut(f.config.Config.User, ":")
	if user == "" || user == "root" {
		return 0, nil
	}
	if uid, err := strconv.ParseUint(user, 10, 31); err == nil {
		return int(uid), nil
	}
	r, err := f.file(ctx, "etc/passwd")
	if errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("its user is %q, and it has no /etc/passwd that says which number that is", user)
	}
	if err != nil {
		return 0, fmt.Errorf("cannot read its /etc/passwd: %w", err)
	}
	for lines := bufio.NewScanner(io.LimitReader(r, 1<<20)); lines.Scan(); {
		fields := strings.Split(lines.Text(), ":")
		if len(fields) > 2 && fields[0] == user {
			if uid, err := strconv.ParseUint(fields[2], 10, 31); err == nil {
				return int(uid), nil
			}
		}
	}
	return 0, fmt.Errorf("its user is %q, which is not in its /etc/passwd", user)
}

// maxFile is the most that is read of a file of an image; the largest are the
// binaries of Toskose.
const maxFile = 128 << 20

// fileIn reads a file of an image from its layers, the last first.
func fileIn(ctx context.Context, layers []v1.Layer, name string) (io.Reader, error) {
	for _, l := range slices.Backward(layers) {
		data, hidden, err := fileOfLayer(ctx, l, name)
		switch {
		case err != nil:
			return nil, err
		case data != nil:
			return bytes.NewReader(data), nil
		case hidden:
			return nil, fs.ErrNotExist
		}
	}
	return nil, fs.ErrNotExist
}

// fileOfLayer reads a file of a layer, and tells whether the layer hides those
// below it (image-spec, layer.md, whiteouts).
func fileOfLayer(ctx context.Context, l v1.Layer, name string) (data []byte, hidden bool, err error) {
	r, err := l.Uncompressed()
	if err != nil {
		return nil, false, err
	}
	defer r.Close()
	for tr := tar.NewReader(&stoppable{ctx, r}); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return nil, hidden, nil
		}
		if err != nil {
			return nil, false, err
		}
		switch at := strings.TrimPrefix(path.Clean("/"+h.Name), "/"); {
		case at == name && h.Typeflag == tar.TypeReg:
			data, err := io.ReadAll(io.LimitReader(tr, maxFile))
			return data, false, err
		case hides(at, name):
			hidden = true
		}
	}
}

// hides tells whether an entry of a layer removes what lower ones have at name.
func hides(at, name string) bool {
	dir, file := path.Split(at)
	if file == ".wh..wh..opq" {
		return strings.HasPrefix(name, dir)
	}
	hidden, ok := strings.CutPrefix(file, ".wh.")
	return ok && (name == dir+hidden || strings.HasPrefix(name, dir+hidden+"/"))
}
