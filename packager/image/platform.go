package image

import (
	"context"
	"runtime"
	"sync"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/toskose/toskose/packager"
)

// Ask has the engine say what it is for, where Build will want to know it,
// while the caller does something else: an engine runs other programs before it
// answers. stop has to be called at the end, and ends that.
func (b *Builder) Ask(ctx context.Context) (stop func()) {
	opts, err := b.opts.Complete()
	if err != nil || len(opts.Platforms) > 0 || !opts.usesEngine() {
		return func() {} // Build says what is wrong
	}
	ctx, cancel := context.WithCancel(ctx)
	b.architecture = b.asks(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = b.architecture() // Build gets it
	}()
	return func() {
		cancel()
		<-ended
	}
}

// asks asks the engine once for the architecture that it is for.
func (b *Builder) asks(ctx context.Context) func() (string, error) {
	return sync.OnceValues(func() (string, error) {
		version, err := b.engine.ServerVersion(ctx)
		return version.Arch, err
	})
}

// platforms are those that images are built for: by the options, or the one of
// the engine, or of this machine where none is used.
func (b *Builder) platforms(ctx context.Context, plan *packager.Plan) ([]v1.Platform, error) {
	platforms, err := b.opts.platforms()
	if err != nil {
		return nil, err
	}
	uses := b.opts.usesEngine() || builds(plan)
	switch {
	case len(platforms) > 0 && uses:
		_, err = b.engine.Ping(ctx) // which says at once whether it is there
	case len(platforms) == 0:
		architecture := runtime.GOARCH
		if uses {
			if b.architecture == nil {
				b.architecture = b.asks(ctx)
			}
			architecture, err = b.architecture()
		}
		platforms = []v1.Platform{{OS: "linux", Architecture: architecture}}
	}
	if err != nil {
		return nil, unreachable(plan, err)
	}
	return platforms, nil
}
