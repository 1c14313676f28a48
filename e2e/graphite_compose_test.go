//go:build graphite

package e2e

import (
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestGraphiteByCompose goes through the first day of Graphite and a bad one: components and containers are killed, a port is
// taken, data is restored, and releases fail.
func TestGraphiteByCompose(t *testing.T) {
	app := packageGraphite(t)
	app.target = byCompose
	app.deploy(t)
	tellStory(t, app, firstHalf)
	if t.Failed() {
		return
	}
	tellStory(t, app, []storyPart{
		{"a killed container is named with the command that starts it", aContainerIsKilled},
		{"a removed container is named with the command that creates it, and its history is kept", aContainerIsRemoved},
		{"a backup is restored, and nothing stays on hold", aBackupIsRestored},
		{"a release whose unit does not start is rolled back", aReleaseWithoutAUnit},
		{"a release whose component does not start says why, and is rolled back by the command that it names", aReleaseThatDoesNotStart},
		{"an upgrade is rolled back", anUpgradeIsRolledBack},
	})
}

// isMissing waits until ps and wait say that the container graphite does not run, with the commands that help.
func isMissing(t *testing.T, app *application) {
	t.Helper()
	why := regexp.MustCompile("no running container is found.*`toskose deploy`.*`docker start`")
	eventually(t, "ps says that the container does not run", func() bool {
		return why.MatchString(line(t, app, "carbon")) && strings.HasPrefix(line(t, app, "carbon"), "graphite ")
	})
	r := command(t, "", "toskose", "wait", "--timeout", "1s", "--dir", app.dir, "--manager", app.manager)
	// redis and postgres run on; nginx must not run without gunicorn.
	if !regexp.MustCompile("graphite: "+why.String()).MatchString(r.stderr) || !strings.Contains(r.stderr, " of 7 components ") || r.code != 1 {
		t.Errorf("wait does not name the container: %v", r)
	}
}

func aContainerIsKilled(t *testing.T, app *application) {
	id := app.container(t, "graphite")
	must(t, "", found(t, "docker"), "kill", id)
	isMissing(t, app)
	must(t, "", found(t, "docker"), "start", id)
	everythingIsUp(t, app)
	metricIsDrawn(t, app, "story.first", 42)
}

func aContainerIsRemoved(t *testing.T, app *application) {
	must(t, "", found(t, "docker"), "rm", "--force", app.container(t, "graphite"))
	isMissing(t, app)
	remembered := regexp.MustCompile(`gunicorn .*\(removed\).* ended unexpectedly by SIGKILL`)
	if text := app.asks(t, "history", "gunicorn", "--limit", "100"); !remembered.MatchString(text) {
		t.Errorf("the history of the removed container is lost:\n%s", text)
	}
	must(t, "", "toskose", app.deploying(app.dir)...)
	everythingIsUp(t, app)
	metricIsDrawn(t, app, "story.first", 42)
	if text := app.asks(t, "history", "gunicorn", "--limit", "100"); !remembered.MatchString(text) {
		t.Errorf("the history of the removed container is lost after its replacement:\n%s", text)
	}
}

// aBackupIsRestored backs up both volumes, and restores them after more metrics and events were stored: metrics are in carbon's
// volume, events in the database.
func aBackupIsRestored(t *testing.T, app *application) {
	storeEvent(t, app, "before")
	file := filepath.Join(t.TempDir(), "backup.tar")
	must(t, "", "toskose", "volume", "backup", "--target", app.target, "--stop", app.dir, file)
	everythingIsUp(t, app)
	sendMetric(t, app, "story.after", 7)
	storeEvent(t, app, "after")
	must(t, "", "toskose", "volume", "restore", "--target", app.target, "--stop", app.dir, file)
	everythingIsUp(t, app)
	metricIsDrawn(t, app, "story.first", 42)
	if values, found := metric(t, app, "story.after"); found {
		t.Errorf("a metric that was sent after the backup is still there: %v", values)
	}
	if text := events(t, app, "after"); strings.Contains(text, "story") {
		t.Errorf("an event that was stored after the backup is still there: %s", text)
	}
	if text := events(t, app, "before"); !strings.Contains(text, "story") {
		t.Errorf("an event that was stored before the backup is lost: %s", text)
	}
}

// storeEvent stores an event with a tag in Graphite's database.
func storeEvent(t *testing.T, app *application, tag string) {
	t.Helper()
	status, body := app.fetch(t, http.MethodPost, webPort, "/events/", `{"what": "story", "tags": ["`+tag+`"]}`)
	if status != http.StatusOK {
		t.Fatalf("Graphite does not store an event: %d %s", status, body)
	}
	if text := events(t, app, tag); !strings.Contains(text, "story") {
		t.Fatalf("Graphite has not stored the event: %s", text)
	}
}

// events returns the events with a tag, as JSON.
func events(t *testing.T, app *application, tag string) string {
	t.Helper()
	status, body := app.fetch(t, http.MethodGet, webPort, "/events/get_data?tags="+url.QueryEscape(tag), "")
	if status != http.StatusOK {
		t.Fatalf("Graphite does not list events: %d %s", status, body)
	}
	return body
}

// releaseServes waits until nginx serves a release, with the data of the first.
func releaseServes(t *testing.T, app *application, release string) {
	t.Helper()
	everythingIsUp(t, app)
	eventually(t, "nginx serves release "+release, func() bool {
		status, text := app.fetch(t, http.MethodGet, webPort, "/release", "")
		return status == http.StatusOK && strings.TrimSpace(text) == release
	})
	metricIsDrawn(t, app, "story.first", 42)
}

// packageGraphiteIn packages another release of Graphite into a folder beside the first.
func (a *application) packageGraphiteIn(t *testing.T, folder string, change func(csar string)) string {
	t.Helper()
	return a.packageIn(t, "testdata/graphite", folder, change, "--from", a.dir)
}

func aReleaseWithoutAUnit(t *testing.T, app *application) {
	first, config := app.releases(t)[0], read(t, app.config)
	write(t, app.config, strings.Replace(config, "  nginx:\n", "  nginx:\n    user: ghost\n", 1))
	dir := app.packageGraphiteIn(t, "ghost", func(string) {})
	write(t, app.config, config)
	r := command(t, "", "toskose", app.deploying(dir, "--up")...)
	for _, part := range []string{"web", `names user "ghost", which is not in /etc/passwd`, "release " + first + ", which ran before, runs again"} {
		if r.code != 1 || !strings.Contains(r.stderr, part) {
			t.Errorf("it does not say %q: %v", part, r)
		}
	}
	releaseServes(t, app, "one")
}

func aReleaseThatDoesNotStart(t *testing.T, app *application) {
	dir := app.packageGraphiteIn(t, "broken", func(csar string) {
		edit(t, csar, "scripts/nginx/start.sh", "exec nginx", "echo 'the certificate has expired'\nexit 3\nexec nginx")
	})
	r := command(t, "", "toskose", app.deploying(dir, "--up")...)
	back := "toskose deploy --rollback " + dir
	for _, part := range []string{"6 of 7 components", `nginx: start failed (3rd try) with exit code 3; last line: "the certificate has expired"`, "`" + back + "`"} {
		if r.code != 1 || !strings.Contains(r.stderr, part) {
			t.Errorf("it does not say %q: %v", part, r)
		}
	}
	must(t, "", "toskose", app.deploying(dir, "--rollback")...)
	releaseServes(t, app, "one")
}

func anUpgradeIsRolledBack(t *testing.T, app *application) {
	dir := app.packageGraphiteIn(t, "two", func(csar string) {
		edit(t, csar, "scripts/nginx/configure.sh", "return 200 one;", "return 200 two;")
	})
	must(t, "", "toskose", app.deploying(dir, "--up")...)
	releaseServes(t, app, "two")
	must(t, "", "toskose", app.deploying(dir, "--rollback")...)
	releaseServes(t, app, "one")
}
