package image

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
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

// registrySource finds images in their registries.
type registrySource struct {
	keychain authn.Keychain
	backoff  remote.Backoff
}

func (s *registrySource) options(ctx context.Context) []remote.Option {
	return []remote.Option{remote.WithContext(ctx), remote.WithAuthFromKeychain(s.keychain), remote.WithRetryBackoff(s.backoff)}
}

func (s *registrySource) find(ctx context.Context, ref string, platform v1.Platform) (*found, error) {
	r, err := name.ParseReference(ref)
	if err != nil {
		return nil, fmt.Errorf("%q is no image: %w", ref, err)
	}
	desc, err := remote.Get(r, s.options(ctx)...)
	if err != nil {
		return nil, fmt.Errorf("cannot get image %q: %w", ref, registryError(r, err))
	}
	var img v1.Image
	if desc.MediaType.IsIndex() {
		var index v1.ImageIndex
		if index, err = desc.ImageIndex(); err == nil {
			img, err = pick(index, platform)
		}
	} else {
		img, err = desc.Image()
	}
	if err != nil {
		return nil, fmt.Errorf("cannot get image %q: %w", ref, err)
	}
	f, err := foundImage(img)
	if err != nil {
		return nil, fmt.Errorf("cannot get image %q: %w", ref, registryError(r, err))
	}
	return f, nil
}

// pick gives the image of an index for a platform.
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

// foundImage is an image to build upon, read as far as its configuration.
func foundImage(img v1.Image) (*found, error) {
	config, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	media, err := img.MediaType()
	if err != nil {
		return nil, err
	}
	return &found{
		config: config, media: media, layers: img.Layers,
		file: func(ctx context.Context, name string) (io.Reader, error) {
			layers, err := img.Layers()
			if err != nil {
				return nil, err
			}
			return fileIn(ctx, layers, name)
		},
	}, nil
}

// registryError says in a sentence what registries say most often.
func registryError(ref name.Reference, err error) error {
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

// registrySink pushes images to their registries.
type registrySink struct {
	*registrySource
	transferred func(e Event, quarters *percentage)
	tell        func(e Event, format string, args ...any)
}

// put pushes an image, or an index where it is for several platforms. A
// registry takes the name last, so that it never names half an image.
func (s *registrySink) put(ctx context.Context, name string, images []*made) error {
	ref, err := parseTag(name)
	if err != nil {
		return err
	}
	stop, opts := s.watch(ctx, name)
	defer stop()
	if len(images) == 1 {
		err = remote.Write(ref, images[0], opts...)
	} else {
		err = remote.WriteIndex(ref, indexOf(images), opts...)
	}
	if err != nil {
		return fmt.Errorf("cannot push image %q: %w; its registry and name come from docker.name in toskose.yml", name, registryError(ref, err))
	}
	stop()
	digest, err := digestOf(images)
	if err != nil {
		return err
	}
	s.tell(Event{Image: name, State: StatePushed}, "pushed as %s", digest)
	return nil
}

func (s *registrySink) commit(context.Context) error { return nil }

func (s *registrySink) abort() {}

// watch makes the options of a push that says how far it is.
func (s *registrySink) watch(ctx context.Context, name string) (stop func(), opts []remote.Option) {
	updates, done := make(chan v1.Update, 16), make(chan struct{})
	go func() {
		defer close(done)
		quarters := percentage{}
		for u := range updates { // remote.Write and WriteIndex close it
			s.transferred(Event{Image: name, State: StatePushing, Done: u.Complete, Total: u.Total}, &quarters)
		}
	}()
	return func() { <-done }, append(s.options(ctx), remote.WithProgress(updates))
}

func parseTag(ref string) (name.Tag, error) {
	tag, err := name.NewTag(ref)
	if err != nil {
		return tag, fmt.Errorf("%q is no name to push an image by: %w", ref, err)
	}
	return tag, nil
}

// digestOf is the digest that a name stands for.
func digestOf(images []*made) (v1.Hash, error) {
	if len(images) == 1 {
		return images[0].Digest()
	}
	return partial.Digest(indexOf(images))
}
