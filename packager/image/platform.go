package image

import (
	"context"
	"fmt"
	"runtime"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/toskose/toskose/packager"
)

// Prefetch queries the engine's platform in the background, so that Build need not wait for it. The
// caller must call stop, which ends the query.
func (b *Builder) Prefetch(ctx context.Context) (stop func()) {
	if len(b.opts.platforms) > 0 || !b.opts.usesEngine() {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = b.engineArchitecture(ctx) // Build reports the error
	}()
	return func() {
		cancel()
		<-ended
	}
}

// engineArchitecture queries the engine's architecture, once.
func (b *Builder) engineArchitecture(ctx context.Context) (string, error) {
	return b.architecture.Get("", func() (string, error) {
		version, err := b.engine.Client.ServerVersion(ctx)
		return version.Arch, err
	})
}

// platforms returns the platforms that images are built for: from the options, else the engine's
// platform, or this machine's if no engine is used.
func (b *Builder) platforms(ctx context.Context, plan *packager.Plan) ([]v1.Platform, error) {
	platforms, err := b.opts.platforms, error(nil)
	uses := b.opts.usesEngine() || slices.ContainsFunc(plan.Images, func(i packager.Image) bool { return i.Dockerfile != "" })
	switch {
	case len(platforms) > 0 && uses:
		_, err = b.engine.Client.Ping(ctx) // which fails at once if the engine is not running
	case len(platforms) == 0:
		architecture := runtime.GOARCH
		if uses {
			architecture, err = b.engineArchitecture(ctx)
		}
		platforms = []v1.Platform{{OS: "linux", Architecture: architecture}}
	}
	if err != nil {
		return nil, unreachable(plan, err)
	}
	return platforms, nil
}

// unreachable describes which images cannot be built without an engine.
func unreachable(plan *packager.Plan, err error) error {
	err = fmt.Errorf("cannot reach the Docker engine: %w", err)
	for _, i := range plan.Images {
		if i.Dockerfile == "" {
			continue
		}
		other := fmt.Sprintf("nodes.%s.docker.base_image in toskose.yml", i.Node)
		if i.Alone() {
			other = "an artifact of type tosker.artifacts.Image"
		}
		return fmt.Errorf("%w; the image of container %q is built from %q in the archive, which takes an engine: "+
			"start one, or build the image elsewhere and name it by %s", err, i.Node, i.Dockerfile, other)
	}
	return err
}
