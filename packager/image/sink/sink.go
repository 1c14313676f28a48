// Package sink writes images to an engine, to registries or to an OCI image layout. A goroutine
// that follows a push ends before Put returns.
package sink

import "context"

// Sink is a destination of images. Abort removes what was written unless Commit was called.
type Sink interface {
	// Put writes an image, with a variant for each platform. The image gets a pinned name, which no
	// other image has, unless it is empty; and a name that may have belonged to another image.
	Put(ctx context.Context, name, pinned string, images []*Image) error
	Commit(ctx context.Context) error
	Abort()
}

// immediate implements Commit and Abort for sinks whose Put is final.
type immediate struct{}

func (immediate) Commit(context.Context) error { return nil }
func (immediate) Abort()                       {}

// Both returns a sink that writes each image to the first sink and then to the second.
func Both(first, second Sink) Sink { return both{first, second} }

type both struct{ first, second Sink }

func (s both) Put(ctx context.Context, name, pinned string, images []*Image) error {
	if err := s.first.Put(ctx, name, pinned, images); err != nil {
		return err
	}
	return s.second.Put(ctx, name, pinned, images)
}

func (s both) Commit(ctx context.Context) error {
	if err := s.first.Commit(ctx); err != nil {
		return err
	}
	return s.second.Commit(ctx)
}

func (s both) Abort() { s.first.Abort(); s.second.Abort() }
