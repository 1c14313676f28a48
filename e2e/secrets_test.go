package e2e

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/docker/docker/api/types/container"
)

// hidden is a word that must be nowhere, and where it was looked for.
type hidden struct {
	word []byte
	name string
}

// looking looks for secrets.
type looking struct {
	t       *testing.T
	secrets []hidden
}

func (l *looking) add(name, word string) {
	l.secrets = append(l.secrets, hidden{[]byte(word), name},
		hidden{[]byte(base64.StdEncoding.EncodeToString([]byte(word))), name + " in base64"})
}

func (l *looking) in(where string, r io.Reader) {
	l.t.Helper()
	for _, s := range l.secrets {
		if len(s.word) < 12 {
			l.t.Fatalf("%s is too short to be looked for", s.name)
		}
	}
	words := make([][]byte, len(l.secrets))
	for i, s := range l.secrets {
		words[i] = s.word
	}
	if i := firstOf(l.t, r, words); i >= 0 {
		l.t.Errorf("%s is in %s", l.secrets[i].name, where)
	}
}

func (l *looking) inText(where, text string) {
	l.t.Helper()
	l.in(where, strings.NewReader(text))
}

// TestWhatIsSecretIsNowhereButInItsFiles: operations use what toskose.yml lists
// under secrets, with the most talkative of logs, and then it is looked for in
// all that others may come to see.
func TestWhatIsSecretIsNowhereButInItsFiles(t *testing.T) {
	t.Parallel()
	engine := dockerEngine(t)
	token, store, override := "hush-token-"+random(), "hush-store-"+random(), "hush-override-"+random()
	// What shells, YAML, Compose and configuration files take for something else comes after it.
	awkward := token + ` "$HOME" ${x} 100% ;#\'`
	more := `  mode: testing
nodes:
  box: {log_level: BLATHER, components: {keeper: {user: nobody}}}
secrets: [keeper.token, keeper.seed, keeper.login, keeper.store_password, box.DB_PASSWORD, store.STORE_PASSWORD]
`
	app := packageAs(t, engine, "testdata/safe", nil, func(string) string { return more },
		"--debug", "-i", "token="+awkward, "-i", "store_password="+store)
	app.target = byCompose
	app.deploy(t, "--debug")

	values := map[string]string{
		"INPUT_TOKEN": awkward, "INPUT_SEED": "hush-that-this-document-holds", "INPUT_LOGIN": "keeper:" + awkward,
		"INPUT_STORE_PASSWORD": store, "DB_PASSWORD": awkward + "-db",
	}
	used := func(stdout string, values map[string]string) {
		t.Helper()
		for name, value := range values {
			if digest := sha256.Sum256([]byte(value)); !strings.Contains(stdout, name+" "+hex.EncodeToString(digest[:])+"\n") {
				t.Errorf("the operation has another %s:\n%s", name, stdout)
			}
		}
		if !strings.Contains(stdout, "store +OK\n") {
			t.Errorf("the operation could not log in:\n%s", stdout)
		}
	}
	var answers strings.Builder
	post := func(operation, body string, status int) answer {
		t.Helper()
		got, said := app.post(t, "/api/v1/node/box/keeper/"+operation, body)
		if got != status {
			t.Fatalf("%s: status %d, want %d\n%s", operation, got, status, said.raw)
		}
		answers.WriteString(said.raw)
		return said
	}
	used(post("create", "", http.StatusOK).Runs[0].Stdout, values)
	used(post("delete", "", http.StatusBadGateway).Stdout, values) // it fails
	values["INPUT_TOKEN"] = override
	used(post("delete", `{"inputs": {"token": "`+override+`"}}`, http.StatusBadGateway).Stdout, values)
	post("start", "", http.StatusOK)

	anotherUserReadsNoSecret(t, func(words ...string) string { return inContainer(t, engine, app.container(t, "box"), words...) },
		"box-password", "box.DB_PASSWORD", "keeper.login", "keeper.seed", "keeper.store_password", "keeper.token")

	l := &looking{t: t}
	l.add("the token", token)
	l.add("what the document holds", values["INPUT_SEED"])
	l.add("the store's password", store)
	l.add("what was sent instead of the token", override)
	for _, name := range []string{"manager-password", "manager-secret-key", "box-password"} {
		l.add(name, strings.TrimSpace(read(t, filepath.Join(app.dir, "secrets", name))))
	}
	l.inText("what toskose said", app.said)
	l.inText("answers to operations", answers.String())
	lookInOutput(l, app)
	lookInImages(l, app)
	lookInContainers(l, app)
	lookAtTheManager(l, app)
	lookAtAnswers(l, app)
	lookAtTheUnit(l, app)
}

