package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/toskose/toskose/e2e/browser"

	"github.com/docker/docker/api/types/container"
)

var thinkingsPorts = []string{"gui_port", "api_port", "log_port"}

func TestThinkingOnOneEngineByCompose(t *testing.T) {
	t.Parallel()
	engine := dockerEngine(t)
	app := deploy(t, engine, byCompose, "../examples/thinking", thinkingsPorts)
	tellTheStory(t, app)
	if !t.Failed() {
		t.Run("a copy of it shares the engine", func(t *testing.T) { aCopySharesTheEngine(t, app) })
	}
}

func TestThinkingOnAOneNodeSwarm(t *testing.T) {
	t.Parallel()
	engine := dockerEngine(t)
	joinSwarm(t, engine)
	tellTheStory(t, deploy(t, engine, onSwarm, "../examples/thinking", thinkingsPorts, forSwarm...))
}

// tellTheStory goes through the case study of the paper. Each part builds on
// those before.
func tellTheStory(t *testing.T, app *application) {
	t.Helper()
	for _, part := range []struct {
		name string
		tell func(*testing.T, *application)
	}{
		{"no operation is allowed before its time", nothingBeforeItsTime},
		{"every component comes up in the paper's order", everythingComesUp},
		{"the page answers and shares thoughts", thePageShares},
		{"the log viewer shows and filters what the API did", theLogIsShown},
		{"the manager's page shows it, and steers it", theManagersPage},
		{"stopping api leaves logsniffer and the thoughts alone", apiStopsAlone},
		{"who has no password is refused", strangersAreRefused},
		{"others may less, as long as they are there", othersMayLess},
		{"what is not there is not found", unknownNames},
		{"no secret is where it does not belong", noSecretIsOut},
		{"another user in a container cannot read its secrets", othersReadNoSecret},
		{"a component can be deleted and made anew", aComponentIsMadeAnew},
		{"a goal outlives all containers and what they kept", aGoalIsCarriedOver},
	} {
		if !t.Run(part.name, func(t *testing.T) { part.tell(t, app) }) {
			return
		}
	}
}

func nothingBeforeItsTime(t *testing.T, app *application) {
	status, said := app.ask(t, http.MethodPost, "/api/v1/node/backend/api/start")
	if status != http.StatusConflict || said.State != "deleted" || !slices.Contains(said.Allowed, "Standard.create") {
		t.Errorf("status %d, want 409 with the state and what is allowed\n%s", status, said.raw)
	}
}

func everythingComesUp(t *testing.T, app *application) {
	app.run(t, "backend/api", "create", "configure", "push_default", "start")
	app.run(t, "backend/logsniffer", "create", "configure", "start")
	app.run(t, "frontend/gui", "create", "configure", "start")
	for _, component := range []string{"backend/api", "backend/logsniffer", "frontend/gui"} {
		if state := app.state(t, component); state != "running" {
			t.Errorf("%s is %q, want running", component, state)
		}
	}
	status, said := app.ask(t, http.MethodPost, "/api/v1/node/backend/api/push_default")
	if status != http.StatusConflict {
		t.Errorf("push_default while api runs: status %d, want 409\n%s", status, said.raw)
	}
	if status, said := app.ask(t, http.MethodGet, "/docs"); status != http.StatusOK {
		t.Errorf("/docs: status %d\n%s", status, said.raw)
	}
}

const awkward = `<script>alert("1")</script> & "quotes", $HOME, 'äöü' 🤔`

func thePageShares(t *testing.T, app *application) {
	eventually(t, "the page answers", func() bool {
		status, body := app.fetch(t, http.MethodGet, "gui_port", "/", "")
		return status == http.StatusOK && strings.Contains(body, "<title>Thinking</title>")
	})
	thought, err := json.Marshal(map[string]string{"text": awkward, "author": "A tester"})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "a thought is shared", func() bool {
		status, _ := app.fetch(t, http.MethodPost, "gui_port", "/api/thoughts", string(thought))
		return status == http.StatusCreated
	})
	theThoughtsAreThere(t, app)
	if status, _ := app.fetch(t, http.MethodPost, "gui_port", "/api/thoughts", `{"text": " "}`); status != http.StatusUnprocessableEntity {
		t.Errorf("sharing no thought: status %d, want 422", status)
	}
}

