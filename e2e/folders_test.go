package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/client"
)

func TestAnEarlierFolderRunsAgainByCompose(t *testing.T) {
	t.Parallel()
	engine := dockerEngine(t)
	deployFolders(t, engine, byCompose)
}

func TestAnEarlierFolderRunsAgainOnASwarm(t *testing.T) {
	t.Parallel()
	engine := dockerEngine(t)
	joinSwarm(t, engine)
	deployFolders(t, engine, onSwarm, forSwarm...)
}

// deployFolders packages an application in folders of its own, and deploys one after the
// other: only containers that differ are replaced.
func deployFolders(t *testing.T, engine *client.Client, target string, flags ...string) {
	const source = "testdata/folders"
	app := deploy(t, engine, target, source, nil, flags...)
	first, before := app.dir, app.all(t)
	app.says(t, "one")
	if again := must(t, "", "toskose", app.packaging...); strings.Contains(again.stdout, "built on") || strings.Count(again.stdout, ": unchanged, on ") != 3 {
		t.Errorf("the same again is built again:\n%s", again.stdout)
	}
	must(t, "", "toskose", app.deploying(first)...)
	if after := app.all(t); !slices.Equal(after, before) {
		t.Errorf("the same again replaces containers: %q, then %q", before, after)
	}

	script := func(csar string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(csar, "box", "version.sh"), []byte("#!/bin/sh\necho version two\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	second := app.packageIn(t, source, "second", func(csar string) {
		script(csar)
		entry := filepath.Join(csar, "folders.yaml")
		text, _, ok := strings.Cut(read(t, entry), "    # from here on")
		if !ok {
			t.Fatal("nothing is dropped")
		}
		write(t, entry, text)
	}, "--from", first)
	must(t, "", "toskose", app.deploying(second)...)
	app.says(t, "two")
	after := app.all(t)
	if i := slices.IndexFunc(after, named("dropped")); i >= 0 {
		t.Errorf("what is no longer part of it runs: %q", after)
	}
	app.sameIn(t, before, after, "neighbour")

	must(t, "", "toskose", app.deploying(first)...)
	app.says(t, "one")
	back := app.all(t)
	if diff := imagesOf(back); !slices.Equal(diff, imagesOf(before)) {
		t.Errorf("the images are %q, and were %q", diff, imagesOf(before))
	}
	app.packageIn(t, source, "out", script)
	must(t, "", "toskose", app.deploying(first)...)
	app.says(t, "two")
	app.sameIn(t, back, app.all(t), "neighbour", "dropped")

	running := app.all(t)
	third := app.packageIn(t, source, "third", script)
	refused := command(t, "", "toskose", app.deploying(third)...)
	if refused.code == 0 || !strings.Contains(refused.stderr, "--from "+first) || !strings.Contains(refused.stderr, "--new-secrets") || !slices.Equal(running, app.all(t)) {
		t.Errorf("with other secrets: %v", refused)
	}
}

// packageIn packages a changed source tree under the same name in a folder beside the first.
func (a *application) packageIn(t *testing.T, source, folder string, change func(csar string), flags ...string) string {
	t.Helper()
	csar := renamed(t, source, a.name)
	change(csar)
	archive := filepath.Join(t.TempDir(), "app.csar")
	must(t, "", "zipcsar", csar, archive)
	dir := filepath.Join(filepath.Dir(a.dir), folder)
	args := slices.Clone(a.packaging)
	args[slices.Index(args, a.dir)], args[len(args)-2] = dir, archive
	must(t, "", "toskose", append(flags, args...)...)
	return dir
}

// says has the component whose script changes say which version it is.
func (a *application) says(t *testing.T, version string) {
	t.Helper()
	status, said := a.ask(t, http.MethodPost, "/api/v1/node/box/changing/create")
	if status != http.StatusOK || len(said.Runs) != 1 || said.Runs[0].Stdout != "version "+version+"\n" {
		t.Fatalf("it does not say %s: status %d\n%s", version, status, said.raw)
	}
}

// all are the application's running containers, as SERVICE CONTAINER IMAGE.
func (a *application) all(t *testing.T) []string {
	t.Helper()
	var all []string
	for label, service := range map[string]string{"com.docker.compose.project": "com.docker.compose.service", "com.docker.stack.namespace": "com.docker.swarm.service.name"} {
		list, err := a.engine.ContainerList(t.Context(), container.ListOptions{Filters: filters.NewArgs(filters.Arg("label", label+"="+a.name))})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range list {
			all = append(all, strings.TrimPrefix(c.Labels[service], a.name+"_")+" "+c.ID+" "+c.ImageID)
		}
	}
	slices.Sort(all)
	return all
}

func named(service string) func(string) bool {
	return func(line string) bool { return strings.HasPrefix(line, service+" ") }
}

func imagesOf(all []string) (images []string) {
	for _, line := range all {
		words := strings.Fields(line)
		images = append(images, words[0]+" "+words[2])
	}
	return images
}

// sameIn reports containers that were replaced.
func (a *application) sameIn(t *testing.T, before, after []string, services ...string) {
	t.Helper()
	for _, service := range services {
		i, j := slices.IndexFunc(before, named(service)), slices.IndexFunc(after, named(service))
		if i < 0 || j < 0 || before[i] != after[j] {
			t.Errorf("%s was replaced: %q, then %q", service, before, after)
		}
	}
}
