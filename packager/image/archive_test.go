package image_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/docker/docker/client"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/image"
	"github.com/toskose/toskose/packager/internal/engine"
)

// given is a plan with a toskosed image whose base is built from the archive,
// and a standalone one that is; and the archive.
func (b *bench) given() (*packager.Plan, fstest.MapFS) {
	plan := b.plan()
	plan.Images[0].Base, plan.Images[0].Dockerfile = b.name+":api-base", "api/Dockerfile"
	plan.Images = append(plan.Images, packager.Image{
		Name: b.name + ":alone", Node: "alone", Base: b.name + ":alone", Dockerfile: "alone/Dockerfile.prod",
		Labels: map[string]string{packager.LabelApp: b.name},
	})
	for _, tag := range []string{":api-base", ":alone"} {
		engine.Remove(b.t, b.Client, b.name+tag)
	}
	text := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }
	return plan, fstest.MapFS{
		"a b.sh":                text("#!/bin/sh\n"),
		"api/Dockerfile":        text("FROM " + b.name + ":base\nCOPY . /srv\nUSER 4711\nCMD [\"mine\"]\n"),
		"api/.dockerignore":     text("secret\n"),
		"api/page":              text("one"),
		"api/secret":            text("not in the image"),
		"alone/Dockerfile.prod": text("ARG FROM=" + b.name + "\nFROM ${FROM}:base\nCOPY page /srv/page\n"),
		"alone/page":            text("alone"),
	}
}

func (b *bench) id(tag string) string {
	b.t.Helper()
	found, err := b.ImageInspect(b.t.Context(), b.name+tag)
	if err != nil {
		b.t.Fatal(err)
	}
	return found.ID
}

func TestDockerfilesOfTheArchiveAreBuiltFirst(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	plan, archive := b.given()
	if err := b.build(plan, archive, nil); err != nil {
		t.Fatal(err)
	}
	files := engine.Files(t, b.Client, b.name+":api")
	for name, uid := range map[string]int{"srv/page": 0, "toskose/unit/toskose-unit": 0, "toskose/apps/api/a b.sh": 4711} {
		if h := files[name]; h == nil || h.Uid != uid {
			t.Errorf("in the toskosed image, %s is %+v", name, h)
		}
	}
	if files["srv/secret"] != nil {
		t.Error("what .dockerignore names is in the image")
	}
	api, err := b.ImageInspect(t.Context(), b.name+":api")
	if err != nil || api.Config.Labels[packager.LabelBaseCommand] != `["mine"]` || api.Config.StopSignal != "SIGTERM" {
		t.Errorf("the toskosed image: %+v, %v", api.Config, err)
	}
	alone, err := b.ImageInspect(t.Context(), b.name+":alone")
	if err != nil || !slices.Equal(alone.Config.Entrypoint, []string{"/its-own"}) || alone.Config.StopSignal != "SIGQUIT" || alone.Config.Labels[packager.LabelApp] != b.name {
		t.Errorf("the standalone image: %+v, %v", alone.Config, err)
	}
	if files := engine.Files(t, b.Client, b.name+":alone"); files["srv/page"] == nil || files["toskose/"] != nil {
		t.Errorf("the standalone image has %v", files)
	}
	before := []string{b.id(":api"), b.id(":api-base"), b.id(":alone")}
	if err := b.build(plan, archive, nil); err != nil {
		t.Fatal(err)
	}
	if after := []string{b.id(":api"), b.id(":api-base"), b.id(":alone")}; !slices.Equal(before, after) || strings.Count(b.said.String(), ": unchanged") != 3 {
		t.Errorf("the same input: %v, then %v\n%s", before, after, &b.said)
	}
	var owns []string
	for _, name := range []string{":api", ":alone"} {
		own, _ := b.made.Pinned(b.name + name)
		owns = append(owns, own)
	}
	archive["api/page"], archive["alone/page"] = &fstest.MapFile{Data: []byte("two")}, &fstest.MapFile{Data: []byte("other")}
	if err := b.build(plan, archive, nil); err != nil {
		t.Fatal(err)
	}
	for name, id := range map[string]string{owns[0]: before[0], owns[1]: before[2]} {
		if found, err := b.ImageInspect(t.Context(), name); err != nil || found.ID != id {
			t.Errorf("%s was %s, and is %q, %v\n%s", name, id, found.ID, err, &b.said)
		}
	}
	for i, name := range []string{":api", ":alone"} {
		if own, _ := b.made.Pinned(b.name + name); own == owns[i] || b.id(strings.TrimPrefix(own, b.name)) != b.id(name) {
			t.Errorf("from another Dockerfile, %s has %s as the name of its own, which was %s", name, own, owns[i])
		}
	}
}

