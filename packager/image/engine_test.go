package image_test

import (
	"archive/tar"
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	dockerbuild "github.com/docker/docker/api/types/build"
	"github.com/docker/docker/client"
	"github.com/google/go-cmp/cmp"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/image"
	"github.com/toskose/toskose/packager/internal/engine"
)

// bench is an engine with a base image and binaries of a version of its own.
type bench struct {
	*client.Client
	t        *testing.T
	name     string
	binaries string
	said     bytes.Buffer
	made     *image.Builder // of the last call of build
}

// labelBench is a label of all images of a bench, including those of build steps.
const labelBench = "io.toskose.bench"

func newBench(t *testing.T) *bench {
	t.Helper()
	name := "packager-test-" + strings.ToLower(strings.ReplaceAll(t.Name(), "/", "-"))
	b := &bench{Client: engine.Connect(t), t: t, name: name, binaries: t.TempDir()}
	mark := labelBench + "=" + name
	engine.RemoveUnnamed(t, b.Client, mark)
	engine.Import(t, b.Client, b.name+":imported", map[string]string{"etc/passwd": "app:x:54321:1000::/:\n", "etc/group": ""},
		"USER app", "ENV KEPT=base", "ENTRYPOINT [\"/its-own\"]", "CMD [\"its\", \"own\"]", `HEALTHCHECK --interval=1h --start-period=1h CMD ["/its-own"]`, "WORKDIR /work",
		"LABEL kept=base "+mark, "EXPOSE 80", "VOLUME /data")
	engine.Build(t, b.Client, b.name+":base", "FROM "+b.name+":imported\nSTOPSIGNAL SIGQUIT\n")
	b.binary("toskose-unit", "one")
	b.binary("toskose-manager", "one")
	for _, ref := range []string{b.name + ":api", b.name + ":manager", "toskose-unit:" + b.name, "toskose-manager:" + b.name} {
		engine.Remove(t, b.Client, ref)
	}
	return b
}

