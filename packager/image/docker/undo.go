package docker

import (
	"context"
	"slices"
	"sync"

	"github.com/docker/docker/api/types/image"
)

// changes are the changes of this process on an engine, which can be undone until they are final. The zero value is ready to use.
type changes struct {
	mu sync.Mutex
	recorded
}

// recorded are the changes themselves.
type recorded struct {
	names    []named
	replaced []replaced
	existing map[string]bool // IDs of the images before the first build; nil without a build
	steps    map[string]bool // short IDs that the engine reported in builds
}

// named is a name that was given to an image.
type named struct {
	name, id string
	before   string // ID of the image that had the name; "" if none had it
}

// replaced is an image that lost its name to another one.
type replaced struct{ id, label, value string }

// RemoveReplaced removes the image that previously had a name when Finish is called, so that repeated builds do not fill
// the disk. It keeps an image that is in use, that has another name, or whose label has another
// value.
func (e *Engine) RemoveReplaced(id, label, value string) {
	if id == "" {
		return
	}
	e.changes.mu.Lock()
	defer e.changes.mu.Unlock()
	e.changes.replaced = append(e.changes.replaced, replaced{id, label, value})
}

// Finish makes all changes final: it removes the replaced images.
func (e *Engine) Finish(ctx context.Context) {
	for _, r := range e.take().replaced {
		e.removeReplaced(ctx, r)
	}
}

func (e *Engine) removeReplaced(ctx context.Context, r replaced) {
	old, err := e.Client.ImageInspect(ctx, r.id)
	if err != nil || old.Config == nil || len(old.RepoTags) > 0 || len(old.RepoDigests) > 0 {
		return
	}
	if got, ok := old.Config.Labels[r.label]; !ok || got != r.value {
		return
	}
	if _, err := e.Client.ImageRemove(ctx, r.id, image.RemoveOptions{PruneChildren: true}); err != nil {
		e.Log.Debugf("the replaced image %s stays: %v\n", r.id, err)
	}
}

// Undo gives all names back to their previous images, and removes the images that are left without a name, including the
// images of build steps. ctx may be done.
func (e *Engine) Undo(ctx context.Context) {
	ctx, cancel := WithCleanup(ctx)
	defer cancel()
	taken := e.take()
	for _, n := range slices.Backward(taken.names) {
		var err error
		if n.before != "" {
			err = e.Client.ImageTag(ctx, n.before, n.name)
		} else {
			_, err = e.Client.ImageRemove(ctx, n.name, image.RemoveOptions{})
		}
		if err != nil {
			e.Log.Debugf("the name %s of an unfinished build stays: %v\n", n.name, err)
		}
		e.Discard(ctx, n.id)
	}
	if taken.existing != nil {
		e.removeSteps(ctx, taken)
	}
}

// take returns the recorded changes, and forgets them.
func (e *Engine) take() recorded {
	e.changes.mu.Lock()
	defer e.changes.mu.Unlock()
	taken := e.changes.recorded
	e.changes.recorded = recorded{}
	return taken
}

func (e *Engine) recordName(n named) {
	if n.id == n.before {
		return
	}
	e.changes.mu.Lock()
	defer e.changes.mu.Unlock()
	e.changes.names = append(e.changes.names, n)
}