func TestImagesOfDockerfilesGoToARegistryToo(t *testing.T) {
	t.Parallel()
	b, w := newBench(t), newWorld(t, nil)
	plan, archive := b.given()
	plan.Images[0].Name, plan.Images[1].Name = w.host+"/team/api:1", w.host+"/team/alone:1"
	plan.Images[1].Base = plan.Images[1].Name
	engine.Remove(t, b.Client, plan.Images[1].Name)
	if err := b.build(plan, archive, func(o *image.Options) { o.Output = image.Registry }); err != nil {
		t.Fatal(err)
	}
	version, err := b.ServerVersion(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	api, alone := w.get("team/api", version.Arch), w.get("team/alone", version.Arch)
	if contentsOf(t, api, "srv/page") != "one" || filesOf(t, api)["toskose/unit/toskose-unit"] == nil {
		t.Errorf("the toskosed image has %v", filesOf(t, api))
	}
	config, err := alone.ConfigFile()
	if err != nil || config.Config.StopSignal != "SIGQUIT" || contentsOf(t, alone, "srv/page") != "alone" || filesOf(t, alone)["toskose/"] != nil {
		t.Errorf("the standalone image: %+v, %v", config, err)
	}
}

func TestADockerfileThatCannotBeBuiltSaysWhy(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for dockerfile, wants := range map[string][]string{
		"FROM 127.0.0.1:1/packager-test:none\n":                 {`cannot get image "127.0.0.1:1/packager-test:none": the engine has none`},
		"FROM " + b.name + ":base\nCOPY none /\n":               {"none", "\nits last output:\n", "Step 2/"},
		"FROM " + b.name + ":base\nLABEL a=b\nNONSENSE\n":       {"NONSENSE"},
		"FROM " + b.name + ":base\nONBUILD COPY none /\nUSER 0": {"has ONBUILD steps (COPY none /)"},
	} {
		plan, archive := b.given()
		archive["api/Dockerfile"] = &fstest.MapFile{Data: []byte(dockerfile)}
		plan.Images = plan.Images[:1]
		err := b.build(plan, archive, func(o *image.Options) { o.Pull = image.PullNever })
		for _, want := range wants {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%q: error %v lacks %q", dockerfile, err, want)
			}
		}
	}
}

func TestWithoutAnEngineADockerfileIsNotBuilt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	cli, err := client.NewClientWithOpts(client.WithHost("unix://" + filepath.Join(t.TempDir(), "none.sock")))
	if err != nil {
		t.Fatal(err)
	}
	defer cli.Close()
	plan := w.plan()
	archive := fstest.MapFS{"a b.sh": script["a b.sh"], "api/Dockerfile": {Data: []byte("FROM base\n")}}
	for alone, want := range map[bool]string{
		false: `which takes an engine: start one, or build the image elsewhere and name it by nodes.api.docker.base_image in toskose.yml`,
		true:  `name it by an artifact of type tosker.artifacts.Image`,
	} {
		i := &plan.Images[0]
		i.Dockerfile, i.Base = "api/Dockerfile", w.host+"/base:1"
		if alone {
			i.Base = i.Name
		}
		opts := image.Options{Version: "1", Binaries: []string{w.binaries}, Progress: w, Temp: t.TempDir(), Output: image.Registry}
		err := build(t.Context(), cli, opts, plan, archive)
		for _, part := range []string{"cannot reach the Docker engine", `the image of container "api" is built from "api/Dockerfile" in the archive`, want} {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("error %v lacks %q", err, part)
			}
		}
	}
}

func TestContextsHaveWhatTheArchiveBuilds(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	plan, archive := b.given()
	dir := filepath.Join(t.TempDir(), "contexts")
	if err := b.build(plan, archive, func(o *image.Options) { o.Contexts = dir }); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		"_archive/api/page": "one", "_archive/alone/page": "alone", "api/Dockerfile": "FROM " + b.name + ":api-base\n",
	} {
		if text, err := os.ReadFile(filepath.Join(dir, file)); err != nil || !strings.HasPrefix(string(text), want) {
			t.Errorf("%s: %s, %v", file, text, err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "alone")); err == nil {
		t.Error("the standalone image has a context to put something into it")
	}
	own, _ := b.made.Pinned(b.name + ":api")
	at := -1
	for _, line := range []string{
		fmt.Sprintf("%[1]s:api-base: docker build -t %[1]s:api-base %[2]s/_archive/api\n", b.name, dir),
		fmt.Sprintf("%[1]s:api: docker build -t %[1]s:api -t %[3]s %[2]s/api\n", b.name, dir, own),
		fmt.Sprintf("%[1]s:alone: warning: its name alone is in the manifests", b.name),
		fmt.Sprintf("%[1]s:alone: docker build -t %[1]s:alone -f %[2]s/_archive/alone/Dockerfile.prod %[2]s/_archive/alone\n", b.name, dir),
	} {
		if i := strings.Index(b.said.String(), line); i <= at {
			t.Errorf("it is not said, or not in order, that %s: %s", line, &b.said)
		} else {
			at = i
		}
	}
	if _, err := b.ImageInspect(t.Context(), b.name+":alone"); err == nil {
		t.Error("the standalone image was built")
	}
}
