// Package sink writes images to an engine, to registries or to an OCI image layout. A goroutine
// that follows a push ends before Put returns.
package sink

import "context"

// Sink is where images go. Nothing is left where Commit was not called, after
// Abort.
type Sink interface {
	// Put writes an image, one for each platform, under a unique name, unless that is empty, and
	// under a name that may have belonged to another image.
	Put(ctx context.Context, name, own string, images []*Image) error
	Commit(ctx context.Context) error
	Abort()
}

// immediate is a sink whose images are there when they are put.
type immediate struct{}

func (immediate) Commit(context.Context) error { return nil }
func (immediate) Abort()                       {}

// Both writes to a sink and then, once that has the complete image, to another.
func Both(first, second Sink) Sink { return both{first, second} }

type both struct{ first, second Sink }

func (s both) Put(ctx context.Context, name, own string, images []*Image) error {
	if err := s.first.Put(ctx, name, own, images); err != nil {
		return err
	}
	return s.second.Put(ctx, name, own, images)
}

func (s both) Commit(ctx context.Context) error {
	if err := s.first.Commit(ctx); err != nil {
		return err
	}
	return s.second.Commit(ctx)
}

func (s both) Abort() { s.first.Abort(); s.second.Abort() }
