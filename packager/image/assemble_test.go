package image_test

import (
	"archive/tar"
	"bytes"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/docker/docker/client"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/image"
)

// build makes a builder, and the images of a plan.
func build(ctx context.Context, cli *client.Client, opts image.Options, plan *packager.Plan, archive fs.FS) error {
	b, err := image.New(cli, opts)
	if err != nil {
		return err
	}
	return b.Build(ctx, plan, archive)
}

// world is a registry with a base for two architectures, and binaries for
// them; there is no engine in it.
type world struct {
	t        *testing.T
	host     string
	binaries string

	mu   sync.Mutex
	said bytes.Buffer
}

// Write gathers what is said.
func (w *world) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.said.Write(p)
}

// newWorld serves a registry; around answers before it does, if it wants.
func newWorld(t *testing.T, around func(http.Handler) http.Handler) *world {
	t.Helper()
	handler := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	w := &world{t: t, host: strings.TrimPrefix(server.URL, "http://"), binaries: t.TempDir()}
	w.push("base", w.base("amd64"), w.base("arm64"))
	for arch, machine := range map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64} {
		for _, name := range []string{"toskose-unit", "toskose-manager"} {
			writeELF(t, filepath.Join(w.binaries, name+"-linux-"+arch), machine, arch)
		}
	}
	if around != nil {
		server.Config.Handler = around(handler)
	}
	return w
}

// base is an image whose user's name is in its first layer only.
func (w *world) base(arch string) v1.Image {
	w.t.Helper()
	img := mutate.MediaType(empty.Image, types.OCIManifestSchema1)
	img, err := mutate.ConfigFile(img, &v1.ConfigFile{
		Architecture: arch, OS: "linux", RootFS: v1.RootFS{Type: "layers"},
		Config: v1.Config{
			User: "app", Env: []string{"KEPT=base"}, Entrypoint: []string{"/its-own"}, Cmd: []string{"its", "own"},
			WorkingDir: "/work", StopSignal: "SIGQUIT", Labels: map[string]string{"kept": "base"},
			Healthcheck: &v1.HealthConfig{Test: []string{"CMD", "/its-own"}, Interval: time.Hour, StartPeriod: time.Hour},
		},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, files := range []map[string]string{{"etc/passwd": "app:x:54321:1::/:\n"}, {"arch": arch}} {
		if img, err = mutate.AppendLayers(img, layerOf(w.t, files)); err != nil {
			w.t.Fatal(err)
		}
	}
	return img
}

func layerOf(t *testing.T, files map[string]string) v1.Layer {
	t.Helper()
	var buf bytes.Buffer
	tw := tar.NewWriter(&buf)
	for name, text := range files {
		if err := tw.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		if _, err := tw.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := tw.Close(); err != nil {
		t.Fatal(err)
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(buf.Bytes())), nil },
		tarball.WithMediaType(types.OCILayer))
	if err != nil {
		t.Fatal(err)
	}
	return layer
}

// push puts an image, or an index of several, into the registry.
func (w *world) push(repository string, images ...v1.Image) {
	w.t.Helper()
	var err error
	if ref := w.ref(repository); len(images) == 1 {
		err = remote.Write(ref, images[0])
	} else {
		index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
		for _, img := range images {
			config, _ := img.ConfigFile()
			index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: img, Descriptor: v1.Descriptor{Platform: config.Platform()}})
		}
		err = remote.WriteIndex(ref, index)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) ref(repository string) name.Tag {
	w.t.Helper()
	ref, err := name.NewTag(w.host + "/" + repository + ":1")
	if err != nil {
		w.t.Fatal(err)
	}
	return ref
}

// plan has one toskosed image, and the manager's.
func (w *world) plan() *packager.Plan {
	b := bench{name: w.host + "/team/app"}
	plan := b.whole()
	plan.Images[0].Base = w.host + "/base:1"
	plan.Images[0].Name, plan.Images[1].Name = w.host+"/team/api:1", w.host+"/team/manager:1"
	for i := range plan.Images {
		plan.Images[i].Labels = map[string]string{packager.LabelApp: "app"}
	}
	return plan
}

func (w *world) build(change func(*image.Options)) error {
	return w.buildPlan(w.plan(), script, change)
}

func (w *world) buildPlan(plan *packager.Plan, archive fs.FS, change func(*image.Options)) error {
	opts := image.Options{
		Version: "1", Binaries: []string{w.binaries}, Progress: w, Temp: w.t.TempDir(),
		Platforms: []string{"linux/amd64"}, Output: image.Registry, Retry: time.Millisecond,
	}
	if change != nil {
		change(&opts)
	}
	err := build(w.t.Context(), nil, opts, plan, archive)
	if left, readErr := os.ReadDir(opts.Temp); readErr != nil || len(left) > 0 {
		w.t.Errorf("temporary files are left: %v, %v", left, readErr)
	}
	return err
}

