package sink

import (
	"context"
	"fmt"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/toskose/toskose/packager/image/event"
	"github.com/toskose/toskose/packager/image/source"
)

// Registry pushes images to their registries.
type Registry struct {
	immediate
	Registry *source.Registry
	Log      *event.Log
}

// Put pushes an image, or an index for several platforms. It pushes the tag last, so that the tag
// never refers to an incomplete image.
func (s *Registry) Put(ctx context.Context, name, pinned string, images []*Image) error {
	first, err := parseTag(pinned)
	if err != nil {
		return err
	}
	ref, err := parseTag(name)
	if err != nil {
		return err
	}
	stop, opts := s.watch(ctx, name)
	defer stop()
	if len(images) == 1 {
		err = remote.Write(first, images[0], opts...)
	} else {
		err = remote.WriteIndex(first, indexOf(images), opts...)
	}
	if err == nil {
		err = remote.Tag(ref, manifestOf(images), s.Registry.Options(ctx)...)
	}
	if err != nil {
		return fmt.Errorf("cannot push image %q: %w; its registry and name come from docker.name in toskose.yml", name, source.RegistryError(ref, err))
	}
	stop()
	digest, err := manifestOf(images).Digest()
	if err != nil {
		return err
	}
	s.Log.Line(event.Event{Image: name, State: event.Pushed}, "pushed as %s", digest)
	return nil
}

// watch returns the options of a push that reports its progress.
func (s *Registry) watch(ctx context.Context, name string) (stop func(), opts []remote.Option) {
	updates, done := make(chan v1.Update, 16), make(chan struct{})
	go func() {
		defer close(done)
		quarters := event.Quarters{}
		for u := range updates { // remote.Write and WriteIndex close it
			s.Log.Transferred(event.Event{Image: name, State: event.Pushing, Done: u.Complete, Total: u.Total}, &quarters)
		}
	}()
	return func() { <-done }, append(s.Registry.Options(ctx), remote.WithProgress(updates))
}

func parseTag(ref string) (name.Tag, error) {
	tag, err := name.NewTag(ref)
	if err != nil {
		return tag, fmt.Errorf("%q is not a name to push an image by: %w", ref, err)
	}
	return tag, nil
}
