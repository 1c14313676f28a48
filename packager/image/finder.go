package image

import (
	"context"
	"sync"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// finder finds what images are made from, each thing once however many images
// ask for it at the same time.
type finder struct {
	b *Builder

	mu    sync.Mutex
	bases map[string]func() (base, error)
	owns  map[string]func() (tree, error)

	parents map[string]func() (struct{}, error)
}

func newFinder(b *Builder) *finder {
	return &finder{b: b, bases: map[string]func() (base, error){}, owns: map[string]func() (tree, error){}, parents: map[string]func() (struct{}, error){}}
}

// base finds a base; node is who asks for it first.
func (f *finder) base(ctx context.Context, ref, node string, platform v1.Platform) (base, error) {
	return once(&f.mu, f.bases, platform.String()+" "+ref, func() (base, error) { return f.b.findBase(ctx, ref, node, platform) })
}

// own finds a binary of Toskose's own.
func (f *finder) own(ctx context.Context, o ownBinary, given string, platform v1.Platform) (tree, error) {
	return once(&f.mu, f.owns, platform.String()+" "+o.name, func() (tree, error) { return f.b.own(ctx, o, given, platform) })
}

func once[T any](mu *sync.Mutex, all map[string]func() (T, error), key string, make func() (T, error)) (T, error) {
	mu.Lock()
	get, ok := all[key]
	if !ok {
		get = sync.OnceValues(make)
		all[key] = get
	}
	mu.Unlock()
	return get()
}
