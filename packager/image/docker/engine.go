// Package docker pulls, builds, loads, tags, pushes and removes images with a Docker engine. A
// goroutine that writes to the engine ends before the call returns.
package docker

import (
	"context"
	"fmt"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/client"
	"github.com/google/go-containerregistry/pkg/authn"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/toskose/toskose/packager/image/event"
)

// Engine is a Docker engine.
type Engine struct {
	Client   *client.Client
	Keychain authn.Keychain // for registries
	Log      *event.Log
	Retry    time.Duration // delay before a push is retried, tripled each time

	// Platforms makes pulls and builds name a platform; otherwise the engine uses its own.
	Platforms bool

	changes changes
}

func (e *Engine) platform(p v1.Platform) string {
	if e.Platforms {
		return p.String()
	}
	return ""
}

// cleanupTimeout is how long the engine may take after an interruption to answer and to remove
// partial results.
const cleanupTimeout = time.Minute

// WithCleanup returns a context for requests that the engine completes even if the client
// disconnects. It ends a minute after ctx.
func WithCleanup(ctx context.Context) (context.Context, context.CancelFunc) {
	last, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(cleanupTimeout, cancel) })
	return last, func() { stop(); cancel() }
}

// ID returns the id of an image, or "" if the engine does not have it.
func (e *Engine) ID(ctx context.Context, ref string) string {
	found, err := e.Client.ImageInspect(ctx, ref)
	if err != nil {
		return ""
	}
	return found.ID
}

// Tag adds a name to an image unless ctx is done. Undo takes it back.
func (e *Engine) Tag(ctx context.Context, id, name string) error {
	last, cancel := WithCleanup(ctx)
	defer cancel()
	err := ctx.Err()
	before := ""
	if err == nil {
		before = e.ID(last, name)
		err = e.Client.ImageTag(last, id, name)
	}
	if err != nil {
		return fmt.Errorf("cannot name image %q: %w", name, err)
	}
	e.recordName(named{name: name, id: e.ID(last, name), before: before})
	return nil
}

// Discard removes an image unless it has a name.
func (e *Engine) Discard(ctx context.Context, id string) {
	ctx, cancel := WithCleanup(ctx)
	defer cancel()
	found, err := e.Client.ImageInspect(ctx, id)
	if err == nil && len(found.RepoTags) == 0 {
		_, err = e.Client.ImageRemove(ctx, id, image.RemoveOptions{PruneChildren: true})
	}
	if err != nil && !errdefs.IsNotFound(err) {
		e.Log.Debugf("the unfinished image %s stays: %v\n", id, err)
	}
}