// theManagersPage stops the log viewer in a browser and starts it again.
func theManagersPage(t *testing.T, app *application) {
	page := browser.Open(t, app.manager+"/#/component/backend/logsniffer", 1280, "401 /api/v1/session") // nobody is signed in yet
	page.SignIn("admin", app.password)
	page.Says(".panel .now", "running")
	page.Says(".own-log", "logsniffer")
	page.Push("stop")
	page.Says(".panel .now", "configured")
	page.Says("[data-box=logsniffer]", "configured")
	page.Says("[data-box=api]", "running")
	page.Push("start")
	page.Says(".panel .now", "running")
	page.Named()
}

// theThoughtsAreThere asks the page for the shared thought and a default one.
// A start that stays in the foreground has succeeded before it listens, so it
// waits until the API answers.
func theThoughtsAreThere(t *testing.T, app *application) {
	t.Helper()
	var body string
	eventually(t, "the API answers through the page", func() bool {
		var status int
		status, body = app.fetch(t, http.MethodGet, "gui_port", "/api/thoughts", "")
		return status == http.StatusOK
	})
	var list struct {
		Thoughts []struct{ Text, Author string }
	}
	if err := json.Unmarshal([]byte(body), &list); err != nil {
		t.Fatalf("reading the thoughts: %v\n%s", err, body)
	}
	var found, byDefault bool
	for _, thought := range list.Thoughts {
		found = found || thought.Text == awkward
		byDefault = byDefault || thought.Author == "Ada Lovelace"
	}
	if !found || !byDefault {
		t.Errorf("the shared thought is there: %v; a default one: %v\n%s", found, byDefault, body)
	}
}

func theLogIsShown(t *testing.T, app *application) {
	eventually(t, "the log viewer answers", func() bool {
		status, body := app.fetch(t, http.MethodGet, "log_port", "/", "")
		return status == http.StatusOK && strings.Contains(body, "The API's log")
	})
	var log struct {
		Entries  []struct{ Method, Path string }
		Matching int
		Read     int
	}
	var body string
	eventually(t, "what was answered is in the log", func() bool {
		_, body = app.fetch(t, http.MethodGet, "log_port", "/entries?method=POST&status=2", "")
		if err := json.Unmarshal([]byte(body), &log); err != nil {
			t.Fatalf("%v\n%s", err, body)
		}
		return log.Matching > 0 && log.Read > 1
	})
	if log.Matching != 1 || log.Entries[0].Method != "POST" {
		t.Errorf("the one thought that was shared is not what the filter shows:\n%s", body)
	}
}

// logsniffers gives the processes of logsniffer.
func logsniffers(t *testing.T, app *application) (own []process) {
	t.Helper()
	for _, p := range processes(t, app.engine, app.container(t, "backend")) {
		if strings.Contains(p.command, "logsniffer") {
			own = append(own, process{p.pid, p.started, "", p.command})
		}
	}
	return own
}

func apiStopsAlone(t *testing.T, app *application) {
	before := logsniffers(t, app)
	if len(before) == 0 {
		t.Fatal("logsniffer has no process")
	}
	app.run(t, "backend/api", "stop")
	if state := app.state(t, "backend/api"); state != "configured" {
		t.Errorf("api is %q after its stop, want configured", state)
	}
	for _, p := range processes(t, app.engine, app.container(t, "backend")) {
		if strings.Contains(p.command, "server.py") {
			t.Errorf("after the stop of api there is still %+v", p)
		}
	}
	noZombies(t, app, "backend")
	if status, body := app.fetch(t, http.MethodGet, "gui_port", "/api/thoughts", ""); status != http.StatusBadGateway {
		t.Errorf("the page answers %d while api is stopped, want 502: %s", status, body)
	}
	if status, _ := app.fetch(t, http.MethodGet, "log_port", "/entries", ""); status != http.StatusOK {
		t.Errorf("logsniffer answers %d while api is stopped", status)
	}
	app.run(t, "backend/api", "push_default", "start")
	theThoughtsAreThere(t, app)
	after := logsniffers(t, app)
	if !slices.Equal(before, after) {
		t.Errorf("logsniffer's processes were %v and are %v", before, after)
	}
	noZombies(t, app, "backend")
}

