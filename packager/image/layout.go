package image

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
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// The annotations by which the images of a layout are known: that of the
// specification, and containerd's, which holds whole references only.
const (
	annotationRef  = "org.opencontainers.image.ref.name"
	annotationName = "io.containerd.image.name"
)

// layoutSource finds images in a folder with an OCI image layout.
type layoutSource struct{ dir string }

func (s *layoutSource) find(_ context.Context, ref string, platform v1.Platform) (*found, error) {
	named, err := reference.ParseDockerRef(ref)
	if err != nil {
		return nil, fmt.Errorf("%q is no image: %w", ref, err)
	}
	top, err := layout.ImageIndexFromPath(s.dir)
	if err != nil {
		return nil, fmt.Errorf("cannot get image %q: %q is no OCI image layout: %w", ref, s.dir, err)
	}
	manifest, err := top.IndexManifest()
	if err != nil {
		return nil, fmt.Errorf("cannot get image %q: %q is no OCI image layout: %w", ref, s.dir, err)
	}
	at := slices.IndexFunc(manifest.Manifests, func(d v1.Descriptor) bool { return isNamed(d, named) })
	if at < 0 {
		return nil, fmt.Errorf("cannot get image %q: the OCI image layout %q has none", ref, s.dir)
	}
	desc := manifest.Manifests[at]
	var img v1.Image
	if desc.MediaType.IsIndex() {
		var index v1.ImageIndex
		if index, err = top.ImageIndex(desc.Digest); err == nil {
			img, err = pick(index, platform)
		}
	} else {
		img, err = top.Image(desc.Digest)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot get image %q: %w", ref, err)
	}
	f, err := foundImage(img)
	if err != nil {
		return nil, fmt.Errorf("cannot get image %q: %w", ref, err)
	}
	return f, nil
}

// isNamed tells whether an entry of a layout is meant by a reference: by its
// digest, by its whole name, or by a name that is completed as usual.
func isNamed(d v1.Descriptor, named reference.Named) bool {
	if digested, ok := named.(reference.Digested); ok {
		return d.Digest.String() == digested.Digest().String()
	}
	for _, name := range []string{d.Annotations[annotationName], d.Annotations[annotationRef]} {
		if other, err := reference.ParseDockerRef(name); err == nil && other.String() == named.String() {
			return true
		}
	}
	return false
}

// layoutSink writes images to a folder with an OCI image layout. The blobs
// come first and the index at the end, so that it never names half an image;
// what was written in vain is removed.
type layoutSink struct {
	dir     string
	tell    func(e Event, format string, args ...any)
	watched func(io.Writer, Event) io.Writer

	mu    sync.Mutex
	wrote []string // files and folders that were not there, in order
	add   []v1.Descriptor
}

// open refuses a folder with something else in it.
func (s *layoutSink) open() error {
	if _, err := os.Stat(filepath.Join(s.dir, "oci-layout")); err == nil {
		return nil
	}
	list, err := os.ReadDir(s.dir)
	if err == nil && len(list) > 0 {
		return fmt.Errorf("cannot write images to %q: it holds something else than an OCI image layout", s.dir)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot write images to %q: %w", s.dir, err)
	}
	return nil
}

func (s *layoutSink) put(ctx context.Context, name string, images []*made) error {
	named, err := reference.ParseDockerRef(name)
	if err != nil {
		return fmt.Errorf("%q is no name for an image: %w", name, err)
	}
	for _, m := range images {
		if err := s.image(ctx, m); err != nil {
			return fmt.Errorf("cannot write image %q to %q: %w", name, s.dir, err)
		}
	}
	desc, err := s.top(ctx, images)
	if err != nil {
		return fmt.Errorf("cannot write image %q to %q: %w", name, s.dir, err)
	}
	desc.Annotations = map[string]string{annotationRef: name, annotationName: named.String()}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add = append(s.add, desc)
	s.tell(Event{Image: name, State: StateWritten}, "written as %s", desc.Digest)
	return nil
}

// image writes all blobs of an image, its manifest last.
func (s *layoutSink) image(ctx context.Context, m *made) error {
	layers, err := m.Layers()
	if err != nil {
		return err
	}
	e := Event{Image: m.name, State: StateWriting}
	for _, l := range layers {
		size, err := l.Size()
		if err != nil {
			return err
		}
		e.Total += size
	}
	done := s.watched(io.Discard, e)
	for _, l := range layers {
		digest, err := l.Digest()
		if err != nil {
			return err
		}
		open := func() (io.ReadCloser, error) {
			r, err := l.Compressed()
			return &teed{Reader: io.TeeReader(r, done), Closer: r}, err
		}
		if err := s.blob(ctx, digest, open); err != nil {
			return err
		}
	}
	if err := s.data(ctx, m.id, m.config); err != nil {
		return err
	}
	return s.raw(ctx, m)
}

