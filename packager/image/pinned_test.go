package image_test

import (
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	dockerimage "github.com/docker/docker/api/types/image"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/image"
	"github.com/toskose/toskose/packager/internal/engine"
)

// own is the reference of what was built last under a name, by the name of its own.
func (b *bench) own(ref string) name.Reference {
	b.t.Helper()
	own, _ := b.made.Pinned(ref)
	parsed, err := name.ParseReference(own)
	if err != nil {
		b.t.Fatal(err)
	}
	return parsed
}

func digestOf(t *testing.T, img v1.Image) string {
	t.Helper()
	is, err := img.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return is.String()
}

// pinned builds without an engine, and returns the names of the images' own.
func (w *world) pinned(plan *packager.Plan, archive fstest.MapFS, change func(*image.Options)) []string {
	w.t.Helper()
	opts := image.Options{
		Version: "1", Binaries: []string{w.binaries}, Progress: w, Temp: w.t.TempDir(),
		Platforms: []string{"linux/amd64"}, Output: image.Layout(filepath.Join(w.t.TempDir(), "layout")),
	}
	if change != nil {
		change(&opts)
	}
	b, err := image.New(nil, opts)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := b.Build(w.t.Context(), plan, archive); err != nil {
		w.t.Fatal(err)
	}
	var all []string
	for _, i := range plan.Images {
		own, _ := b.Pinned(i.Name)
		all = append(all, own)
	}
	return all
}

func TestAnImagesOwnTagIsOfAllThatItIsMadeOf(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	first := w.pinned(w.plan(), script, nil)
	for i, ref := range []string{"/team/api:1-", "/team/manager:1-"} {
		if tag := strings.TrimPrefix(first[i], w.host+ref); len(tag) != 12 || strings.Trim(tag, "0123456789abcdef") != "" {
			t.Errorf("the name of its own is %q", first[i])
		}
	}
	if again := w.pinned(w.plan(), script, nil); !slices.Equal(again, first) {
		t.Errorf("of the same input it is %q, and was %q", again, first)
	}
	if pushed := w.pinned(w.plan(), script, func(o *image.Options) { o.Output = image.Registry }); !slices.Equal(pushed, first) {
		t.Errorf("in a registry it is %q, and in a layout %q", pushed, first)
	}
	if left := w.pinned(w.plan(), script, func(o *image.Options) {
		o.Output, o.Contexts = image.Engine, filepath.Join(t.TempDir(), "contexts")
		o.Bases = image.Registry
	}); !slices.Equal(left, first) {
		t.Errorf("of a context it is %q, and in a layout %q", left, first)
	}
	platforms := func(all ...string) func(*image.Options) {
		return func(o *image.Options) { o.Platforms = all }
	}
	two := w.pinned(w.plan(), script, platforms("linux/amd64", "linux/arm64"))
	if turned := w.pinned(w.plan(), script, platforms("linux/arm64", "linux/amd64")); !slices.Equal(turned, two) {
		t.Errorf("of the same platforms it is %q and %q", turned, two)
	}
	w.push("other", w.base("amd64"), w.base("arm64"))
	changes := map[string]struct {
		change   func(*packager.Image)
		archive  fstest.MapFS
		platform string
	}{
		"a script":        {nil, fstest.MapFS{"a b.sh": {Data: []byte("#!/bin/sh\nexit\n")}}, ""},
		"a configuration": {func(i *packager.Image) { i.Files[len(i.Files)-1].Data = []byte("[unix_http_server]\n") }, nil, ""},
		"a mode":          {func(i *packager.Image) { i.Files[len(i.Files)-1].Mode = 0o600 }, nil, ""},
		"a variable":      {func(i *packager.Image) { i.Env = map[string]string{"OTHER": "x"} }, nil, ""},
		"a label":         {func(i *packager.Image) { i.Labels = map[string]string{packager.LabelVersion: "2"} }, nil, ""},
		"a health check":  {func(i *packager.Image) { i.Health = []string{"/other"} }, nil, ""},
		"the platform":    {nil, nil, "linux/arm64"},
	}
	seen := map[string]string{first[0]: "nothing", two[0]: "two platforms"}
	for what, c := range changes {
		plan, archive := w.plan(), script
		plan.Images = plan.Images[:1]
		if c.change != nil {
			c.change(&plan.Images[0])
		}
		if c.archive != nil {
			archive = c.archive
		}
		got := w.pinned(plan, archive, func(o *image.Options) {
			if c.platform != "" {
				o.Platforms = []string{c.platform}
			}
		})[0]
		if other, ok := seen[got]; ok {
			t.Errorf("another image by %s has the name of that by %s: %s", what, other, got)
		}
		seen[got] = what
	}
	plan := w.plan()
	plan.Images[0].Base = w.host + "/other:1"
	if got := w.pinned(plan, script, nil); !slices.Equal(got, first) {
		t.Errorf("on the same base by another name it is %q, and was %q", got, first)
	}
}

