package source

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

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"

	"github.com/toskose/toskose/packager/image/docker"
	"github.com/toskose/toskose/packager/image/layer"
)

// savedLayers are the layers of an image on an engine. The engine sends all of them when the first
// one is read.
type savedLayers struct {
	ctx    context.Context // of the build; v1.Layer takes no context
	engine *docker.Engine
	id     string
	folder *layer.Temp
	diffs  []v1.Hash
}

func (s *savedLayers) all() ([]v1.Layer, error) {
	blobs := sync.OnceValues(s.save)
	layers := make([]v1.Layer, len(s.diffs))
	for i, diffID := range s.diffs {
		var err error
		if layers[i], err = partial.CompressedToLayer(&savedLayer{diffID: diffID, Packed: func() (layer.Blob, error) {
			all, err := blobs()
			return all[diffID], err
		}}); err != nil {
			return nil, err
		}
	}
	return layers, nil
}

// save reads the engine's archive of the image. The names of its files differ between engines, so
// layers are identified by their digests.
func (s *savedLayers) save() (map[v1.Hash]layer.Blob, error) {
	stream, err := s.engine.Client.ImageSave(s.ctx, []string{s.id})
	if err != nil {
		return nil, fmt.Errorf("cannot get the layers of image %q: %w", s.id, err)
	}
	defer stream.Close()
	wanted := map[v1.Hash]bool{}
	for _, diffID := range s.diffs {
		wanted[diffID] = true
	}
	blobs := map[v1.Hash]layer.Blob{}
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
		b, err := layer.Compress(s.folder, func(w io.Writer) error { return decompress(w, tr) })
		if err != nil {
			return nil, fmt.Errorf("cannot get the layers of image %q: %w", s.id, err)
		}
		if wanted[b.DiffID] {
			blobs[b.DiffID] = b
		} else if err := os.Remove(b.Path); err != nil {
			return nil, err
		}
	}
	for _, diffID := range s.diffs {
		if _, ok := blobs[diffID]; !ok {
			return nil, fmt.Errorf("cannot get the layers of image %q: the engine sends no layer %s", s.id, diffID)
		}
	}
	return blobs, nil
}

// decompress copies r to w, decompressing it if it is compressed.
func decompress(w io.Writer, r io.Reader) error {
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

// savedLayer is a layer whose DiffID is known before it is compressed.
type savedLayer struct {
	layer.Packed
	diffID v1.Hash
}

// DiffID implements v1.Layer.
func (l *savedLayer) DiffID() (v1.Hash, error) { return l.diffID, nil }