// binary writes what looks like a static binary for the engine.
func (b *bench) binary(name, text string) {
	b.t.Helper()
	version, err := b.ServerVersion(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	machine := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[version.Arch]
	writeELF(b.t, filepath.Join(b.binaries, name+"-linux-"+version.Arch), machine, text)
}

func writeELF(t *testing.T, path string, machine elf.Machine, text string) {
	t.Helper()
	header := elf.Header64{Type: uint16(elf.ET_EXEC), Machine: uint16(machine), Version: 1, Ehsize: 64}
	copy(header.Ident[:], []byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), 1})
	var buf bytes.Buffer
	if err := binary.Write(&buf, binary.LittleEndian, header); err != nil {
		t.Fatal(err)
	}
	buf.WriteString(text)
	if err := os.WriteFile(path, buf.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (b *bench) build(plan *packager.Plan, archive fs.FS, change func(*image.Options)) error {
	b.said.Reset()
	opts := image.Options{Version: b.name, Binaries: []string{b.binaries}, Progress: &b.said, Temp: b.t.TempDir()}
	if change != nil {
		change(&opts)
	}
	var err error
	if b.made, err = image.New(b.Client, opts); err != nil {
		return err
	}
	return b.made.Build(b.t.Context(), plan, archive)
}

// plan has one toskosed image.
func (b *bench) plan() *packager.Plan {
	p := b.whole()
	p.Images = p.Images[:1]
	return p
}

// whole has the manager's image, too.
func (b *bench) whole() *packager.Plan {
	owned := func(path string, mode uint32, source string) packager.File {
		return packager.File{Path: path, Mode: mode, Owned: true, Source: source, Dir: source == ""}
	}
	labels := map[string]string{packager.LabelApp: b.name}
	return &packager.Plan{App: b.name, Images: []packager.Image{
		{
			Name: b.name + ":api", Node: "api", Base: b.name + ":base", Unit: true,
			Env: map[string]string{"TRICKY": `$HOME "x" \ 100%`}, Labels: labels,
			Entry: []string{packager.UnitPath}, Health: []string{packager.UnitPath, "health"},
			Files: []packager.File{
				owned("/toskose/apps", 0o775, ""), owned("/toskose/apps/api", 0o775, ""),
				owned("/toskose/apps/api/a b.sh", 0o775, "a b.sh"),
				owned("/toskose/state", 0o775, ""), owned("/toskose/state/journal", 0o775, ""),
				{Path: packager.UnitConfPath, Mode: 0o644, Data: []byte("[supervisord]\n")},
			},
		},
		{
			Name: b.name + ":manager", Labels: labels, Health: []string{packager.ManagerPath, "health"},
			Files: []packager.File{{Path: packager.ManagerFolder + "/app.json", Mode: 0o644, Data: []byte("{}\n")}},
		},
	}}
}

var script = fstest.MapFS{"a b.sh": {Data: []byte("#!/bin/sh\n")}}

func TestImagesAreTheBaseWithTheUnitAndTheFiles(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if err := b.build(b.whole(), script, nil); err != nil {
		t.Fatal(err)
	}
	b.checkConfig()
	b.checkFiles()
	manager, err := b.ImageInspect(t.Context(), b.name+":manager")
	if err != nil || manager.Config.User != "65532:65532" || !cmp.Equal(manager.Config.Entrypoint, []string{packager.ManagerPath}) {
		t.Errorf("manager %+v, %v", manager.Config, err)
	}
	api, err := b.ImageInspect(t.Context(), b.name+":api")
	if err != nil {
		t.Fatal(err)
	}
	pinned, _ := b.made.Pinned(b.name + ":api")
	if found, err := b.ImageInspect(t.Context(), pinned); err != nil || found.ID != api.ID {
		t.Errorf("the pinned name %q refers to %q, %v", pinned, found.ID, err)
	}
	for _, word := range []string{"of Toskose", "of the application"} {
		if !strings.Contains(b.said.String(), word) {
			t.Errorf("the growth of the image is not reported: %s", &b.said)
		}
	}
}

func (b *bench) checkConfig() {
	b.t.Helper()
	found, err := b.ImageInspect(b.t.Context(), b.name+":api")
	if err != nil {
		b.t.Fatal(err)
	}
	c := found.Config
	if !cmp.Equal(c.Entrypoint, []string{packager.UnitPath}) || len(c.Cmd) != 0 || c.StopSignal != "SIGTERM" || c.User != "app" || c.WorkingDir != "/work" {
		b.t.Errorf("entry %q, command %q, signal %q, user %q, folder %q", c.Entrypoint, c.Cmd, c.StopSignal, c.User, c.WorkingDir)
	}
	if !slices.Contains(c.Env, "KEPT=base") || !slices.Contains(c.Env, `TRICKY=$HOME "x" \ 100%`) {
		b.t.Errorf("environment %q", c.Env)
	}
	if c.Healthcheck == nil || !cmp.Equal(c.Healthcheck.Test, []string{"CMD", packager.UnitPath, "health"}) || c.Healthcheck.Interval != 3*time.Second || c.Healthcheck.StartPeriod > time.Millisecond {
		b.t.Errorf("health check %+v", c.Healthcheck)
	}
	want := map[string]string{
		"kept": "base", labelBench: b.name, packager.LabelApp: b.name,
		packager.LabelBaseEntrypoint: `["/its-own"]`, packager.LabelBaseCommand: `["its","own"]`,
	}
	if diff := cmp.Diff(want, c.Labels); diff != "" {
		b.t.Errorf("labels: %s", diff)
	}
	if len(c.ExposedPorts) != 1 || len(c.Volumes) != 1 {
		b.t.Errorf("ports %v, volumes %v", c.ExposedPorts, c.Volumes)
	}
}

func (b *bench) checkFiles() {
	b.t.Helper()
	var list []string
	files := engine.Files(b.t, b.Client, b.name+":api")
	for _, name := range []string{
		"etc/", "toskose/", "toskose/unit/", "toskose/unit/toskose-unit", "toskose/unit/supervisord.conf", "toskose/unit/base-command",
		"toskose/apps/", "toskose/apps/api/a b.sh", "toskose/state/", "toskose/state/journal/",
	} {
		h := files[name]
		if h == nil {
			b.t.Errorf("no %s", name)
			continue
		}
		list = append(list, fmt.Sprintf("%s %o %d:%d", name, h.Mode&0o777, h.Uid, h.Gid))
	}
	want := []string{
		"etc/ 755 0:0", "toskose/ 755 0:0", "toskose/unit/ 755 0:0", "toskose/unit/toskose-unit 755 0:0", "toskose/unit/supervisord.conf 644 0:0",
		"toskose/unit/base-command 755 0:0",
		"toskose/apps/ 775 54321:0", "toskose/apps/api/a b.sh 775 54321:0", "toskose/state/ 775 54321:0", "toskose/state/journal/ 775 54321:0",
	}
	if diff := cmp.Diff(want, list); diff != "" {
		b.t.Error(diff)
	}
	if at := files["toskose/apps/api/a b.sh"]; at != nil && at.ModTime.Year() != 1980 {
		b.t.Errorf("the script is of %v", at.ModTime)
	}
}

// TestABuildFromAContextHasTheSameLayers builds a written context by the engine.
func TestABuildFromAContextHasTheSameLayers(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	dir := filepath.Join(t.TempDir(), "contexts")
	if err := b.build(b.plan(), script, func(o *image.Options) { o.Contexts = dir }); err != nil {
		t.Fatal(err)
	}
	pinned, _ := b.made.Pinned(b.name + ":api")
	var buildContext bytes.Buffer
	tw := tar.NewWriter(&buildContext)
	if err := errors.Join(tw.AddFS(os.DirFS(filepath.Join(dir, "api"))), tw.Close()); err != nil {
		t.Fatal(err)
	}
	built := b.name + ":by-engine"
	engine.Remove(t, b.Client, built)
	answer, err := b.ImageBuild(t.Context(), &buildContext, dockerbuild.ImageBuildOptions{Tags: []string{built}, Remove: true, ForceRemove: true})
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		t.Fatal(err)
	}
	if err := b.build(b.plan(), script, nil); err != nil {
		t.Fatal(err)
	}
	var layers [][]string
	for _, ref := range []string{built, b.name + ":api"} {
		found, err := b.ImageInspect(t.Context(), ref)
		if err != nil {
			t.Fatal(err)
		}
		layers = append(layers, found.RootFS.Layers)
	}
	if diff := cmp.Diff(layers[0], layers[1]); diff != "" {
		t.Errorf("layers of the engine's build and of toskose (-engine +toskose):\n%s", diff)
	}
	if again, _ := b.made.Pinned(b.name + ":api"); again != pinned {
		t.Errorf("the pinned name is %q, and of the context %q", again, pinned)
	}
}

