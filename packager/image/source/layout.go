package source

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/distribution/reference"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
)

// Annotations that name the images of a layout: the specification's, and containerd's, which holds
// complete references only.
const (
	AnnotationRef  = "org.opencontainers.image.ref.name"
	AnnotationName = "io.containerd.image.name"
)

// Layout finds images in a folder with an OCI image layout.
type Layout struct{ Dir string }

// Find implements Source.
func (s *Layout) Find(_ context.Context, ref string, platform v1.Platform) (*Image, error) {
	wanted, err := reference.ParseDockerRef(ref)
	if err != nil {
		return nil, fmt.Errorf("%q is not an image: %w", ref, err)
	}
	top, err := layout.ImageIndexFromPath(s.Dir)
	if err != nil {
		return nil, fmt.Errorf("cannot get image %q: %q is not an OCI image layout: %w", ref, s.Dir, err)
	}
	manifest, err := top.IndexManifest()
	if err != nil {
		return nil, fmt.Errorf("cannot get image %q: %q is not an OCI image layout: %w", ref, s.Dir, err)
	}
	at := slices.IndexFunc(manifest.Manifests, func(d v1.Descriptor) bool { return matches(d, wanted) })
	if at < 0 {
		return nil, fmt.Errorf("cannot get image %q: the OCI image layout %q has none", ref, s.Dir)
	}
	desc := manifest.Manifests[at]
	found, err := read(desc.MediaType.IsIndex(),
		func() (v1.ImageIndex, error) { return top.ImageIndex(desc.Digest) },
		func() (v1.Image, error) { return top.Image(desc.Digest) }, platform)
	if err != nil {
		return nil, fmt.Errorf("cannot get image %q: %w", ref, err)
	}
	return found, nil
}

// Resolve implements Source.
func (s *Layout) Resolve(_ context.Context, ref string) (Resolved, error) {
	_, digest, err := digestIn(ref)
	if err == nil && digest == "" {
		err = errors.New("no registry is queried for its digest")
	}
	return Resolved{Digest: digest}, err
}

// matches reports whether a reference refers to an entry of a layout: by its digest, by its
// complete name, or by a name that is normalized as Docker does.
func matches(d v1.Descriptor, wanted reference.Named) bool {
	if digested, ok := wanted.(reference.Digested); ok {
		return d.Digest.String() == digested.Digest().String()
	}
	for _, name := range []string{d.Annotations[AnnotationName], d.Annotations[AnnotationRef]} {
		if other, err := reference.ParseDockerRef(name); err == nil && other.String() == wanted.String() {
			return true
		}
	}
	return false
}
