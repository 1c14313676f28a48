package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// hanging is how long an upgrade that hangs is waited for in these tests: a unit answers in less time.
const hanging = "30s"

// TestAnUpgradeThatHangsIsRolledBackOnASwarm: a container that neither answers nor ends, and one that is on no machine, keep
// the swarm's own update from ending.
func TestAnUpgradeThatHangsIsRolledBackOnASwarm(t *testing.T) {
	t.Parallel()
	joinSwarm(t, dockerEngine(t))
	rollBackWhatHangs(t, onSwarm, forSwarm...)
}

func TestAnUpgradeThatHangsIsRolledBackByCompose(t *testing.T) {
	t.Parallel()
	rollBackWhatHangs(t, byCompose)
}

func rollBackWhatHangs(t *testing.T, target string, flags ...string) {
	engine := dockerEngine(t)
	if err := bring("busybox:1.36"); err != nil {
		t.Fatal(err)
	}
	app := deploy(t, engine, target, "testdata/commands", []string{pagesPort}, flags...)
	must(t, "", "toskose", app.deploying(app.dir, "--up")...)
	app.shows(t, "one")
	first, config := app.releases(t)[0], read(t, app.config)
	for name, prepare := range map[string]func(t *testing.T, dir string){
		"unit":    func(t *testing.T, dir string) { app.hangs(t, dir, "box-toskosed") },
		"manager": func(t *testing.T, dir string) { app.hangs(t, dir, "manager") },
		"machine": nil, // see below
	} {
		if prepare == nil && target != onSwarm {
			continue
		}
		more := "nodes: {box: {log_level: DEBUG}}\n" // another image of the manager
		if prepare == nil {
			more = "nodes: {box: {deploy: {placement: {constraints: [node.labels.is == nowhere]}}}}\n"
		}
		write(t, app.config, config+more)
		dir := app.packageRelease(t, name)
		if prepare != nil {
			prepare(t, dir)
		}
		r := command(t, "", "toskose", app.there(dir, "deploy", "--timeout", hanging)...)
		if again := "release " + first + ", which ran before, runs again"; r.code != 1 || !strings.Contains(r.stderr, again) {
			t.Fatalf("the release whose %s hangs: %v", name, r)
		}
		app.shows(t, "one")
		if ids := app.releases(t); ids[0] != first {
			t.Errorf("the releases are %q, and %s runs", ids, first)
		}
	}
}

// hangs replaces an image of a release by one whose program sleeps.
func (a *application) hangs(t *testing.T, dir, image string) {
	t.Helper()
	name := regexp.MustCompile(`image: "(` + a.name + "-" + image + `[^"]*)"`).FindStringSubmatch(read(t, filepath.Join(dir, "docker-compose.yml")))
	if name == nil {
		t.Fatalf("%s has no image %s", dir, image)
	}
	context := t.TempDir()
	build := "FROM " + name[1] + "\nCOPY toskose-unit /toskose/unit/\n"
	if image == "manager" { // which has no shell
		build = "FROM busybox:1.36\nENTRYPOINT [\"/bin/busybox\", \"sleep\", \"1000000\"]\n"
	}
	write(t, filepath.Join(context, "Dockerfile"), build)
	if err := os.WriteFile(filepath.Join(context, "toskose-unit"), []byte("#!/bin/busybox sh\nexec busybox sleep 1000000\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	must(t, "", found(t, "docker"), "build", "--quiet", "--tag", name[1], context)
}