func TestBuildingAgainReplacesOnlyWhatChanged(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := func(tag string) string {
		t.Helper()
		found, err := b.ImageInspect(t.Context(), b.name+tag)
		if err != nil {
			t.Fatal(err)
		}
		return found.ID
	}
	if err := b.build(b.plan(), script, nil); err != nil {
		t.Fatal(err)
	}
	api := id(":api")
	if err := b.build(b.plan(), script, nil); err != nil {
		t.Fatal(err)
	}
	if id(":api") != api || !strings.Contains(b.said.String(), b.name+":api: unchanged") {
		t.Errorf("the same input built another image: %s", &b.said)
	}
	first, _ := b.made.Pinned(b.name + ":api")
	if err := b.build(b.plan(), fstest.MapFS{"a b.sh": {Data: []byte("#!/bin/sh\nexit 1\n")}}, nil); err != nil {
		t.Fatal(err)
	}
	if id(":api") == api {
		t.Error("another script is not in the image")
	}
	if found, err := b.ImageInspect(t.Context(), first); err != nil || found.ID != api {
		t.Errorf("the image before is %q by the name of its own, %v", found.ID, err)
	}
	if own, _ := b.made.Pinned(b.name + ":api"); own == first {
		t.Errorf("another script is in an image of the same name %q", own)
	}
	if err := b.build(b.plan(), script, nil); err != nil {
		t.Fatal(err)
	}
	if again, _ := b.made.Pinned(b.name + ":api"); id(":api") != api || again != first || !strings.Contains(b.said.String(), ":api: as it was built before, on ") {
		t.Errorf("what was built before is %q by the name of its own, %q, and was built again: %s", again, first, &b.said)
	}
	unit, err := b.ImageInspect(t.Context(), "toskose-unit:"+b.name)
	if err != nil {
		t.Fatalf("the engine has no image of this version's unit: %v", err)
	}
	b.binary("toskose-unit", "two")
	if err := b.build(b.plan(), fstest.MapFS{"a b.sh": {Data: []byte("#!/bin/sh\nexit 1\n")}}, nil); err != nil {
		t.Fatal(err)
	}
	if id(":api") == api || !strings.Contains(b.said.String(), b.name+":api: built on") {
		t.Errorf("another binary of the same version is not in the image: %s", &b.said)
	}
	if _, err := b.ImageInspect(t.Context(), unit.ID); !client.IsErrNotFound(err) || !strings.Contains(b.said.String(), "toskose-unit:"+b.name+": built from") { //nolint:staticcheck // as above
		t.Errorf("the unit's image of the binary before is still there: %v\n%s", err, &b.said)
	}
}

