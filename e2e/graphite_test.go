//go:build graphite

package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// webPort is the input of testdata/graphite for the published port of nginx.
const webPort = "web_port"

// graphitesComponents are the components of testdata/graphite with their states when the goal up is reached.
var graphitesComponents = map[string]string{
	"carbon": "running", "gunicorn": "running", "indexer": "running", "migration": "completed", "nginx": "running",
	"postgres": "running", "redis": "running",
}

// storyPart is a part of what Graphite goes through. The later parts need the earlier ones.
type storyPart struct {
	name string
	tell func(*testing.T, *application)
}

// firstHalf are the parts in which all containers run on.
var firstHalf = []storyPart{
	{"a metric that was sent is drawn", isServed},
	{"a killed component is started again, and the reason is shown", aComponentIsKilled},
	{"a component whose port is taken recovers when it is free, and the port is named until then", itsPortIsTaken},
}

func tellStory(t *testing.T, app *application, parts []storyPart) {
	t.Helper()
	for _, part := range parts {
		if !t.Run(part.name, func(t *testing.T) { part.tell(t, app) }) {
			return
		}
	}
}

// packageGraphite packages testdata/graphite with secrets of its own.
func packageGraphite(t *testing.T, flags ...string) *application {
	t.Helper()
	engine := dockerEngine(t)
	if err := bring("nginx:1.22", "postgres:15", "redis:7", "graphite:test"); err != nil {
		t.Fatalf("the base images are missing: %v", err)
	}
	for _, input := range []string{"password", "secret_key"} {
		file := filepath.Join(t.TempDir(), input)
		write(t, file, random())
		flags = append(flags, "-i", input+"=@"+file)
	}
	config := func(string) string { return read(t, "testdata/graphite/toskose.yml") }
	app := prepare(t, engine, "testdata/graphite", []string{webPort}, config, flags...)
	must(t, "", "toskose", app.packaging...)
	return app
}

// everythingIsUp waits for the goal, and checks that all components have reached it and none is on hold.
func everythingIsUp(t *testing.T, app *application) {
	t.Helper()
	app.asks(t, "wait", "--timeout", patience)
	var all struct {
		Components []struct{ Name, State string }
	}
	if err := json.Unmarshal([]byte(app.asks(t, "ps", "-o", "json")), &all); err != nil {
		t.Fatal(err)
	}
	if len(all.Components) != len(graphitesComponents) {
		t.Errorf("there are %d components, want %d: %v", len(all.Components), len(graphitesComponents), all.Components)
	}
	for _, c := range all.Components {
		if c.State != graphitesComponents[c.Name] {
			t.Errorf("%s is %s, want %s", c.Name, c.State, graphitesComponents[c.Name])
		}
	}
	var goal struct{ Holds map[string]any }
	if err := json.Unmarshal([]byte(app.asks(t, "goal", "-o", "json")), &goal); err != nil {
		t.Fatal(err)
	}
	if len(goal.Holds) > 0 {
		t.Errorf("components are on hold: %v", goal.Holds)
	}
}

// sendMetric sends a value to carbon's line receiver, and waits until Graphite returns it through nginx.
func sendMetric(t *testing.T, app *application, name string, value int) {
	t.Helper()
	const send = `
import socket, sys, time
with socket.create_connection(("127.0.0.1", 2003), timeout=60) as carbon:
    carbon.sendall(f"{sys.argv[1]} {sys.argv[2]} {int(time.time())}\n".encode())
`
	app.in(t, "graphite", "python3", "-c", send, name, fmt.Sprint(value))
	metricIsDrawn(t, app, name, value)
}

// metricIsDrawn waits until Graphite returns a value of a metric through nginx.
func metricIsDrawn(t *testing.T, app *application, name string, value int) {
	t.Helper()
	eventually(t, fmt.Sprintf("the metric %s is %d", name, value), func() bool {
		values, found := metric(t, app, name)
		return found && len(values) > 0 && values[len(values)-1] == float64(value)
	})
}

// metric returns the values of a metric in the last hour. found is false if Graphite does not respond or does not know it.
func metric(t *testing.T, app *application, name string) (values []float64, found bool) {
	t.Helper()
	query := url.Values{"target": {name}, "from": {"-1h"}, "format": {"json"}, "noNullPoints": {"true"}, "noCache": {"true"}}
	status, body := app.fetch(t, http.MethodGet, webPort, "/render?"+query.Encode(), "")
	if status != http.StatusOK {
		return nil, false
	}
	var series []struct{ Datapoints [][]float64 }
	if err := json.Unmarshal([]byte(body), &series); err != nil {
		t.Fatalf("Graphite responds %s: %v", body, err)
	}
	for _, s := range series {
		for _, point := range s.Datapoints {
			values = append(values, point[0])
		}
	}
	return values, len(series) > 0
}

