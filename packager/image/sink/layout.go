package sink

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/distribution/reference"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/toskose/toskose/packager/image/event"
	"github.com/toskose/toskose/packager/image/layer"
	"github.com/toskose/toskose/packager/image/source"
	"github.com/toskose/toskose/packager/output"
)

// Layout writes images to a folder as an OCI image layout. It writes the blobs first and the index
// last, so that the index never names an incomplete image. Blobs of a failed build are removed.
type Layout struct {
	dir string
	log *event.Log

	mu    sync.Mutex
	wrote []string        // created files and folders, in order
	add   []v1.Descriptor // entries that Commit adds to the index
}

// NewLayout returns a sink for a folder. The folder must be missing, empty or an OCI image layout.
func NewLayout(dir string, log *event.Log) (*Layout, error) {
	s := &Layout{dir: dir, log: log}
	if _, err := os.Stat(filepath.Join(dir, "oci-layout")); err == nil {
		return s, nil
	}
	list, err := os.ReadDir(dir)
	if err == nil && len(list) > 0 {
		return nil, fmt.Errorf("cannot write images to %q: it holds something other than an OCI image layout", dir)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("cannot write images to %q: %w", dir, err)
	}
	return s, nil
}

// Put implements Sink.
func (s *Layout) Put(ctx context.Context, name, pinned string, images []*Image) error {
	var all []map[string]string
	for _, name := range []string{pinned, name} {
		full, err := reference.ParseDockerRef(name)
		if err != nil {
			return fmt.Errorf("%q is not a name for an image: %w", name, err)
		}
		all = append(all, map[string]string{source.AnnotationRef: name, source.AnnotationName: full.String()})
	}
	for _, m := range images {
		if err := s.writeImage(ctx, m); err != nil {
			return fmt.Errorf("cannot write image %q to %q: %w", name, s.dir, err)
		}
	}
	desc, err := s.writeIndex(ctx, images)
	if err != nil {
		return fmt.Errorf("cannot write image %q to %q: %w", name, s.dir, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, desc.Annotations = range all {
		s.add = append(s.add, desc)
	}
	s.log.Line(event.Event{Image: name, State: event.Written}, "written as %s", desc.Digest)
	return nil
}

// writeImage writes all blobs of an image, its manifest last.
func (s *Layout) writeImage(ctx context.Context, m *Image) error {
	layers, err := m.Layers()
	if err != nil {
		return err
	}
	e := event.Event{Image: m.name, State: event.Writing}
	for _, l := range layers {
		size, err := l.Size()
		if err != nil {
			return err
		}
		e.Total += size
	}
	done := s.log.Writer(io.Discard, e)
	for _, l := range layers {
		digest, err := l.Digest()
		if err != nil {
			return err
		}
		open := func() (io.ReadCloser, error) {
			r, err := l.Compressed()
			return &teeReader{Reader: io.TeeReader(r, done), Closer: r}, err
		}
		if err := s.writeBlob(ctx, digest, open); err != nil {
			return err
		}
	}
	if err := s.writeData(ctx, m.ID, m.config); err != nil {
		return err
	}
	return s.writeManifest(ctx, m)
}

// teeReader is an io.TeeReader with the Close method of its source.
type teeReader struct {
	io.Reader
	io.Closer
}

// writeIndex writes the index of an image with several variants. It returns the descriptor of the
// index, or of the manifest of a single variant.
func (s *Layout) writeIndex(ctx context.Context, images []*Image) (v1.Descriptor, error) {
	top := manifestOf(images)
	digest, digestErr := top.Digest()
	size, sizeErr := top.Size()
	media, mediaErr := top.MediaType()
	desc := v1.Descriptor{MediaType: media, Digest: digest, Size: size}
	if len(images) == 1 {
		desc.Platform = &images[0].platform
		return desc, errors.Join(digestErr, sizeErr, mediaErr)
	}
	return desc, errors.Join(digestErr, sizeErr, mediaErr, s.writeManifest(ctx, top))
}

func (s *Layout) writeManifest(ctx context.Context, m manifest) error {
	digest, err := m.Digest()
	if err != nil {
		return err
	}
	data, err := m.RawManifest()
	if err != nil {
		return err
	}
	return s.writeData(ctx, digest, data)
}

func (s *Layout) writeData(ctx context.Context, digest v1.Hash, data []byte) error {
	return s.writeBlob(ctx, digest, func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil })
}

// writeBlob writes a blob unless it exists.
func (s *Layout) writeBlob(ctx context.Context, digest v1.Hash, open func() (io.ReadCloser, error)) error {
	path := filepath.Join(s.dir, "blobs", digest.Algorithm, digest.Hex)
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	if err := s.makeFolder(filepath.Dir(path)); err != nil {
		return err
	}
	r, err := open()
	if err != nil {
		return err
	}
	defer r.Close()
	if err := output.CopyFile(path, layer.Stoppable(ctx, r)); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wrote = append(s.wrote, path)
	return nil
}

func (s *Layout) makeFolder(path string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	made, err := output.MakeFolder(path, 0o755)
	s.wrote = append(s.wrote, made...)
	return err
}

// Commit adds the names of the written images to the index, replacing earlier entries with the
// same names.
func (s *Layout) Commit(ctx context.Context) error {
	index := v1.IndexManifest{SchemaVersion: 2, MediaType: types.OCIImageIndex}
	path := filepath.Join(s.dir, "index.json")
	data, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, &index)
	} else if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err != nil {
		return fmt.Errorf("cannot read the index of the OCI image layout %q: %w", s.dir, err)
	}
	index.Manifests = slices.DeleteFunc(index.Manifests, func(d v1.Descriptor) bool {
		return slices.ContainsFunc(s.add, func(a v1.Descriptor) bool {
			return a.Annotations[source.AnnotationName] == d.Annotations[source.AnnotationName]
		})
	})
	index.Manifests = append(index.Manifests, s.add...)
	slices.SortFunc(index.Manifests, func(a, b v1.Descriptor) int {
		return strings.Compare(a.Annotations[source.AnnotationName], b.Annotations[source.AnnotationName])
	})
	if data, err = json.MarshalIndent(index, "", "  "); err != nil {
		return fmt.Errorf("cannot encode an index: %w", err)
	}
	for _, f := range []struct{ name, text string }{{"oci-layout", `{"imageLayoutVersion": "1.0.0"}`}, {"index.json", string(data)}} {
		if err := ctx.Err(); err != nil {
			return err
		}
		if _, err := os.Stat(filepath.Join(s.dir, f.name)); errors.Is(err, fs.ErrNotExist) {
			s.wrote = append(s.wrote, filepath.Join(s.dir, f.name))
		}
		if err := output.CopyFile(filepath.Join(s.dir, f.name), strings.NewReader(f.text+"\n")); err != nil {
			return fmt.Errorf("cannot write images to %q: %w", s.dir, err)
		}
	}
	s.wrote = nil
	return nil
}

// Abort removes the written files unless Commit named them.
func (s *Layout) Abort() {
	for _, path := range slices.Backward(s.wrote) {
		_ = os.Remove(path) // a folder with other files stays
	}
}
