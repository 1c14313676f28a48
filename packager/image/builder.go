// Package image carries out the images of a plan. It finds their bases on an
// engine, in registries or in an OCI image layout, or has an engine build them
// from a Dockerfile of the archive, puts two layers on each
// (Toskose's own binary, and the application's files), and writes them to any
// of these places. The builder `docker` has the engine do that, from a
// Dockerfile that only adds; the builder `direct` makes the layers itself, the
// same ones, and needs no engine. Its goroutines build at the same time and
// end before Build returns; that of Ask ends when it is stopped.
package image

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/docker/docker/client"
	"github.com/google/go-containerregistry/pkg/authn"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/toskose/toskose/packager"
)

// Builder builds the images of plans.
type Builder struct {
	engine *client.Client
	opts   Options

	bases, local source         // local: without a pull
	keychain     authn.Keychain // with what the plan has
	folder       *temp

	architecture func() (string, error) // the engine's; nil: it was not asked yet

	mu    sync.Mutex       // of opts.Progress, Events, Debug and about
	about map[string]About // the images that were not made for the engine
}

// New makes a builder. The engine stays the caller's; it is asked for nothing
// where the options need none.
func New(engine *client.Client, opts Options) *Builder { return &Builder{engine: engine, opts: opts} }

// atOnce is how many images are made at the same time.
const atOnce = 4

// sink is where images that are made here go. Nothing is left where commit was
// not called, after abort.
type sink interface {
	put(ctx context.Context, name string, images []*made) error
	commit(ctx context.Context) error
	abort()
}

// Build makes, and pushes if asked, all images of a plan; or leaves the
// contexts to build them from.
func (b *Builder) Build(ctx context.Context, plan *packager.Plan, archive fs.FS) (err error) {
	if b.opts, err = b.opts.Complete(); err != nil {
		return err
	}
	b.folder = &temp{in: b.opts.Temp}
	defer b.folder.remove()
	b.open(plan)
	if s, ok := b.bases.(*engineSource); ok {
		defer s.look(ctx, toFind(plan))()
	}
	platforms, err := b.platforms(ctx, plan)
	if err != nil {
		return err
	}
	jobs, err := b.prepare(ctx, plan, archive, platforms)
	if err != nil {
		return err
	}
	switch {
	case b.opts.Contexts != "":
		return b.writeContexts(ctx, jobs, len(platforms))
	case b.opts.Builder == BuilderDocker:
		err = b.dockerAll(ctx, jobs)
	default:
		err = b.directAll(ctx, jobs, len(plan.Images))
	}
	if err != nil || !b.opts.Push || b.opts.Output != PlaceEngine {
		return err
	}
	return b.pushAll(ctx, plan.Images)
}

// open says where bases are.
func (b *Builder) open(plan *packager.Plan) {
	b.keychain = withPasswords(b.opts.Keychain, plan.Images)
	b.local = noSource{}
	switch dir, _ := strings.CutPrefix(b.opts.Bases, prefixOCI); b.opts.Bases {
	case PlaceEngine:
		b.bases, b.local = b.onEngine(b.opts.Pull), b.onEngine(PullNever)
	case PlaceRegistry:
		b.bases = b.registry()
	default:
		b.bases = &layoutSource{dir: dir}
	}
}

// onEngine finds images on the engine.
func (b *Builder) onEngine(policy string) *engineSource {
	past := b.opts.Builder == BuilderDirect && b.opts.Contexts == "" // otherwise the engine goes on with it
	return &engineSource{engine: b.engine, policy: policy, folder: b.folder, past: past, pull: b.pull}
}

// toFind are the bases of a plan that have to be there.
func toFind(plan *packager.Plan) (refs []string) {
	for _, i := range plan.Images {
		if i.Base != "" && i.Base != scratch && i.Dockerfile == "" {
			refs = append(refs, i.Base)
		}
	}
	return refs
}

// noSource has no image.
type noSource struct{}

func (noSource) find(context.Context, string, v1.Platform) (*found, error) {
	return nil, fmt.Errorf("no engine is used")
}

func (b *Builder) registry() *registrySource {
	return &registrySource{keychain: b.keychain, backoff: remote.Backoff{Duration: b.opts.Retry, Factor: 3, Jitter: 0.1, Steps: pushes}}
}

// directAll makes the images here. jobs has those of one image, for each
// platform, one after the other.
func (b *Builder) directAll(ctx context.Context, jobs []*job, images int) error {
	out, err := b.output()
	if err != nil {
		return err
	}
	defer out.abort() // of what was not committed
	shared := b.sharedLayers(ctx, jobs)
	all := slices.Collect(slices.Chunk(jobs, len(jobs)/images))
	alike := func(same []*job) string {
		if b.opts.Output != PlaceEngine {
			return same[0].image.Name // places that know blobs by their digests
		}
		return same[0].base.ref + " " + same[0].shared
	}
	err = inTurns(ctx, all, alike, func(ctx context.Context, same []*job, _ func()) error { return b.direct(ctx, out, same, shared) })
	if err != nil {
		return err
	}
	return out.commit(ctx)
}