// post sends a request with a body.
func (a *application) post(t *testing.T, path, body string) (int, answer) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, a.manager+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.SetBasicAuth("admin", a.password)
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	return a.answered(t, request)
}

func lookInOutput(l *looking, app *application) {
	seen := 0
	err := fs.WalkDir(os.DirFS(app.dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == "secrets" {
			return fs.SkipDir
		}
		if path == "releases" { // copies of the folder, with its secrets
			info, err := d.Info()
			if err != nil || info.Mode().Perm() != 0o700 {
				l.t.Errorf("%v, %v: others may read what was released", info, err)
			}
			return fs.SkipDir
		}
		if !d.IsDir() {
			seen++
			l.inText(path, read(l.t, filepath.Join(app.dir, path)))
		}
		return nil
	})
	if err != nil || seen < 3 {
		l.t.Errorf("%d files, %v", seen, err)
	}
}

// lookInImages looks at every byte of the images: layers, manifests, settings,
// history.
func lookInImages(l *looking, app *application) {
	images := app.images(l.t)
	if len(images) != 4 { // the box's and the manager's, each by two names
		l.t.Errorf("images %q", images)
	}
	saved, err := app.engine.ImageSave(l.t.Context(), images)
	if err != nil {
		l.t.Fatal(err)
	}
	defer saved.Close()
	l.in("an image", saved)
}

// lookInContainers looks at their settings, their logs, their command lines and
// every file that was written in them.
func lookInContainers(l *looking, app *application) {
	for _, node := range []string{"box", "store", "manager"} {
		id := containerOf(l.t, app.engine, app.name, managersService(l.t, app, node))
		_, raw, err := app.engine.ContainerInspectWithRaw(l.t.Context(), id, true)
		if err != nil {
			l.t.Fatal(err)
		}
		l.in("the settings of "+node, bytes.NewReader(raw))
		logs, err := app.engine.ContainerLogs(l.t.Context(), id, container.LogsOptions{ShowStdout: true, ShowStderr: true})
		if err != nil {
			l.t.Fatal(err)
		}
		l.in("the log of "+node, logs)
		logs.Close()
		top, err := app.engine.ContainerTop(l.t.Context(), id, nil)
		if err != nil || len(top.Processes) == 0 {
			l.t.Fatalf("%v, %v", top, err)
		}
		l.inText("the command lines of "+node, fmt.Sprint(top.Processes))
		files, err := app.engine.ContainerExport(l.t.Context(), id)
		if err != nil {
			l.t.Fatal(err)
		}
		l.in("the files of "+node, files)
		files.Close()
	}
}