func TestALongTagLeavesRoomForItsOwn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	plan := w.plan()
	plan.Images = plan.Images[:1]
	tag := strings.Repeat("t", 128)
	plan.Images[0].Name = w.host + "/team/api:" + tag
	got := w.pinned(plan, script, func(o *image.Options) { o.Output = image.Registry })[0]
	if own := strings.TrimPrefix(got, w.host+"/team/api:"); len(own) != 128 || !strings.HasPrefix(own, tag[:115]+"-") {
		t.Errorf("the tag of its own is %q", own)
	}
	ref, err := name.ParseReference(got)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := remote.Head(ref); err != nil {
		t.Errorf("the registry does not have it: %v", err)
	}
}

// standalone adds containers with images that nobody builds to a plan.
func standalone(plan *packager.Plan, refs ...string) *packager.Plan {
	plan.Images = plan.Images[:1]
	for _, ref := range refs {
		plan.Services = append(plan.Services, packager.Service{Name: "store", Image: ref})
	}
	return plan
}

func TestAStandaloneImageIsNamedByTheDigestOfItsRegistry(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	base, err := remote.Head(w.ref("base"))
	if err != nil {
		t.Fatal(err)
	}
	ref, given := w.host+"/base:1", w.host+"/base@"+base.Digest.String()
	plan := standalone(w.plan(), ref, given, w.host+"/none:1")
	opts := image.Options{Version: "1", Binaries: []string{w.binaries}, Output: image.Registry, Platforms: []string{"linux/amd64"}, Progress: w}
	b, err := image.New(nil, opts)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Build(t.Context(), plan, script); err != nil {
		t.Fatal(err)
	}
	for ref, want := range map[string]string{ref: ref + "@" + base.Digest.String(), given: given, w.host + "/none:1": w.host + "/none:1"} {
		if got, _ := b.Pinned(ref); got != want {
			t.Errorf("%s is %s, want %s", ref, got, want)
		}
	}
	said := w.said.String()
	if !strings.Contains(said, w.host+"/none:1: warning: its name alone is in the manifests, so what runs may change: registry ") || strings.Count(said, "warning") != 1 {
		t.Errorf("said %s", said)
	}
}

func TestAStandaloneImageOfTheEngineIsNamedByTheDigestItWasPulledBy(t *testing.T) {
	t.Parallel()
	b, w := newBench(t), newWorld(t, nil)
	base, err := remote.Head(w.ref("base"))
	if err != nil {
		t.Fatal(err)
	}
	pulled, missing := w.host+"/base:1", w.host+"/missing:1"
	w.push("missing", w.base("amd64"), w.base("arm64"))
	engine.Remove(t, b.Client, pulled)
	answer, err := b.ImagePull(t.Context(), pulled, dockerimage.PullOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Close()
	if _, err := io.Copy(io.Discard, answer); err != nil {
		t.Fatal(err)
	}
	asked := 0
	b.through(at("/json", func(rw http.ResponseWriter, r *http.Request, engine http.Handler) {
		if strings.Contains(r.URL.Path, "/distribution/") {
			asked++
		}
		engine.ServeHTTP(rw, r)
	}))
	built := b.name + ":base"
	if err := b.build(standalone(b.plan(), pulled, missing, built), script, nil); err != nil {
		t.Fatal(err)
	}
	for ref, want := range map[string]string{pulled: pulled + "@" + base.Digest.String(), missing: missing + "@" + base.Digest.String(), built: built} {
		if got, _ := b.made.Pinned(ref); got != want {
			t.Errorf("%s is %s, want %s", ref, got, want)
		}
	}
	if _, user := b.made.Pinned(pulled); user != "app" || asked != 1 {
		t.Errorf("it runs as %q; the engine was asked %d times what registries have", user, asked)
	}
	if want := built + ": warning: its name alone is in the manifests, so what runs may change: the engine has one that came from no registry\n"; !strings.Contains(b.said.String(), want) || strings.Count(b.said.String(), "warning") != 1 {
		t.Errorf("said %s", &b.said)
	}
	if err := b.build(standalone(b.plan(), missing), script, func(o *image.Options) { o.Pull = image.PullNever }); err != nil {
		t.Fatal(err)
	}
	if got, _ := b.made.Pinned(missing); got != missing || asked != 1 || !strings.Contains(b.said.String(), "--pull never") {
		t.Errorf("what must not be pulled is %s, %d questions, said %s", got, asked, &b.said)
	}
}

func TestWhatWasBuiltBeforeIsNotBuiltAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if err := b.build(b.plan(), script, nil); err != nil {
		t.Fatal(err)
	}
	b.through(at("/build", func(http.ResponseWriter, *http.Request, http.Handler) { t.Error("the engine is told to build") }))
	if err := b.build(b.plan(), script, nil); err != nil || !strings.Contains(b.said.String(), ":api: unchanged, on ") {
		t.Errorf("%v, said %s", err, &b.said)
	}
}