func TestABaseIsRefusedWithTheReason(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	engine.Import(t, b.Client, b.name+":onbuild", map[string]string{"a": ""}, "ONBUILD RUN make")
	engine.Import(t, b.Client, b.name+":nobody", map[string]string{"a": ""}, "USER nobody")
	tests := map[string][]string{
		b.name + ":onbuild":              {"ONBUILD", "RUN make", "build an image on it first"},
		"127.0.0.1:1/packager-test:none": {"the engine has none", "docker pull", "nodes.api.docker.base_image"},
		b.name + ":nobody":               {"its user is \"nobody\"", "/etc/passwd"},
		"UPPER":                          {"is not an image"},
	}
	for base, wants := range tests {
		plan := b.plan()
		plan.Images[0].Base = base
		err := b.build(plan, script, nil)
		for _, want := range wants {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %v lacks %q", base, err, want)
			}
		}
	}
	if _, err := b.ImageInspect(t.Context(), b.name+":api"); err == nil {
		t.Error("an image was built")
	}
}

func TestWithoutABinaryItSaysWhereItLookedAndHowToGetOne(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	empty := t.TempDir()
	writeELF(t, filepath.Join(empty, "toskose-unit"), elf.EM_68K, "")
	err := b.build(b.plan(), script, func(o *image.Options) { o.Binaries = []string{empty} })
	for _, want := range []string{filepath.Join(empty, "toskose-unit-linux-"), "toskose-unit (for EM_68K)", "--unit-image", "toskose-unit:" + b.name, "the engine has none", "release archive", "`make install ARCHS="} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v lacks %q", err, want)
		}
	}
}

func TestTheUsersUnitImageIsTaken(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	engine.Import(t, b.Client, b.name+":unit", map[string]string{"toskose/unit/toskose-unit": "mine"})
	err := b.build(b.plan(), script, func(o *image.Options) { o.UnitImage = b.name + ":unit" })
	if err != nil {
		t.Fatal(err)
	}
	if h := engine.Files(t, b.Client, b.name+":api")["toskose/unit/toskose-unit"]; h == nil || h.Size != 4 {
		t.Errorf("the unit is %+v", h)
	}
}

func TestAMissingFileEndsTheBuild(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if err := b.build(b.plan(), fstest.MapFS{}, nil); err == nil || !strings.Contains(err.Error(), "a b.sh") {
		t.Errorf("error %v", err)
	}
}

func TestAScriptWhoseInterpreterTheBaseLacksIsWarnedOf(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	base := b.name + ":tools"
	engine.Import(t, b.Client, base, map[string]string{"bin/bash": "", "usr/bin/env": "", "opt/tools/node": ""},
		"ENV PATH=/bin:/opt/tools", "LABEL "+labelBench+"="+b.name)
	plan := b.plan()
	plan.Images[0].Base = base
	archive := fstest.MapFS{"a b.sh": {Data: []byte("#!/bin/bash\n")}}
	plan.Images[0].Scripts = []string{"a b.sh"}
	for name, text := range map[string]string{
		"node": "#!/usr/bin/env node\n", "perl": "#!/usr/bin/env -S perl -w\n", "bare": "echo\n", "zsh": "#!/bin/zsh\n", "tool": "\x7fELF",
	} {
		archive[name] = &fstest.MapFile{Data: []byte(text)}
		plan.Images[0].Scripts = append(plan.Images[0].Scripts, name)
	}
	slices.Sort(plan.Images[0].Scripts)
	if err := b.build(plan, archive, nil); err != nil {
		t.Fatal(err)
	}
	var warnings []string
	for line := range strings.Lines(b.said.String()) {
		if _, warning, is := strings.Cut(line, ": warning: "); is {
			warnings = append(warnings, strings.TrimSpace(warning))
		}
	}
	lacks := fmt.Sprintf(", which base image %q does not have", base)
	if diff := cmp.Diff([]string{
		`script "bare" is run by /bin/sh` + lacks, `script "perl" is run by perl` + lacks, `script "zsh" is run by /bin/zsh` + lacks,
	}, warnings); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
