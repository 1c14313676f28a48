package docker

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/docker/docker/api/types/image"
)

// beginSteps records which images a build is based on, and which exist before the first build.
func (e *Engine) beginSteps(ctx context.Context, bases []string) error {
	e.changes.mu.Lock()
	defer e.changes.mu.Unlock()
	if e.changes.existing == nil {
		if err := e.recordExisting(ctx); err != nil {
			return err
		}
	}
	for _, base := range bases {
		e.changes.steps[shortID(e.ID(ctx, base))] = true
	}
	return nil
}

// recordExisting needs the lock of changes.
func (e *Engine) recordExisting(ctx context.Context) error {
	found, err := e.Client.ImageList(ctx, image.ListOptions{All: true})
	if err != nil {
		return err
	}
	e.changes.existing, e.changes.steps = map[string]bool{}, map[string]bool{}
	for _, i := range found {
		e.changes.existing[i.ID] = true
	}
	return nil
}

// recordStep records the image that a line of a build's output reports: " ---> 0123456789ab".
func (e *Engine) recordStep(line string) {
	id, ok := strings.CutPrefix(strings.TrimSpace(line), "---> ")
	if !ok || strings.Trim(id, "0123456789abcdef") != "" || len(id) < 12 {
		return // such as "---> Using cache"
	}
	e.changes.mu.Lock()
	defer e.changes.mu.Unlock()
	e.changes.steps[id[:12]] = true
}

// After its client has disconnected, an engine completes the step that it is at. removeSteps looks for images until it has
// found none for steadyTime, and in steadyLooks looks: an engine that is slow to list images is also slow to complete a step.
const (
	steadyTime  = 3 * time.Second
	steadyLooks = 15
	pauseOfLook = 200 * time.Millisecond
)

// removeSteps removes the unnamed images that interrupted builds made.
func (e *Engine) removeSteps(ctx context.Context, by recorded) {
	for looks, since := 0, time.Now(); looks < steadyLooks || time.Since(since) < steadyTime; looks++ {
		found, err := e.Client.ImageList(ctx, image.ListOptions{All: true})
		if err != nil {
			e.Log.Debugf("images of unfinished builds stay: %v\n", err)
			return
		}
		for _, id := range by.made(found) {
			looks, since = 0, time.Now()
			if _, err := e.Client.ImageRemove(ctx, id, image.RemoveOptions{}); err != nil {
				e.Log.Debugf("the image %s of a build step is not removed yet: %v\n", id, err)
			}
		}
		select {
		case <-time.After(pauseOfLook):
		case <-ctx.Done():
			return
		}
	}
}

// made returns the images that builds made, each before the image that it is based on: new images without a name that the
// engine reported, and images based on them. It omits images that a remaining image is based on.
func (r recorded) made(found []image.Summary) []string {
	known, children := map[string]bool{}, map[string][]image.Summary{}
	for _, i := range found {
		known[i.ID] = true
		children[i.ParentID] = append(children[i.ParentID], i)
	}
	var made []string
	var add func(i image.Summary, reported bool) (all bool)
	add = func(i image.Summary, reported bool) (all bool) {
		reported, all = reported || r.steps[shortID(i.ID)], true
		for _, child := range children[i.ID] {
			all = add(child, reported) && all
		}
		if !all || !reported || r.existing[i.ID] || hasName(i) {
			return false
		}
		made = append(made, i.ID)
		return true
	}
	for _, i := range found {
		if !known[i.ParentID] {
			add(i, false)
		}
	}
	return made
}

// hasName reports whether an image has a name. Engines before version 25 list "<none>:<none>" for one without.
func hasName(i image.Summary) bool {
	return slices.ContainsFunc(i.RepoTags, func(name string) bool { return name != "<none>:<none>" })
}

// shortID returns the part of an image's ID that the output of a build has.
func shortID(id string) string {
	_, hex, _ := strings.Cut(id, ":")
	return hex[:min(12, len(hex))]
}
