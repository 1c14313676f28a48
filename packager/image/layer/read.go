package layer

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// MaxFile is the most that is read of a file of an image; the largest are the
// binaries of Toskose.
const MaxFile = 128 << 20

// ReadFile reads a file of an image from its layers, the last first.
func ReadFile(ctx context.Context, layers []v1.Layer, name string) (io.Reader, error) {
	for _, l := range slices.Backward(layers) {
		data, hidden, err := readFile(ctx, l, name)
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

// readFile reads a file of a layer, and reports whether the layer hides the file in lower layers
// (image-spec, layer.md, whiteouts).
func readFile(ctx context.Context, l v1.Layer, name string) (data []byte, hidden bool, err error) {
	r, err := l.Uncompressed()
	if err != nil {
		return nil, false, err
	}
	defer r.Close()
	for tr := tar.NewReader(Stoppable(ctx, r)); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return nil, hidden, nil
		}
		if err != nil {
			return nil, false, err
		}
		switch at := strings.TrimPrefix(path.Clean("/"+h.Name), "/"); {
		case at == name && h.Typeflag == tar.TypeReg:
			data, err := io.ReadAll(io.LimitReader(tr, MaxFile))
			return data, false, err
		case hides(at, name):
			hidden = true
		}
	}
}

// hides reports whether an entry of a layer removes name from lower layers.
func hides(at, name string) bool {
	dir, file := path.Split(at)
	if file == ".wh..wh..opq" {
		return strings.HasPrefix(name, dir)
	}
	hidden, ok := strings.CutPrefix(file, ".wh.")
	return ok && (name == dir+hidden || strings.HasPrefix(name, dir+hidden+"/"))
}