// get returns an image of the registry for an architecture.
func (w *world) get(repository, arch string) v1.Image {
	w.t.Helper()
	img, err := remote.Image(w.ref(repository), remote.WithPlatform(v1.Platform{OS: "linux", Architecture: arch}))
	if err != nil {
		w.t.Fatal(err)
	}
	return img
}

func TestWithoutAnEngineImagesGoFromARegistryToARegistry(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	if err := w.build(nil); err != nil {
		t.Fatal(err)
	}
	img := w.get("team/api", "amd64")
	if err := validate.Image(img); err != nil {
		t.Error(err)
	}
	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	want := v1.Config{
		User: "app", Env: []string{"KEPT=base", `TRICKY=$HOME "x" \ 100%`}, Entrypoint: []string{packager.UnitPath},
		WorkingDir: "/work", StopSignal: "SIGTERM",
		Labels:      map[string]string{"kept": "base", packager.LabelApp: "app", packager.LabelBaseEntrypoint: `["/its-own"]`, packager.LabelBaseCommand: `["its","own"]`},
		Healthcheck: &v1.HealthConfig{Test: []string{"CMD", packager.UnitPath, "health"}, Interval: 3 * time.Second, Timeout: 5 * time.Second, Retries: 10},
	}
	if diff := cmp.Diff(want, config.Config); diff != "" || config.Architecture != "amd64" || config.OS != "linux" {
		t.Errorf("%s/%s: %s", config.OS, config.Architecture, diff)
	}
	files := filesOf(t, img)
	if h := files["toskose/apps/api/a b.sh"]; h == nil || h.Uid != 54321 || h.Gid != 0 || h.Mode&0o777 != 0o775 || h.ModTime.Year() != 1980 {
		t.Errorf("the script is %+v", h)
	}
	if files["arch"] == nil || files["toskose/unit/toskose-unit"] == nil || files["toskose/unit/base-command"] == nil {
		t.Errorf("the image has %v", files)
	}
	manager, err := w.get("team/manager", "amd64").ConfigFile()
	if err != nil || manager.Config.User != "65532:65532" || !cmp.Equal(manager.Config.Entrypoint, []string{packager.ManagerPath}) {
		t.Errorf("manager %+v, %v", manager, err)
	}
	if strings.Count(w.said.String(), ": pushed as sha256:") != 2 {
		t.Errorf("said %s", &w.said)
	}
}

func filesOf(t *testing.T, img v1.Image) map[string]*tar.Header {
	t.Helper()
	r := mutate.Extract(img)
	defer r.Close()
	files := map[string]*tar.Header{}
	for tr := tar.NewReader(r); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		files[strings.TrimSuffix(h.Name, "/")] = h
	}
}

func TestSeveralPlatformsAreOneIndex(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	err := w.build(func(o *image.Options) { o.Platforms = []string{"linux/amd64", "linux/arm64"} })
	if err != nil {
		t.Fatal(err)
	}
	index, err := remote.Index(w.ref("team/api"))
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(index); err != nil {
		t.Error(err)
	}
	for _, arch := range []string{"amd64", "arm64"} {
		img := w.get("team/api", arch)
		config, err := img.ConfigFile()
		if err != nil || config.Architecture != arch {
			t.Errorf("%s: %+v, %v", arch, config, err)
		}
		unit := contentsOf(t, img, "toskose/unit/toskose-unit")
		if base := contentsOf(t, img, "arch"); base != arch || !strings.HasSuffix(unit, arch) {
			t.Errorf("%s: on the base for %q, with the unit %q", arch, base, unit)
		}
	}
	err = w.build(func(o *image.Options) { o.Platforms = []string{"linux/s390x"} })
	if err == nil || !strings.Contains(err.Error(), "linux/s390x") {
		t.Errorf("for what there is no base: %v", err)
	}
}

func contentsOf(t *testing.T, img v1.Image, name string) string {
	t.Helper()
	r := mutate.Extract(img)
	defer r.Close()
	for tr := tar.NewReader(r); ; {
		h, err := tr.Next()
		if err != nil {
			t.Fatalf("no %s: %v", name, err)
		}
		if h.Name == name {
			data, err := io.ReadAll(tr)
			if err != nil {
				t.Fatal(err)
			}
			return string(data)
		}
	}
}

