// Package layer makes layers from files: reproducible tar archives, compressed on request. The
// goroutine of a layer being read ends when its reader is closed.
package layer

import (
	"bufio"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"os"
	"sync"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// sum returns the digest of the data written to h.
func sum(h hash.Hash) v1.Hash {
	return v1.Hash{Algorithm: "sha256", Hex: hex.EncodeToString(h.Sum(nil))}
}

// Blob is a compressed layer in a temporary file.
type Blob struct {
	Path   string
	Digest v1.Hash
	Size   int64
	DiffID v1.Hash
}

// Compress compresses the output of write into a temporary file and computes the digests of the
// plain and the compressed data on the way. It streams the data.
func Compress(folder *Temp, write func(io.Writer) error) (b Blob, err error) {
	f, err := folder.file("layer-")
	if err != nil {
		return Blob{}, fmt.Errorf("cannot store a layer: %w", err)
	}
	defer func() {
		if err != nil {
			f.Close()
			_ = os.Remove(f.Name()) // Remove removes the folder anyway
		}
	}()
	packed, plain, n := sha256.New(), sha256.New(), counter(0)
	file := bufio.NewWriterSize(f, 256<<10)
	zw, err := gzip.NewWriterLevel(io.MultiWriter(file, packed, &n), gzip.BestSpeed)
	if err != nil {
		return Blob{}, err
	}
	if err := write(io.MultiWriter(zw, plain)); err != nil {
		return Blob{}, err
	}
	if err := zw.Close(); err != nil {
		return Blob{}, fmt.Errorf("cannot store a layer: %w", err)
	}
	if err := file.Flush(); err != nil {
		return Blob{}, fmt.Errorf("cannot store a layer: %w", err)
	}
	if err := f.Close(); err != nil {
		return Blob{}, fmt.Errorf("cannot store a layer: %w", err)
	}
	return Blob{Path: f.Name(), Digest: sum(packed), Size: int64(n), DiffID: sum(plain)}, nil
}

// Packed is the compressed form of a layer, made on demand.
type Packed func() (Blob, error)

// Digest implements v1.Layer.
func (p Packed) Digest() (v1.Hash, error) {
	b, err := p()
	return b.Digest, err
}

// Size implements v1.Layer.
func (p Packed) Size() (int64, error) {
	b, err := p()
	return b.Size, err
}

// Compressed implements v1.Layer.
func (p Packed) Compressed() (io.ReadCloser, error) {
	b, err := p()
	if err != nil {
		return nil, err
	}
	return os.Open(b.Path)
}

// MediaType implements v1.Layer.
func (p Packed) MediaType() (types.MediaType, error) { return types.OCILayer, nil }

// Layer is a layer made of a tree on demand: an engine takes the tree uncompressed, a registry and
// a layout take it compressed.
type Layer struct {
	Packed
	Tree Tree

	ctx   context.Context // of the build; v1.Layer takes no context
	plain func() (v1.Hash, error)
}

var _ v1.Layer = (*Layer)(nil)

// New returns a layer. A compressed layer is read once for both of its digests.
func New(ctx context.Context, folder *Temp, t Tree, compressed bool) *Layer {
	l := &Layer{Tree: t, ctx: ctx}
	l.Packed = sync.OnceValues(func() (Blob, error) {
		return Compress(folder, func(w io.Writer) error { return t.WriteTar(ctx, w) })
	})
	l.plain = sync.OnceValues(func() (v1.Hash, error) {
		if compressed {
			packed, err := l.Packed()
			return packed.DiffID, err
		}
		h := sha256.New()
		err := t.WriteTar(ctx, h)
		return sum(h), err
	})
	return l
}

// DiffID implements v1.Layer.
func (l *Layer) DiffID() (v1.Hash, error) { return l.plain() }

// Uncompressed implements v1.Layer.
func (l *Layer) Uncompressed() (io.ReadCloser, error) {
	r, w := io.Pipe()
	go func() { _ = w.CloseWithError(l.Tree.WriteTar(l.ctx, w)) }() // never fails, by its documentation
	return r, nil
}

// Names are the names of the layers added to images: Toskose's binary, where needed, and the
// application's files.
var Names = []string{"toskose", "application"}

// Temp is a folder for temporary files. It is created with the first file.
type Temp struct {
	In string // empty: the system's

	mu  sync.Mutex
	dir string
}

// file creates a file in the folder.
func (t *Temp) file(pattern string) (*os.File, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.dir == "" {
		dir, err := os.MkdirTemp(t.In, "toskose-")
		if err != nil {
			return nil, fmt.Errorf("cannot make a folder for temporary files: %w", err)
		}
		t.dir = dir
	}
	return os.CreateTemp(t.dir, pattern)
}

// Remove removes the folder and its contents. No files may be created afterwards.
func (t *Temp) Remove() {
	if t.dir != "" {
		_ = os.RemoveAll(t.dir) // the system cleans its temporary folder
	}
}
