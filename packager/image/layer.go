package image

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

// sum is a digest of what was written to it.
func sum(h hash.Hash) v1.Hash {
	return v1.Hash{Algorithm: "sha256", Hex: hex.EncodeToString(h.Sum(nil))}
}

// blob is a compressed layer in a temporary file.
type blob struct {
	path   string
	digest v1.Hash
	size   int64
	diffID v1.Hash
}

// spool compresses what write writes into a temporary file, and gives the
// digests of both in one go: whatever its size, nothing of it is kept in
// memory.
func spool(folder *temp, write func(io.Writer) error) (b blob, err error) {
	f, err := folder.file("layer-")
	if err != nil {
		return blob{}, fmt.Errorf("cannot keep a layer: %w", err)
	}
	defer func() {
		if err != nil {
			f.Close()
			_ = os.Remove(f.Name()) // the folder is removed, too
		}
	}()
	packed, plain, n := sha256.New(), sha256.New(), counter(0)
	file := bufio.NewWriterSize(f, 256<<10)
	zw, err := gzip.NewWriterLevel(io.MultiWriter(file, packed, &n), gzip.BestSpeed)
	if err != nil {
		return blob{}, err
	}
	if err := write(io.MultiWriter(zw, plain)); err != nil {
		return blob{}, err
	}
	if err := zw.Close(); err != nil {
		return blob{}, fmt.Errorf("cannot keep a layer: %w", err)
	}
	if err := file.Flush(); err != nil {
		return blob{}, fmt.Errorf("cannot keep a layer: %w", err)
	}
	if err := f.Close(); err != nil {
		return blob{}, fmt.Errorf("cannot keep a layer: %w", err)
	}
	return blob{path: f.Name(), digest: sum(packed), size: int64(n), diffID: sum(plain)}, nil
}

// treeLayer is a layer that is made of a tree, when it is needed: an engine
// takes the tree as it is, a registry and a layout want it compressed.
type treeLayer struct {
	tree tree
	ctx  context.Context // of the build: v1.Layer has no other way to end

	plain  func() (v1.Hash, error)
	packed func() (blob, error)
}

var _ v1.Layer = (*treeLayer)(nil)

func newTreeLayer(ctx context.Context, folder *temp, t tree) *treeLayer {
	l := &treeLayer{tree: t, ctx: ctx}
	l.plain = sync.OnceValues(func() (v1.Hash, error) {
		h := sha256.New()
		err := t.write(ctx, h)
		return sum(h), err
	})
	l.packed = sync.OnceValues(func() (blob, error) {
		return spool(folder, func(w io.Writer) error { return t.write(ctx, w) })
	})
	return l
}

// DiffID implements v1.Layer.
func (l *treeLayer) DiffID() (v1.Hash, error) { return l.plain() }

// Digest implements v1.Layer.
func (l *treeLayer) Digest() (v1.Hash, error) {
	b, err := l.packed()
	return b.digest, err
}

// Size implements v1.Layer.
func (l *treeLayer) Size() (int64, error) {
	b, err := l.packed()
	return b.size, err
}

// Compressed implements v1.Layer.
func (l *treeLayer) Compressed() (io.ReadCloser, error) {
	b, err := l.packed()
	if err != nil {
		return nil, err
	}
	return os.Open(b.path)
}

// Uncompressed implements v1.Layer.
func (l *treeLayer) Uncompressed() (io.ReadCloser, error) {
	r, w := io.Pipe()
	go func() { _ = w.CloseWithError(l.tree.write(l.ctx, w)) }() // never fails, by its documentation
	return r, nil
}

// MediaType implements v1.Layer.
func (l *treeLayer) MediaType() (types.MediaType, error) { return types.OCILayer, nil }