func strangersAreRefused(t *testing.T, app *application) {
	for _, who := range [][2]string{{"", ""}, {"admin", "admin"}, {"admin", ""}, {"root", app.password}} {
		for _, path := range []string{"/api/v1/node/", "/api/v1/node/backend/api", "/metrics"} {
			if status, said := app.askAs(t, who[0], who[1], http.MethodGet, path); status != http.StatusUnauthorized {
				t.Errorf("%s as %q: status %d, want 401\n%s", path, who, status, said.raw)
			}
		}
		if status, _ := app.askAs(t, who[0], who[1], http.MethodPost, "/api/v1/node/backend/api/stop"); status != http.StatusUnauthorized {
			t.Errorf("stopping api as %q: status %d, want 401", who, status)
		}
	}
	// The units are asked from another container of the application: their ports are not published.
	unit := "http://backend:" + unitPort(t, app) + "/RPC2"
	password := strings.TrimSpace(read(t, filepath.Join(app.dir, "secrets", "backend-password")))
	for login, want := range map[string]string{"": "401", "admin:admin": "401", "admin:" + app.password: "401", "admin:" + password: "200"} {
		got := inContainer(t, app.engine, app.container(t, "frontend"), "python3", "-c", `
import base64, sys, urllib.error, urllib.request
call = b"<?xml version='1.0'?><methodCall><methodName>supervisor.getState</methodName><params/></methodCall>"
request = urllib.request.Request(sys.argv[1], call, {"Content-Type": "text/xml"})
if sys.argv[2]:
    request.add_header("Authorization", "Basic " + base64.b64encode(sys.argv[2].encode()).decode())
try:
    print(urllib.request.urlopen(request).status, end="")
except urllib.error.HTTPError as err:
    print(err.code, end="")
`, unit, login)
		if got != want {
			t.Errorf("the unit answers %s to %q, want %s", got, login, want)
		}
	}
	if state := app.state(t, "backend/api"); state != "running" {
		t.Errorf("api is %q after all of that, want running", state)
	}
}

func unitPort(t *testing.T, app *application) string {
	t.Helper()
	found, err := app.engine.ContainerInspect(t.Context(), app.container(t, "backend"))
	if err != nil {
		t.Fatal(err)
	}
	for _, variable := range found.Config.Env {
		if port, ok := strings.CutPrefix(variable, "SUPERVISORD_PORT="); ok {
			return port
		}
	}
	t.Fatalf("backend has no SUPERVISORD_PORT: %q", found.Config.Env)
	return ""
}

func unknownNames(t *testing.T, app *application) {
	for _, path := range []string{"/nowhere/api/start", "/backend/nobody/start", "/backend/api/fly", "/frontend/api/start"} {
		status, said := app.ask(t, http.MethodPost, "/api/v1/node"+path)
		if status != http.StatusNotFound || !strings.Contains(said.Type, "unknown-") {
			t.Errorf("POST %s: status %d, want 404\n%s", path, status, said.raw)
		}
	}
}

// noSecretIsOut looks for every generated secret in the manifests, in the
// containers' settings, in what the API says, and in each byte of the images.
func noSecretIsOut(t *testing.T, app *application) {
	folder := filepath.Join(app.dir, "secrets")
	info, err := os.Stat(folder)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Fatalf("the folder of secrets is %v, %v; want mode 0700", info.Mode(), err)
	}
	var secrets [][]byte
	for _, name := range []string{"manager-password", "manager-secret-key", "backend-password", "frontend-password"} {
		secret := bytes.TrimSpace([]byte(read(t, filepath.Join(folder, name))))
		if len(secret) < 16 {
			t.Errorf("%s has %d characters only", name, len(secret))
		}
		secrets = append(secrets, secret)
	}
	clean := func(where string, data []byte) {
		for _, secret := range secrets {
			if bytes.Contains(data, secret) {
				t.Errorf("a secret is in %s", where)
			}
		}
	}
	for _, name := range []string{"docker-compose.yml", "docker-compose.local.yml", "toskose.yml"} {
		clean(name, []byte(read(t, filepath.Join(app.dir, name))))
	}
	for _, node := range []string{"backend", "frontend", "store", "manager"} {
		_, raw, err := app.engine.ContainerInspectWithRaw(t.Context(), containerOf(t, app.engine, app.name, managersService(t, app, node)), false)
		if err != nil {
			t.Fatal(err)
		}
		clean("the settings of "+node, raw)
	}
	for _, path := range []string{"/api/v1/app", "/api/v1/node/", "/api/v1/node/backend/log", "/metrics", "/openapi.json"} {
		_, said := app.ask(t, http.MethodGet, path)
		clean(path, []byte(said.raw))
	}
	saved, err := app.engine.ImageSave(t.Context(), app.images(t))
	if err != nil {
		t.Fatal(err)
	}
	defer saved.Close()
	if found := contains(t, saved, secrets); found {
		t.Error("a secret is in an image")
	}
}