// isServed checks what a user of Graphite sees once it is up: it is deployed, listed and stores a metric.
func isServed(t *testing.T, app *application) {
	t.Helper()
	must(t, "", "toskose", "up", "--dir", app.dir, "--manager", app.manager, "--timeout", patience)
	everythingIsUp(t, app)
	sendMetric(t, app, "story.first", 42)
	eventually(t, "the indexer has counted the metrics", func() bool {
		return regexp.MustCompile(`^[1-9]\d*\s*$`).MatchString(app.in(t, "cache", "redis-cli", "get", "graphite:metrics"))
	})
}

// killGunicorn kills all processes of gunicorn.
const killGunicorn = `
import os, signal
for pid in sorted(map(int, filter(str.isdigit, os.listdir("/proc")))):
    try:
        words = open(f"/proc/{pid}/cmdline").read().split("\0")
        if any(word.endswith("/gunicorn") for word in words):
            os.kill(pid, signal.SIGKILL)
    except OSError:
        pass
`

// aComponentIsKilled kills gunicorn, and checks that it recovers and that the reason is shown afterwards.
func aComponentIsKilled(t *testing.T, app *application) {
	t.Helper()
	app.in(t, "graphite", "python3", "-c", killGunicorn)
	eventually(t, "gunicorn is started again", func() bool { return restarts(t, app, "gunicorn") == "1" })
	everythingIsUp(t, app)
	metricIsDrawn(t, app, "story.first", 42)
	const why = "ended unexpectedly by SIGKILL; last line: "
	if text := app.asks(t, "history", "gunicorn"); !strings.Contains(text, why) {
		t.Errorf("the history does not say %q:\n%s", why, text)
	}
	if text := app.asks(t, "events", "--last", "100"); !regexp.MustCompile(`gone +graphite/gunicorn .*` + why).MatchString(text) {
		t.Errorf("the events do not say %q:\n%s", why, text)
	}
}

// line returns the line of ps for a component; empty: there is none.
func line(t *testing.T, app *application, component string) string {
	t.Helper()
	return regexp.MustCompile(`(?m)^\S+ +` + component + ` .*`).FindString(command(t, "", "toskose", "ps", "--dir", app.dir, "--manager", app.manager).stdout)
}

// restarts returns the number of restarts of a running component, as ps shows it; empty: it does not run.
func restarts(t *testing.T, app *application, component string) string {
	t.Helper()
	found := regexp.MustCompile(` running +\S+ +(\d+) `).FindStringSubmatch(line(t, app, component))
	if found == nil {
		return ""
	}
	return found[1]
}

// takePort leaves a process in the container that listens on gunicorn's port as soon as that is free, and never responds. It
// ends when the file that it creates is removed.
const takePort = `
import os, socket, time
taken = "/run/port-8000-is-taken"
open(taken, "w").close()
if os.fork() > 0:
    os._exit(0)
os.setsid()
null = os.open(os.devnull, os.O_RDWR)
for stream in range(3):
    os.dup2(null, stream)
listener = socket.socket()
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
while os.path.exists(taken):
    try:
        listener.bind(("0.0.0.0", 8000))
        listener.listen(1)
        break
    except OSError:
        time.sleep(0.001)
while os.path.exists(taken):
    time.sleep(0.05)
`

// itsPortIsTaken has another process listen on gunicorn's port while gunicorn is restarted, and checks that each command names
// the port until it is free.
func itsPortIsTaken(t *testing.T, app *application) {
	t.Helper()
	app.in(t, "graphite", "python3", "-c", takePort)
	app.in(t, "graphite", "python3", "-c", killGunicorn)
	why := regexp.MustCompile(`start failed .*with exit code 1; last line: ".*Can't connect to \('0\.0\.0\.0', 8000\)"`)
	eventually(t, "ps names the port", func() bool { return why.MatchString(line(t, app, "gunicorn")) })
	r := command(t, "", "toskose", "wait", "--timeout", "1s", "--dir", app.dir, "--manager", app.manager)
	if r.code != 1 || !why.MatchString(r.stderr) {
		t.Errorf("wait does not name the port: %v", r)
	}
	if text := app.asks(t, "history", "gunicorn", "--outcome", "failed"); !why.MatchString(text) {
		t.Errorf("the history does not name the port:\n%s", text)
	}
	app.in(t, "graphite", "rm", "/run/port-8000-is-taken")
	eventually(t, "gunicorn is started again", func() bool { return restarts(t, app, "gunicorn") == "2" })
	everythingIsUp(t, app)
	metricIsDrawn(t, app, "story.first", 42)
}