func TestTheSameInputGivesTheSameDigestWhereverItIsBuilt(t *testing.T) {
	t.Parallel()
	var digests []string
	for range 2 {
		w := newWorld(t, nil)
		dir := filepath.Join(t.TempDir(), "layout")
		if err := w.build(nil); err != nil {
			t.Fatal(err)
		}
		if err := w.build(func(o *image.Options) { o.Output = image.Layout(dir) }); err != nil {
			t.Fatal(err)
		}
		pushed, err := w.get("team/api", "amd64").Digest()
		if err != nil {
			t.Fatal(err)
		}
		digests = append(digests, pushed.String(), layoutOf(t, dir)[w.host+"/team/api:1"].Digest.String())
	}
	if slices.ContainsFunc(digests, func(d string) bool { return d != digests[0] }) {
		t.Errorf("digests %q", digests)
	}
}

// layoutOf reads a layout, which must be whole, by its names.
func layoutOf(t *testing.T, dir string) map[string]v1.Descriptor {
	t.Helper()
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(index); err != nil {
		t.Error(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]v1.Descriptor{}
	for _, d := range manifest.Manifests {
		named[d.Annotations["org.opencontainers.image.ref.name"]] = d
	}
	return named
}

func TestALayoutIsWrittenAndBuiltUpon(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	dir := filepath.Join(t.TempDir(), "deep", "layout")
	both := func(o *image.Options) {
		o.Output, o.Platforms = image.Layout(dir), []string{"linux/amd64", "linux/arm64"}
	}
	if err := w.build(both); err != nil {
		t.Fatal(err)
	}
	first := layoutOf(t, dir)
	if err := w.build(both); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(first, layoutOf(t, dir)); diff != "" || len(first) != 4 {
		t.Errorf("a second time it holds something else: %s", diff)
	}
	plan := w.plan()
	plan.Images = plan.Images[:1]
	plan.Images[0].Base, plan.Images[0].Name = plan.Images[0].Name, w.host+"/team/more:1"
	err := w.buildPlan(plan, script, func(o *image.Options) { o.Bases, o.Output, o.Push = image.Layout(dir), image.Layout(dir), true })
	if err != nil {
		t.Fatal(err)
	}
	if list := layoutOf(t, dir); len(list) != 6 {
		t.Errorf("it holds %v", list)
	}
	if err := validate.Image(w.get("team/more", "amd64")); err != nil {
		t.Errorf("pushed, too: %v", err)
	}
	plan.Images[0].Base = "none:1"
	if err := w.buildPlan(plan, script, func(o *image.Options) { o.Bases = image.Layout(dir) }); err == nil || !strings.Contains(err.Error(), `the OCI image layout "`+dir+`" has none`) {
		t.Errorf("a base that it lacks: %v", err)
	}
}

func TestAnImageIsReadFromReferencesOfAllKinds(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.push("single", w.base("amd64"))
	digest, err := w.get("single", "amd64").Digest()
	if err != nil {
		t.Fatal(err)
	}
	for _, base := range []string{w.host + "/single:1", w.host + "/single@" + digest.String(), w.host + "/single:1@" + digest.String(), "scratch"} {
		plan := w.plan()
		plan.Images[0].Base = base
		if err := w.buildPlan(plan, script, nil); err != nil {
			t.Errorf("%s: %v", base, err)
		}
	}
	plan := w.plan()
	plan.Images[0].Base = w.host + "/single:1"
	err = w.buildPlan(plan, script, func(o *image.Options) { o.Platforms = []string{"linux/arm64"} })
	if err == nil || !strings.Contains(err.Error(), "is for linux/amd64, but images are built for linux/arm64; --platform says for which") {
		t.Errorf("of another platform: %v", err)
	}
}

func TestABaseWithOnbuildIsRefusedWithoutAnEngine(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	img, err := mutate.Config(w.base("amd64"), v1.Config{OnBuild: []string{"RUN make"}})
	if err != nil {
		t.Fatal(err)
	}
	w.push("base", img)
	if err := w.build(nil); err == nil || !strings.Contains(err.Error(), "ONBUILD steps (RUN make)") {
		t.Errorf("%v", err)
	}
}

func TestTheUnitIsTakenFromTheUsersImage(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	img := w.base("amd64")
	for _, files := range []map[string]string{
		{"toskose/unit/toskose-unit": "old"}, {"toskose/unit/.wh.toskose-unit": ""}, {"toskose/unit/toskose-unit": "mine"}, {"etc/more": ""},
	} {
		var err error
		if img, err = mutate.AppendLayers(img, layerOf(t, files)); err != nil {
			t.Fatal(err)
		}
	}
	w.push("unit", img)
	mine := func(o *image.Options) { o.UnitImage = w.host + "/unit:1" }
	if err := w.build(mine); err != nil {
		t.Fatal(err)
	}
	if got := contentsOf(t, w.get("team/api", "amd64"), "toskose/unit/toskose-unit"); got != "mine" {
		t.Errorf("the unit is %q", got)
	}
	img, err := mutate.AppendLayers(img, layerOf(t, map[string]string{"toskose/.wh.unit": ""}))
	if err != nil {
		t.Fatal(err)
	}
	w.push("unit", img)
	if err := w.build(mine); err == nil || !strings.Contains(err.Error(), "has no /toskose/unit/toskose-unit") {
		t.Errorf("where it was removed: %v", err)
	}
}

// locked lets only one user in.
func locked(user, password string) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if u, p, ok := r.BasicAuth(); !ok || u != user || p != password {
				w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}

func TestAPrivateRegistryWantsItsPassword(t *testing.T) {
	t.Parallel()
	w := newWorld(t, locked("team", "secret-word"))
	err := w.build(nil)
	for _, want := range []string{w.host, "401", "docker login " + w.host} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("without a password: %v lacks %q", err, want)
		}
	}
	plan := w.plan()
	plan.Images[0].RegistryPassword = "secret-word"
	if err := w.buildPlan(plan, script, nil); err != nil {
		t.Error(err)
	}
	if strings.Contains(w.said.String(), "secret-word") {
		t.Errorf("the password is said: %s", &w.said)
	}
}

