package e2e

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// hanging is the --timeout of the upgrades in these tests, which all fail. It begins when all containers have started, and
// the rollback has a longer one.
const hanging = "5s"

// TestAnUpgradeThatHangsIsRolledBackOnASwarm: a container that neither answers nor exits, or that no machine may run, keeps
// the swarm's own update from ending.
func TestAnUpgradeThatHangsIsRolledBackOnASwarm(t *testing.T) {
	t.Parallel()
	joinSwarm(t, dockerEngine(t))
	app := onOneEngine(t, onSwarm, forSwarm...)
	failures := maps.Clone(upgradesThatFail)
	failures["machine"] = failure{config: "nodes: {box: {deploy: {placement: {constraints: [node.labels.is == nowhere]}}}}\n"}
	rollsBackUpgrades(t, app, failures, nil)
}

func TestAnUpgradeThatHangsIsRolledBackByCompose(t *testing.T) {
	t.Parallel()
	rollsBackUpgrades(t, onOneEngine(t, byCompose), upgradesThatFail, nil)
}

// onOneEngine deploys testdata/commands.
func onOneEngine(t *testing.T, target string, flags ...string) *application {
	t.Helper()
	engine := dockerEngine(t)
	if err := bring("busybox:1.36"); err != nil {
		t.Fatal(err)
	}
	app := deploy(t, engine, target, "testdata/commands", []string{pagesPort}, flags...)
	must(t, "", "toskose", app.deploying(app.dir, "--up")...)
	return app
}

// failure is an upgrade that fails: an image whose program is another one, or a part of toskose.yml.
type failure struct {
	image, program string
	config         string
}

// sleeping makes a program exit on SIGTERM, which the first process of a container ignores otherwise: its engine would
// wait for its grace to stop.
const sleeping = "trap 'exit 0' TERM\n"

// An upgrade whose unit exits is one of the steps of goThroughReleases.
var upgradesThatFail = map[string]failure{
	"unit-hangs":    {image: "box-toskosed", program: "exec /bin/busybox sleep 1000000"},
	"unit-is-late":  {image: "box-toskosed", program: sleeping + "/bin/busybox sleep 60 & wait\nexec /toskose/unit/late \"$@\""}, // much later than hanging
	"manager-hangs": {image: "manager", program: sleeping + "/bin/busybox sleep 1000000 & wait"},
}

// rollsBackUpgrades deploys upgrades that fail, each over the same release, and checks that this release runs again.
// prepare, if any, makes the images of a folder available where the application runs.
func rollsBackUpgrades(t *testing.T, app *application, failures map[string]failure, prepare func(dir string)) {
	t.Helper()
	app.shows(t, "one")
	first, config := app.releases(t)[0], read(t, app.config)
	for name, failure := range failures {
		if failure.config == "" {
			failure.config = "nodes: {box: {log_level: DEBUG}}\n" // another image of the manager
		}
		write(t, app.config, config+failure.config)
		dir := app.packageRelease(t, name)
		if failure.image != "" {
			app.replaceProgram(t, dir, failure)
		}
		if prepare != nil {
			prepare(dir)
		}
		r := command(t, "", "toskose", app.there(dir, "deploy", "--timeout", hanging)...)
		if again := "release " + first + ", which ran before, runs again"; r.code != 1 || !strings.Contains(r.stderr, again) {
			t.Fatalf("the upgrade %s: %v", name, r)
		}
		app.shows(t, "one")
		if ids := app.releases(t); ids[0] != first {
			t.Errorf("after the upgrade %s, the releases are %q, and %s runs", name, ids, first)
		}
	}
}

// replaceProgram replaces an image of a release by one that runs another program.
func (a *application) replaceProgram(t *testing.T, dir string, of failure) {
	t.Helper()
	manifests := ""
	for _, pattern := range []string{"docker-compose.yml", "kubernetes/*.yaml"} {
		files, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			manifests += read(t, file)
		}
	}
	name := regexp.MustCompile(`image: "?([^\s"]*` + a.name + "-" + of.image + `[^\s"]*)`).FindStringSubmatch(manifests)
	if name == nil {
		t.Fatalf("%s has no image %s", dir, of.image)
	}
	context := t.TempDir()
	build := "FROM " + name[1] + "\nRUN mv /toskose/unit/toskose-unit /toskose/unit/late\nCOPY program /toskose/unit/toskose-unit\n"
	if of.image == "manager" { // which has no shell
		build = "FROM busybox:1.36\nCOPY program /\nENTRYPOINT [\"/program\"]\n"
	}
	write(t, filepath.Join(context, "Dockerfile"), build)
	if err := os.WriteFile(filepath.Join(context, "program"), []byte("#!/bin/busybox sh\n"+of.program+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	must(t, "", found(t, "docker"), "build", "--quiet", "--tag", name[1], context)
}
