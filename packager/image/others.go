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

// asking is the timeout for querying a registry for a digest.
const asking = 10 * time.Second

// others returns the images of containers that the plan does not build.
func others(plan *packager.Plan) (refs []string) {
	for _, s := range plan.Services {
		built := slices.ContainsFunc(plan.Images, func(i packager.Image) bool { return i.Name == s.Image })
		if !built && !slices.Contains(refs, s.Image) {
			refs = append(refs, s.Image)
		}
	}
	return refs
}

// pinOthers finds the digests of these images in the background. The caller must call wait at the
// end.
func (b *Builder) pinOthers(ctx context.Context, plan *packager.Plan) (wait func()) {
	var all sync.WaitGroup
	for _, ref := range others(plan) {
		all.Go(func() { b.pinOther(ctx, ref) })
	}
	return all.Wait
}

func (b *Builder) pinOther(ctx context.Context, ref string) {
	asked, cancel := context.WithTimeout(ctx, asking)
	defer cancel()
	known, err := b.bases.Known(asked, ref)
	is := about{name: ref, user: known.User}
	if known.Digest != "" && !strings.Contains(ref, "@") {
		is.name = ref + "@" + known.Digest
	}
	b.remember(ref, is)
	if err != nil && ctx.Err() == nil {
		b.warnUnpinned(ref, err.Error())
	}
}

// warnUnpinned warns of an image that may be another one when it runs.
func (b *Builder) warnUnpinned(ref, why string) {
	b.log.Line(event.Event{Image: ref, State: event.Warning}, "warning: its name alone is in the manifests, so what runs may change: %s", why)
}
