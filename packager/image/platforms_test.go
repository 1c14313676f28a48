package image_test

import (
	"archive/tar"
	"bytes"
	"context"
	"debug/elf"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/docker/docker/api/types/container"
	dockerimage "github.com/docker/docker/api/types/image"
	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/image"
	"github.com/toskose/toskose/packager/internal/engine"
)

const arm64 = "linux/arm64"

// TestTheUnitForArm64IsInImagesForArm64 inspects them wherever they may be, for
// this machine may not run them.
func TestTheUnitForArm64IsInImagesForArm64(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	unitForArm64(t, w.binaries)
	plan := w.plan()
	plan.Images = plan.Images[:1]
	both := []string{"linux/amd64", arm64}
	if err := w.buildPlan(plan, script, func(o *image.Options) { o.Platforms = both }); err != nil {
		t.Fatal(err)
	}
	native, err := w.get("team/api", "amd64").ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	t.Run("in a registry", func(t *testing.T) { checkArm64(t, native.Config, w.get("team/api", "arm64")) })
	t.Run("in a layout", func(t *testing.T) { w.inALayout(t, plan, native.Config, both) })
	t.Run("in the engine", func(t *testing.T) {
		b := newBench(t)
		plan := b.plan()
		plan.Images[0].Base, plan.Images[0].Labels = w.host+"/base:1", w.plan().Images[0].Labels
		engine.Remove(t, b.Client, plan.Images[0].Base)
		err := b.build(plan, script, func(o *image.Options) { o.Platforms, o.Binaries = []string{arm64}, []string{w.binaries} })
		if err != nil {
			t.Fatal(err)
		}
		b.checkArm64(native.Config, plan.Images[0].Name)
	})
	t.Run("pulled by the engine", func(t *testing.T) {
		b := newBench(t)
		name := w.ref("team/api").String()
		engine.Remove(t, b.Client, name)
		said, err := b.ImagePull(t.Context(), name, dockerimage.PullOptions{Platform: arm64})
		if err != nil {
			t.Fatal(err)
		}
		defer said.Close()
		if _, err := io.Copy(io.Discard, said); err != nil {
			t.Fatal(err)
		}
		b.checkArm64(native.Config, name)
	})
}

// inALayout writes the image for several platforms to a layout, where it has to
// be what is in the registry.
func (w *world) inALayout(t *testing.T, plan *packager.Plan, want v1.Config, platforms []string) {
	dir := filepath.Join(t.TempDir(), "layout")
	if err := w.buildPlan(plan, script, func(o *image.Options) { o.Platforms, o.Output = platforms, image.Layout(dir) }); err != nil {
		t.Fatal(err)
	}
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	written, err := index.ImageIndex(layoutOf(t, dir)[plan.Images[0].Name].Digest)
	if err != nil {
		t.Fatal(err)
	}
	pushed, err := remote.Index(w.ref("team/api"))
	if err != nil {
		t.Fatal(err)
	}
	checkArm64(t, want, ofArm64(t, written))
	if diff := cmp.Diff(digest(t, pushed), digest(t, written)); diff != "" {
		t.Errorf("not what the registry has: %s", diff)
	}
}

// unitForArm64 puts the unit that `make test-arm64` has built among the
// binaries; without it, a test has to do with what looks like one.
func unitForArm64(t *testing.T, binaries string) {
	t.Helper()
	path := os.Getenv("TOSKOSE_UNIT_ARM64")
	if path == "" {
		return
	}
	data, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(filepath.Join(binaries, "toskose-unit-linux-arm64"), data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func digest(t *testing.T, index v1.ImageIndex) string {
	t.Helper()
	d, err := index.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return d.String()
}

// ofArm64 returns the image of an index for arm64.
func ofArm64(t *testing.T, index v1.ImageIndex) v1.Image {
	t.Helper()
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(manifest.Manifests, func(d v1.Descriptor) bool { return d.Platform != nil && d.Platform.String() == arm64 })
	if i < 0 {
		t.Fatalf("the index has %v", manifest.Manifests)
	}
	img, err := index.Image(manifest.Manifests[i].Digest)
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// checkArm64 compares an image with the settings of the same for amd64.
func checkArm64(t *testing.T, want v1.Config, img v1.Image) {
	t.Helper()
	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, config.Config); diff != "" || config.Architecture != "arm64" || config.OS != "linux" {
		t.Errorf("%s/%s: %s", config.OS, config.Architecture, diff)
	}
	if base := contentsOf(t, img, "arch"); base != "arm64" {
		t.Errorf("it is on the base for %q", base)
	}
	checkUnit(t, []byte(contentsOf(t, img, strings.TrimPrefix(packager.UnitPath, "/"))))
}

// checkArm64 does that with an image of the engine.
func (b *bench) checkArm64(want v1.Config, name string) {
	b.t.Helper()
	found, err := b.ImageInspect(b.t.Context(), name)
	if err != nil {
		b.t.Fatal(err)
	}
	c := found.Config
	got := v1.Config{User: c.User, Env: c.Env, Entrypoint: c.Entrypoint, WorkingDir: c.WorkingDir, StopSignal: c.StopSignal, Labels: c.Labels, Cmd: c.Cmd}
	want.Healthcheck = nil // it is of another type
	if diff := cmp.Diff(want, got); diff != "" || found.Architecture != "arm64" || found.Os != "linux" {
		b.t.Errorf("%s/%s: %s", found.Os, found.Architecture, diff)
	}
	checkUnit(b.t, b.contents(name, packager.UnitPath))
}

// contents reads a file of an image of the engine.
func (b *bench) contents(ref, path string) []byte {
	b.t.Helper()
	made, err := b.ContainerCreate(b.t.Context(), &container.Config{Image: ref}, nil, nil, nil, "")
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() {
		if err := b.ContainerRemove(context.WithoutCancel(b.t.Context()), made.ID, container.RemoveOptions{Force: true, RemoveVolumes: true}); err != nil {
			b.t.Errorf("cannot remove a container: %v", err)
		}
	}()
	r, _, err := b.CopyFromContainer(b.t.Context(), made.ID, path)
	if err != nil {
		b.t.Fatal(err)
	}
	defer r.Close()
	archive := tar.NewReader(r)
	if _, err := archive.Next(); err != nil {
		b.t.Fatal(err)
	}
	data, err := io.ReadAll(archive)
	if err != nil {
		b.t.Fatal(err)
	}
	return data
}

// checkUnit checks that a file is a program for arm64 that needs no other.
func checkUnit(t *testing.T, data []byte) {
	t.Helper()
	program, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		t.Fatalf("the unit is no program: %v", err)
	}
	if program.Machine != elf.EM_AARCH64 || program.Type != elf.ET_EXEC {
		t.Errorf("the unit is a %v for %v", program.Type, program.Machine)
	}
	for _, p := range program.Progs {
		if p.Type == elf.PT_INTERP {
			t.Error("the unit is not static")
		}
	}
	if os.Getenv("TOSKOSE_UNIT_ARM64") != "" && (program.Entry == 0 || len(program.Progs) == 0) {
		t.Error("the unit is not the one that was built")
	}
}