// output is where images go that are made here.
func (b *Builder) output() (sink, error) {
	registry := &registrySink{registrySource: b.registry(), transferred: b.transferred, tell: b.tell}
	switch b.opts.Output {
	case PlaceEngine:
		return b.loads(), nil
	case PlaceRegistry:
		return registry, nil
	default:
		dir := strings.TrimPrefix(b.opts.Output, prefixOCI)
		out := &layoutSink{dir: dir, watched: b.watched, tell: b.tell}
		if b.opts.Push {
			return both{out, registry}, out.open()
		}
		return out, out.open()
	}
}

// loads writes to the engine.
func (b *Builder) loads() *engineSink {
	return &engineSink{engine: b.engine, follow: b.followTo, watched: b.watched, debugf: b.debugf}
}

// both writes to a layout and, when that is whole, to registries.
type both struct{ first, second sink }

func (s both) put(ctx context.Context, name string, images []*made) error {
	if err := s.first.put(ctx, name, images); err != nil {
		return err
	}
	return s.second.put(ctx, name, images)
}

func (s both) commit(ctx context.Context) error {
	if err := s.first.commit(ctx); err != nil {
		return err
	}
	return s.second.commit(ctx)
}

func (s both) abort() { s.first.abort(); s.second.abort() }

// sharedLayers makes one layer of each tree that jobs have in common, so that
// it is read and compressed once.
func (b *Builder) sharedLayers(ctx context.Context, jobs []*job) map[string]*treeLayer {
	shared := map[string]*treeLayer{}
	for _, j := range jobs {
		if j.shared != "" && shared[j.shared] == nil {
			shared[j.shared] = b.layer(ctx, j.trees[0])
		}
	}
	return shared
}

// layer makes a layer of a tree. Where it goes compressed, it is read once for
// both of its digests.
func (b *Builder) layer(ctx context.Context, t tree) *treeLayer {
	l := newTreeLayer(ctx, b.folder, t)
	if b.opts.Output != PlaceEngine {
		l.plain = func() (v1.Hash, error) {
			packed, err := l.packed()
			return packed.diffID, err
		}
	}
	return l
}

// direct makes one image, for all platforms.
func (b *Builder) direct(ctx context.Context, out sink, jobs []*job, shared map[string]*treeLayer) error {
	began, name := time.Now(), jobs[0].image.Name
	if jobs[0].image.Alone() && b.opts.Output == PlaceEngine {
		return nil // it is built
	}
	images := make([]*made, len(jobs))
	for i, j := range jobs {
		b.moved(Event{Image: name, State: StatePacking, Total: j.contents()})
		layers := make([]*treeLayer, len(j.trees))
		for k, t := range j.trees {
			if k == 0 && j.shared != "" {
				layers[k] = shared[j.shared]
			} else {
				layers[k] = b.layer(ctx, t)
			}
		}
		var err error
		if images[i], err = assemble(j, layers); err != nil {
			return fmt.Errorf("cannot build image %q: %w", name, err)
		}
	}
	before := ""
	if b.opts.Output == PlaceEngine {
		before = b.idOf(ctx, name)
	}
	if before == images[0].id.String() {
		b.tell(Event{Image: name, State: StateUnchanged, Base: jobs[0].base.ref}, "unchanged, on %s", jobs[0].base.ref)
		return nil
	}
	if err := out.put(ctx, name, images); err != nil {
		return err
	}
	if b.opts.Output != PlaceEngine {
		b.remember(name, aboutAll(images))
	}
	b.sayBuilt(jobs, time.Since(began))
	if before != "" {
		b.removeReplaced(ctx, before, packager.LabelApp, jobs[0].app())
	}
	return nil
}

// sayBuilt says what was built, and by how much it is more than its base.
func (b *Builder) sayBuilt(jobs []*job, took time.Duration) {
	j := jobs[0]
	if j.image.Alone() {
		return // that is said where it was built
	}
	grows, text := j.growth()
	e := Event{Image: j.image.Name, State: StateBuilt, Base: j.base.ref, Seconds: took.Seconds(), Grows: grows}
	for _, j := range jobs {
		e.Platforms = append(e.Platforms, j.platform.String())
	}
	b.tell(e, "built on %s for %s in %.1f s: %s", e.Base, strings.Join(e.Platforms, ", "), e.Seconds, text)
}

func (b *Builder) debugf(format string, args ...any) {
	if b.opts.Debug == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	text := fmt.Sprintf(format, args...)
	fmt.Fprint(b.opts.Debug, text)
	if !strings.HasSuffix(text, "\n") {
		fmt.Fprintln(b.opts.Debug)
	}
}