func TestAMissingBaseSaysHowToNameAnother(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	plan := w.plan()
	plan.Images[0].Base = w.host + "/none:1"
	err := w.buildPlan(plan, script, nil)
	for _, want := range []string{w.host + "/none:1", "has none", "nodes.api.docker.base_image"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v lacks %q", err, want)
		}
	}
}

// failing is a file that ends in the middle.
type failing struct{ fs.File }

func (failing) Read([]byte) (int, error) { return 0, errors.New("the archive is damaged here") }

type failingFS struct{ fstest.MapFS }

func (f failingFS) Open(name string) (fs.File, error) {
	file, err := f.MapFS.Open(name)
	return failing{file}, err
}

func TestNothingIsLeftOfALayoutThatFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	parent := t.TempDir()
	err := w.buildPlan(w.plan(), failingFS{script}, func(o *image.Options) { o.Output = image.Layout(filepath.Join(parent, "a", "layout")) })
	if err == nil || !strings.Contains(err.Error(), "the archive is damaged here") || !strings.Contains(err.Error(), "a b.sh") {
		t.Errorf("%v", err)
	}
	if left, err := os.ReadDir(parent); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

func TestContextsAreLeftForOnesOwnPipeline(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	dir := filepath.Join(t.TempDir(), "contexts")
	err := w.build(func(o *image.Options) {
		o.Output, o.Bases, o.Contexts, o.Platforms = image.Place{}, image.Registry, dir, []string{"linux/amd64", "linux/arm64"}
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"api/linux-amd64", "api/linux-arm64", "manager/linux-amd64"} {
		text, err := os.ReadFile(filepath.Join(dir, folder, "Dockerfile"))
		if err != nil || !strings.Contains(string(text), "ADD toskose.tar /\n") || !strings.Contains(string(text), "ADD application.tar /\n") {
			t.Errorf("%s: %s, %v", folder, text, err)
		}
		for _, name := range []string{"toskose.tar", "application.tar"} {
			data, err := os.ReadFile(filepath.Join(dir, folder, name))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := tar.NewReader(bytes.NewReader(data)).Next(); err != nil {
				t.Errorf("%s/%s: %v", folder, name, err)
			}
		}
	}
	again := w.build(func(o *image.Options) { o.Output, o.Bases, o.Contexts = image.Place{}, image.Registry, dir })
	if again == nil || !strings.Contains(again.Error(), "it is not empty") {
		t.Errorf("a second time: %v", again)
	}
	failed := filepath.Join(t.TempDir(), "failed")
	err = w.buildPlan(w.plan(), failingFS{script}, func(o *image.Options) { o.Output, o.Bases, o.Contexts = image.Place{}, image.Registry, failed })
	if left, readErr := os.ReadDir(filepath.Dir(failed)); err == nil || readErr != nil || len(left) > 0 {
		t.Errorf("where it fails: %v; left %v, %v", err, left, readErr)
	}
}

func TestADryRunAsksNobody(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(http.Handler) http.Handler {
		return http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the registry is asked") })
	})
	opts := image.Options{Output: image.Layout("/no/where"), Push: true, Platforms: []string{"linux/arm64"}, Progress: w}
	b, err := image.New(nil, opts)
	if err != nil {
		t.Fatal(err)
	}
	plan := w.plan()
	plan.Services = []packager.Service{{Name: "store", Image: w.host + "/store:1"}, {Name: "api", Image: plan.Images[0].Name}, {Name: "other", Image: "other@sha256:" + strings.Repeat("0", 64)}}
	if err := b.DryRun(plan, script); err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf(`would build %[1]s/team/api:1 on %[1]s/base:1 (from its registry) for linux/arm64: 2 files of the application, 24 bytes
would write %[1]s/team/api:1 to /no/where
would push %[1]s/team/api:1
would name %[1]s/team/api:1 in manifests as %[1]s/team/api:1-????????????: a digest of what is in it, not known before %[1]s/base:1 is there
would build %[1]s/team/manager:1 on scratch for linux/arm64: 1 files of the application, 3 bytes
would write %[1]s/team/manager:1 to /no/where
would push %[1]s/team/manager:1
would name %[1]s/team/manager:1 in manifests as %[1]s/team/manager:1-????????????: a digest of what is in it, not known before its binary is there
would name %[1]s/store:1 in manifests by its digest, if its registry knows one
`, w.host)
	if diff := cmp.Diff(want, w.said.String()); diff != "" {
		t.Error(diff)
	}
}