// lookAtAnswers looks at what is answered besides, and at problems.
func lookAtAnswers(l *looking, app *application) {
	for path, want := range map[string]int{
		"GET /api/v1/logs": http.StatusOK, "GET /api/v1/events": http.StatusOK, "GET /api/v1/executions?output=true": http.StatusOK,
		"GET /api/v1/components?processes=true": http.StatusOK, "GET /api/v1/app/goal": http.StatusOK, "POST /api/v1/app/plan": http.StatusOK,
		"GET /readyz?goal=1": http.StatusServiceUnavailable, "GET /api/v1/node/box/nobody": http.StatusNotFound, "GET /api/v1/executions/none": http.StatusNotFound,
		"POST /api/v1/node/box/keeper/create": http.StatusConflict, "PUT /api/v1/app/goal": http.StatusOK, "PATCH /api/v1/app": http.StatusMethodNotAllowed,
	} {
		method, path, _ := strings.Cut(path, " ")
		body := ""
		if method == http.MethodPost && strings.HasSuffix(path, "/plan") {
			body = `{"state": "down"}`
		} else if method == http.MethodPut {
			body = `{"state": "hush"}`
		}
		request, err := http.NewRequestWithContext(l.t.Context(), method, app.manager+path, strings.NewReader(body))
		if err != nil {
			l.t.Fatal(err)
		}
		request.SetBasicAuth("admin", app.password)
		request.Header.Set("Accept", "application/json")
		if body != "" {
			request.Header.Set("Content-Type", "application/json")
		}
		status, said := app.answered(l.t, request)
		if status != want {
			l.t.Errorf("%s %s: status %d, want %d\n%s", method, path, status, want, said.raw)
		}
		l.inText(method+" "+path, said.raw)
	}
	if status, said := app.askAs(l.t, "admin", "no "+app.password[:8], http.MethodGet, "/api/v1/app"); status != http.StatusUnauthorized {
		l.t.Errorf("a wrong password: %d", status)
	} else {
		l.inText("a refusal", said.raw)
	}
	status, said := app.ask(l.t, http.MethodPost, "/api/v1/tokens")
	if status != http.StatusCreated {
		l.t.Errorf("a token: %d", status)
	}
	l.inText("a token", said.raw)
}

func lookAtTheManager(l *looking, app *application) {
	seen := ""
	for _, path := range []string{
		"/api/v1/app", "/api/v1/node/", "/api/v1/node/box", "/api/v1/node/store", "/api/v1/node/box/keeper", "/api/v1/node/box/log",
		"/api/v1/node/box/keeper/create", "/api/v1/node/box/keeper/create/log", "/api/v1/node/box/keeper/delete",
		"/api/v1/node/box/keeper/delete/log?std_type=stderr", "/metrics", "/openapi.json", "/docs", "/healthz", "/readyz",
	} {
		status, said := app.ask(l.t, http.MethodGet, path)
		if status != http.StatusOK {
			l.t.Errorf("%s: status %d\n%s", path, status, said.raw)
		}
		seen += said.raw
		l.inText(path, said.raw)
	}
	if !strings.Contains(seen, "INPUT_TOKEN") || !strings.Contains(seen, "keeper") {
		l.t.Errorf("the manager tells nothing:\n%s", seen)
	}
}

// lookAtTheUnit calls whatever the unit offers that wants no argument, and the
// ones that read.
func lookAtTheUnit(l *looking, app *application) {
	said := inContainer(l.t, app.engine, app.container(l.t, "box"), "python3", "-c", `
import base64, os, urllib.request, xmlrpc.client
password = open("/run/secrets/box-password").read().strip()
at = "127.0.0.1:" + os.environ["SUPERVISORD_PORT"]
unit = xmlrpc.client.ServerProxy("http://admin:" + password + "@" + at + "/RPC2")
calls = 0
for name in unit.system.listMethods():
    if name.split(".")[1] in ("shutdown", "restart", "clearLog", "clearAllProcessLogs", "reloadConfig", "stopAllProcesses", "startAllProcesses"):
        continue
    for args in ((), ("keeper",), ("keeper:create",), ("keeper:create", 0, 100000), ("keeper:delete", 0, 100000), (0, 10000000)):
        if args and not name.split(".")[1].lower().startswith(("get", "read", "tail", "help")):
            continue
        try:
            print(name, args, getattr(unit, name)(*args))
            calls += 1
        except xmlrpc.client.Fault as fault:
            print(name, args, fault)
for path in ("/journal?after=", "/journal", "/components?processes=true", "/instance", "/metrics", "/healthz"):
    request = urllib.request.Request("http://" + at + path)
    request.add_header("Authorization", "Basic " + base64.b64encode(("admin:" + password).encode()).decode())
    print(path, urllib.request.urlopen(request, timeout=60).read().decode())
    calls += 1
print("calls", calls)
`)
	for _, word := range []string{"supervisor.getAllConfigInfo", "INPUT_TOKEN", `"inputs":["TOKEN"]`, `"operation":"delete"`} {
		if !strings.Contains(said, word) {
			l.t.Errorf("the unit does not tell %s:\n%s", word, said)
		}
	}
	l.inText("what the unit says", said)
}