// teed is a reader of which something else is told, too.
type teed struct {
	io.Reader
	io.Closer
}

// top describes what a name stands for: an image, or an index of several.
func (s *layoutSink) top(ctx context.Context, images []*made) (v1.Descriptor, error) {
	var subject interface {
		manifestOf
		Size() (int64, error)
	} = images[0]
	media, platform := images[0].mediaType(), &images[0].platform
	if len(images) > 1 {
		index := indexOf(images)
		if err := s.raw(ctx, index); err != nil {
			return v1.Descriptor{}, err
		}
		kind, err := index.MediaType()
		if err != nil {
			return v1.Descriptor{}, err
		}
		subject, media, platform = index, kind, nil
	}
	digest, err := subject.Digest()
	if err != nil {
		return v1.Descriptor{}, err
	}
	size, err := subject.Size()
	return v1.Descriptor{MediaType: media, Digest: digest, Size: size, Platform: platform}, err
}

// manifestOf is an image or an index.
type manifestOf interface {
	Digest() (v1.Hash, error)
	RawManifest() ([]byte, error)
}

func (s *layoutSink) raw(ctx context.Context, m manifestOf) error {
	digest, err := m.Digest()
	if err != nil {
		return err
	}
	data, err := m.RawManifest()
	if err != nil {
		return err
	}
	return s.data(ctx, digest, data)
}

func (s *layoutSink) data(ctx context.Context, digest v1.Hash, data []byte) error {
	return s.blob(ctx, digest, func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil })
}

// blob writes a blob unless it is there.
func (s *layoutSink) blob(ctx context.Context, digest v1.Hash, open func() (io.ReadCloser, error)) error {
	path := filepath.Join(s.dir, "blobs", digest.Algorithm, digest.Hex)
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	if err := s.folder(filepath.Dir(path)); err != nil {
		return err
	}
	r, err := open()
	if err != nil {
		return err
	}
	defer r.Close()
	if err := writeFile(path, &stoppable{ctx, r}); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wrote = append(s.wrote, path)
	return nil
}

func (s *layoutSink) folder(path string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var missing []string
	for p := path; ; p = filepath.Dir(p) {
		if _, err := os.Stat(p); err == nil || filepath.Dir(p) == p {
			break
		}
		missing = append(missing, p)
	}
	slices.Reverse(missing)
	s.wrote = append(s.wrote, missing...)
	return os.MkdirAll(path, 0o755) //nolint:gosec // images are no secret
}

// commit names what was written, in place of what had the names before.
func (s *layoutSink) commit(ctx context.Context) error {
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
		return slices.ContainsFunc(s.add, func(a v1.Descriptor) bool { return a.Annotations[annotationName] == d.Annotations[annotationName] })
	})
	index.Manifests = append(index.Manifests, s.add...)
	slices.SortFunc(index.Manifests, func(a, b v1.Descriptor) int {
		return strings.Compare(a.Annotations[annotationName], b.Annotations[annotationName])
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
		if err := writeFile(filepath.Join(s.dir, f.name), strings.NewReader(f.text+"\n")); err != nil {
			return fmt.Errorf("cannot write images to %q: %w", s.dir, err)
		}
	}
	s.wrote = nil
	return nil
}

// abort removes what was written, if it is not named.
func (s *layoutSink) abort() {
	for _, path := range slices.Backward(s.wrote) {
		_ = os.Remove(path) // a folder stays if something else is in it by now
	}
}

// writeFile writes a file beside its place and then renames it, so that it is
// whole or not there.
func writeFile(path string, r io.Reader) error {
	return createFile(path, func(f *os.File) error {
		_, err := io.Copy(f, r)
		return err
	})
}

// createFile is writeFile of what write writes.
func createFile(path string, write func(*os.File) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".toskose-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.Close()
			_ = os.Remove(f.Name()) // what matters is the first error
		}
	}()
	if err = write(f); err != nil {
		return err
	}
	if err = f.Chmod(0o644); err != nil {
		return err
	}
	if err = f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
