package image

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/image/event"
)

// digestTimeout is the timeout for querying a registry for a digest.
const digestTimeout = 10 * time.Second

// unbuiltImages returns the images of containers that the plan does not build.
func unbuiltImages(plan *packager.Plan) (refs []string) {
	for _, s := range plan.Services {
		built := slices.ContainsFunc(plan.Images, func(i packager.Image) bool { return i.Name == s.Image })
		if !built && !slices.Contains(refs, s.Image) {
			refs = append(refs, s.Image)
		}
	}
	return refs
}

// pinUnbuilt finds the digests of these images in the background. The caller must call wait at the
// end.
func (b *Builder) pinUnbuilt(ctx context.Context, plan *packager.Plan) (wait func()) {
	var all sync.WaitGroup
	for _, ref := range unbuiltImages(plan) {
		all.Go(func() { b.pinImage(ctx, ref) })
	}
	return all.Wait
}

func (b *Builder) pinImage(ctx context.Context, ref string) {
	queryCtx, cancel := context.WithTimeout(ctx, digestTimeout)
	defer cancel()
	found, err := b.bases.Resolve(queryCtx, ref)
	info := imageInfo{pinned: ref, user: found.User}
	if found.Digest != "" && !strings.Contains(ref, "@") {
		info.pinned = ref + "@" + found.Digest
	}
	b.setInfo(ref, info)
	if err != nil && ctx.Err() == nil {
		b.warnUnpinned(ref, err.Error())
	}
}

// warnUnpinned warns that manifests name an image by a tag, which may refer to another image later.
func (b *Builder) warnUnpinned(ref, why string) {
	b.log.Line(event.Event{Image: ref, State: event.Warning}, "warning: its name alone is in the manifests, so what runs may change: %s", why)
}