func TestOptionsThatExcludeEachOtherAreRefused(t *testing.T) {
	t.Parallel()
	tests := map[string]image.Options{
		`--pull "often" is not one of`:            {Pull: "often"},
		`--platform "arm64" is not linux/ARCH`:    {Platforms: []string{"arm64"}},
		`--platform linux/arm64 is given twice`:   {Platforms: []string{"linux/arm64", "linux/arm64"}},
		`an engine holds one platform`:            {Platforms: []string{"linux/amd64", "linux/arm64"}},
		`--contexts builds no images`:             {Contexts: "x", Push: true},
		`--output-images registry already pushes`: {Output: image.Registry, Push: true},
		`--pull is for bases on the engine`:       {Bases: image.Registry, Pull: "never"},
		"":                                        {Output: image.Layout("x"), Push: true, Platforms: []string{"linux/amd64", "linux/arm/v7"}},
	}
	for want, opts := range tests {
		_, err := image.New(nil, opts)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%+v: %v, want %q", opts, err, want)
		}
	}
}

func TestAPlaceIsReadAsItIsWritten(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]image.Place{"engine": image.Engine, "registry": image.Registry, "oci:a/b": image.Layout("a/b")} {
		if got, err := image.ParsePlace(text); err != nil || got != want || got.String() != text {
			t.Errorf("%q is %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "oci", "oci:", "hub", "Engine"} {
		want := fmt.Sprintf("%q is not one of engine, registry, oci:DIR", text)
		if got, err := image.ParsePlace(text); err == nil || err.Error() != want {
			t.Errorf("%q is %v, %v", text, got, err)
		}
	}
}

func basic(user, password string) authn.Authenticator {
	return authn.FromConfig(authn.AuthConfig{Username: user, Password: password})
}

func TestAFullDiskEndsInOneMessage(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root can mount a small disk")
	}
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("a small disk cannot be mounted: %v", err)
	}
	t.Cleanup(func() {
		// Whoever looks into it at this moment keeps it busy.
		deadline := time.Now().Add(time.Minute)
		err := syscall.Unmount(disk, 0)
		for errors.Is(err, syscall.EBUSY) && time.Now().Before(deadline) {
			time.Sleep(10 * time.Millisecond)
			err = syscall.Unmount(disk, 0)
		}
		if err != nil {
			t.Error(err)
		}
	})
	w := newWorld(t, nil)
	text, _ := large()
	archive := fstest.MapFS{"a b.sh": {Data: []byte(text)}}
	tests := map[string]func(*image.Options){
		"temporary files": func(o *image.Options) { o.Temp = disk },
		"a layout":        func(o *image.Options) { o.Output = image.Layout(filepath.Join(disk, "layout")) },
		"contexts": func(o *image.Options) {
			o.Output, o.Bases, o.Contexts = image.Place{}, image.Registry, filepath.Join(disk, "contexts")
		},
	}
	for name, change := range tests {
		err := w.buildPlan(w.plan(), archive, change)
		if !errors.Is(err, syscall.ENOSPC) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
		if left, err := os.ReadDir(disk); err != nil || len(left) > 0 {
			t.Errorf("%s: left %v, %v", name, left, err)
		}
	}
}
