package image

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/docker/docker/client"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// savedLayers are the layers of an image on an engine, which gives them all at
// once, when the first is read.
type savedLayers struct {
	ctx    context.Context // of the build: v1.Layer has no other way to end
	engine *client.Client
	id     string
	folder *temp
	diffs  []v1.Hash
	blobs  func() (map[v1.Hash]blob, error)
}

func newSavedLayers(ctx context.Context, engine *client.Client, id string, folder *temp, diffs []v1.Hash) *savedLayers {
	s := &savedLayers{ctx: ctx, engine: engine, id: id, folder: folder, diffs: diffs}
	s.blobs = sync.OnceValues(s.save)
	return s
}

func (s *savedLayers) all() []v1.Layer {
	layers := make([]v1.Layer, len(s.diffs))
	for i, diffID := range s.diffs {
		layers[i] = &savedLayer{set: s, diffID: diffID}
	}
	return layers
}

// save reads the engine's archive of the image. How its files are named
// differs from engine to engine; the layers are known by their digests.
func (s *savedLayers) save() (map[v1.Hash]blob, error) {
	stream, err := s.engine.ImageSave(s.ctx, []string{s.id})
	if err != nil {
		return nil, fmt.Errorf("cannot get the layers of image %q: %w", s.id, err)
	}
	defer stream.Close()
	wanted := map[v1.Hash]bool{}
	for _, diffID := range s.diffs {
		wanted[diffID] = true
	}
	blobs := map[v1.Hash]blob{}
	for tr := tar.NewReader(stream); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("cannot get the layers of image %q: %w", s.id, err)
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		b, err := spool(s.folder, func(w io.Writer) error { return unpack(w, tr) })
		if err != nil {
			return nil, fmt.Errorf("cannot get the layers of image %q: %w", s.id, err)
		}
		if wanted[b.diffID] {
			blobs[b.diffID] = b
		} else if err := os.Remove(b.path); err != nil {
			return nil, err
		}
	}
	for _, diffID := range s.diffs {
		if _, ok := blobs[diffID]; !ok {
			return nil, fmt.Errorf("cannot get the layers of image %q: the engine gives no layer %s", s.id, diffID)
		}
	}
	return blobs, nil
}

// unpack copies what may be compressed.
func unpack(w io.Writer, r io.Reader) error {
	head := bufio.NewReader(r)
	r = head
	if magic, _ := head.Peek(2); string(magic) == "\x1f\x8b" {
		zr, err := gzip.NewReader(head)
		if err != nil {
			return err
		}
		r = zr
	}
	_, err := io.Copy(w, r)
	return err
}

// savedLayer is one of them.
type savedLayer struct {
	set    *savedLayers
	diffID v1.Hash
}

var _ v1.Layer = (*savedLayer)(nil)

func (l *savedLayer) blob() (blob, error) {
	blobs, err := l.set.blobs()
	return blobs[l.diffID], err
}

// DiffID implements v1.Layer.
func (l *savedLayer) DiffID() (v1.Hash, error) { return l.diffID, nil }

// Digest implements v1.Layer.
func (l *savedLayer) Digest() (v1.Hash, error) {
	b, err := l.blob()
	return b.digest, err
}

// Size implements v1.Layer.
func (l *savedLayer) Size() (int64, error) {
	b, err := l.blob()
	return b.size, err
}

// Compressed implements v1.Layer.
func (l *savedLayer) Compressed() (io.ReadCloser, error) {
	b, err := l.blob()
	if err != nil {
		return nil, err
	}
	return os.Open(b.path)
}

// Uncompressed implements v1.Layer.
func (l *savedLayer) Uncompressed() (io.ReadCloser, error) {
	f, err := l.Compressed()
	if err != nil {
		return nil, err
	}
	zr, err := gzip.NewReader(f)
	if err != nil {
		f.Close()
		return nil, err
	}
	return &unpacked{zr, f}, nil
}

// MediaType implements v1.Layer.
func (l *savedLayer) MediaType() (types.MediaType, error) { return types.OCILayer, nil }

// unpacked is a compressed file as it was.
type unpacked struct {
	*gzip.Reader
	file io.Closer
}

func (u *unpacked) Close() error { return u.file.Close() }
