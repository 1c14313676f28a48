package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/toskose/toskose/packager/image/layer"
)

// Registry finds images in their registries.
type Registry struct {
	Keychain authn.Keychain
	Backoff  remote.Backoff
}

// Options returns the options of a request.
func (s *Registry) Options(ctx context.Context) []remote.Option {
	return []remote.Option{remote.WithContext(ctx), remote.WithAuthFromKeychain(s.Keychain), remote.WithRetryBackoff(s.Backoff)}
}

// Find implements Source.
func (s *Registry) Find(ctx context.Context, ref string, platform v1.Platform) (*Image, error) {
	r, err := name.ParseReference(ref)
	if err != nil {
		return nil, fmt.Errorf("%q is not an image: %w", ref, err)
	}
	desc, err := remote.Get(r, s.Options(ctx)...)
	if err != nil {
		return nil, fmt.Errorf("cannot get image %q: %w", ref, RegistryError(r, err))
	}
	found, err := read(desc.MediaType.IsIndex(), desc.ImageIndex, desc.Image, platform)
	if err != nil {
		return nil, fmt.Errorf("cannot get image %q: %w", ref, RegistryError(r, err))
	}
	return found, nil
}

// Resolve implements Source.
func (s *Registry) Resolve(ctx context.Context, ref string) (Resolved, error) {
	_, digest, err := digestIn(ref)
	if err != nil || digest != "" {
		return Resolved{Digest: digest}, err
	}
	r, err := name.ParseReference(ref)
	if err != nil {
		return Resolved{}, fmt.Errorf("%q is not an image: %w", ref, err)
	}
	desc, err := remote.Head(r, s.Options(ctx)...)
	if err != nil {
		return Resolved{}, RegistryError(r, err)
	}
	return Resolved{Digest: desc.Digest.String()}, nil
}

// read reads an image up to its configuration. From an index, it reads the platform's image.
func read(isIndex bool, index func() (v1.ImageIndex, error), image func() (v1.Image, error), platform v1.Platform) (*Image, error) {
	if isIndex {
		several, err := index()
		if err != nil {
			return nil, err
		}
		image = func() (v1.Image, error) { return pick(several, platform) }
	}
	img, err := image()
	if err != nil {
		return nil, err
	}
	config, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	media, err := img.MediaType()
	if err != nil {
		return nil, err
	}
	return &Image{
		Config: config, Media: media, Layers: img.Layers,
		File: func(ctx context.Context, name string) (io.Reader, error) {
			layers, err := img.Layers()
			if err != nil {
				return nil, err
			}
			return layer.ReadFile(ctx, layers, name)
		},
	}, nil
}

// pick returns the image of an index for a platform.
func pick(index v1.ImageIndex, platform v1.Platform) (v1.Image, error) {
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, err
	}
	var has []string
	for _, desc := range manifest.Manifests {
		if desc.Platform == nil || !desc.MediaType.IsImage() {
			continue
		}
		if desc.Platform.Satisfies(platform) {
			return index.Image(desc.Digest)
		}
		if desc.Platform.OS != "unknown" { // attestations
			has = append(has, desc.Platform.String())
		}
	}
	return nil, fmt.Errorf("it is for %s, not for %s", strings.Join(has, ", "), platform)
}

// RegistryError explains the most common errors of registries in a sentence.
func RegistryError(ref name.Reference, err error) error {
	var refused *transport.Error
	if !errors.As(err, &refused) {
		return err
	}
	host := ref.Context().RegistryStr()
	switch refused.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		return fmt.Errorf("registry %q refuses: %w; `docker login %s` stores credentials", host, err, host)
	case http.StatusNotFound:
		return fmt.Errorf("registry %q has none: %w", host, err)
	default:
		return fmt.Errorf("registry %q: %w", host, err)
	}
}