// managersService gives the name of a node's service; the manager's may be any.
func managersService(t *testing.T, app *application, node string) string {
	t.Helper()
	if node != "manager" {
		return node
	}
	list, err := app.engine.ContainerList(t.Context(), container.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range list {
		if strings.HasPrefix(c.Image, app.name+"-manager:") {
			if service := c.Labels["com.docker.compose.service"]; service != "" {
				return service
			}
			return strings.TrimPrefix(c.Labels["com.docker.swarm.service.name"], app.name+"_")
		}
	}
	t.Fatal("the manager has no container")
	return ""
}

// contains looks for any of the words in a stream.
func contains(t *testing.T, stream io.Reader, words [][]byte) bool {
	t.Helper()
	return firstOf(t, stream, words) >= 0
}

// firstOf gives the index of a word that is in a stream, or -1.
func firstOf(t *testing.T, stream io.Reader, words [][]byte) int {
	t.Helper()
	const overlap = 256 // longer than any word
	buffer := make([]byte, 0, 1<<20+overlap)
	for {
		n, err := io.ReadFull(stream, buffer[len(buffer):cap(buffer)])
		buffer = buffer[:len(buffer)+n]
		for i, word := range words {
			if bytes.Contains(buffer, word) {
				return i
			}
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return -1
		}
		if err != nil {
			t.Fatal(err)
		}
		buffer = buffer[:copy(buffer, buffer[len(buffer)-overlap:])]
	}
}

func aComponentIsMadeAnew(t *testing.T, app *application) {
	app.run(t, "frontend/gui", "stop", "delete")
	if state := app.state(t, "frontend/gui"); state != "deleted" {
		t.Errorf("gui is %q, want deleted", state)
	}
	left := inContainer(t, app.engine, app.container(t, "frontend"), "sh", "-c", "ls -d /opt/thinking/gui 2>/dev/null | wc -l")
	if n, _ := strconv.Atoi(strings.TrimSpace(left)); n != 0 {
		t.Error("uninstall.sh has not run")
	}
	app.run(t, "frontend/gui", "create", "configure", "start")
	eventually(t, "the page answers again", func() bool {
		status, _ := app.fetch(t, http.MethodGet, "gui_port", "/", "")
		return status == http.StatusOK
	})
	theThoughtsAreThere(t, app)
}

// aGoalIsCarriedOver replaces the units' containers and the manager's, with the
// volumes that the goal is on. Whether some unit got it anew before the manager went,
// or deploy restored it, is a matter of their order.
func aGoalIsCarriedOver(t *testing.T, app *application) {
	said := mustWith(t, app.env, "", "toskose", app.deploying(app.dir, "--up")...).stdout
	if !strings.Contains(said, "3 of 3 up") {
		t.Fatalf("deploy --up does not say that all is up:\n%s", said)
	}
	before := theGoal(t, app)
	for _, name := range []string{"docker-compose.yml", "docker-compose.local.yml"} {
		file := filepath.Join(app.dir, name)
		anew := strings.NewReplacer("-documents", "-documents-anew", "    environment:\n", "    environment:\n      ANEW: \"yes\"\n").Replace(read(t, file))
		write(t, file, anew)
	}
	said = mustWith(t, app.env, "", "toskose", app.deploying(app.dir)...).stdout
	if words := "to be created again: api, logsniffer, gui; the goal does that"; !strings.Contains(said, words) {
		t.Errorf("deploying anew does not say %q:\n%s", words, said)
	}
	must(t, "", "toskose", "wait", "--dir", app.dir, "--timeout", patience)
	counter, _, _ := strings.Cut(before, ":") // a restored goal has an id of its own
	if after := theGoal(t, app); !strings.HasPrefix(after, counter+":") {
		t.Errorf("the goal was revision %q, and is %q:\n%s", before, after, said)
	}
	eventually(t, "the page answers again", func() bool {
		status, _ := app.fetch(t, http.MethodGet, "gui_port", "/", "")
		return status == http.StatusOK
	})
}

// theGoal returns its revision.
func theGoal(t *testing.T, app *application) string {
	t.Helper()
	var goal struct{ Revision string }
	if err := json.Unmarshal([]byte(must(t, "", "toskose", "goal", "-o", "json", "--dir", app.dir).stdout), &goal); err != nil {
		t.Fatal(err)
	}
	return goal.Revision
}
