package e2e

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/volume"
	"github.com/docker/docker/client"
)

// adas is the one who may enter a registry with a lock, and the hash of the
// password, as htpasswd makes it.
const (
	adasPassword = "a-word-of-adas"
	adas         = "ada:$2b$04$4B1ujmWiza8YMQePCfC3n.CYoV87DHmv.be93weXnkL9SfFth2o/.\n"
)

// startRegistry runs Debian's docker-registry until the test ends, and gives
// its HOST:PORT. Of users, some may enter; of none, everybody.
func startRegistry(t *testing.T, users string) string {
	t.Helper()
	path, err := exec.LookPath("docker-registry")
	if err != nil {
		t.Skip("no docker-registry command, of Debian's package docker-registry")
	}
	dir := t.TempDir()
	config := fmt.Sprintf("version: 0.1\nstorage: {filesystem: {rootdirectory: %s/data}}\nhttp: {addr: \"127.0.0.1:0\"}\n", dir)
	if users != "" {
		config += fmt.Sprintf("auth: {htpasswd: {realm: test, path: %s/users}}\n", dir)
	}
	for name, text := range map[string]string{"config.yml": config, "users": users, "log": ""} {
		write(t, filepath.Join(dir, name), text)
	}
	log, err := os.OpenFile(filepath.Join(dir, "log"), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd := exec.CommandContext(contextAfter(t), path, "serve", filepath.Join(dir, "config.yml"))
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // it is killed
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		<-ended
	})
	return listensAt(t, filepath.Join(dir, "log"), ended)
}

func listensAt(t *testing.T, log string, ended <-chan struct{}) (host string) {
	t.Helper()
	said := regexp.MustCompile(`listening on (127\.0\.0\.1:[0-9]+)"`)
	eventually(t, "the registry listens", func() bool {
		select {
		case <-ended:
			t.Fatalf("the registry has ended:\n%s", read(t, log))
		default:
		}
		if at := said.FindStringSubmatch(read(t, log)); at != nil {
			host = at[1]
		}
		return host != ""
	})
	return host
}

// loggedIn has the application's Docker configuration hold a password for a
// registry; none, where it is empty.
func (a *application) loggedIn(t *testing.T, registry, password string) {
	t.Helper()
	plugins, err := filepath.Abs(filepath.Join(os.Getenv("DOCKER_CONFIG"), "cli-plugins"))
	if home, homeErr := os.UserHomeDir(); os.Getenv("DOCKER_CONFIG") == "" && homeErr == nil {
		plugins = filepath.Join(home, ".docker", "cli-plugins")
	}
	dir := t.TempDir()
	if err == nil {
		err = os.Symlink(plugins, filepath.Join(dir, "cli-plugins")) // Compose may be among them
	}
	config := "{}"
	if password != "" {
		config = `{"auths": {"` + registry + `": {"auth": "` + base64.StdEncoding.EncodeToString([]byte("ada:"+password)) + `"}}}`
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "config.json"), []byte(config), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	a.env = []string{"DOCKER_CONFIG=" + dir}
}

// TestImagesOnEveryBaseArePushedAndRunFromThere: some by a registry that wants
// a password, and some by one that wants none.
func TestImagesOnEveryBaseArePushedAndRunFromThere(t *testing.T) {
	t.Parallel()
	engine := dockerEngine(t)
	open, locked := startRegistry(t, ""), startRegistry(t, adas)
	if err := bring("busybox:1.36", "debian:bookworm-slim"); err != nil {
		t.Fatalf("the base images are missing: %v", err)
	}
	source := onEveryBase(t)
	app := prepare(t, engine, source, nil, func(name string) string {
		config := fmt.Sprintf("  docker: {name: %s/%s-manager}\nnodes:\n", locked, name)
		for node, registry := range map[string]string{"nothing": open, "small": open, "full": locked, "own": locked} {
			config += fmt.Sprintf("  %s: {docker: {name: %s/%s-%s}}\n", node, registry, name, node)
		}
		return config
	}, "-p")
	app.target = byCompose
	refusedWithout(t, app, locked)
	app.loggedIn(t, locked, adasPassword)
	mustWith(t, app.env, "", "toskose", app.packaging...)
	removedFromTheEngine(t, app)
	app.deploy(t)
	t.Run("documents", func(t *testing.T) { documentsStay(t, app) })
	for _, w := range []worker{
		{"nothing", "alone", open, "user 0, kept \n"},
		{"small", "clerk", open, "user 0, kept \n"},
		{"full", "servant", locked, "user 0, kept \n"},
		{"own", "guest", locked, "user 65534, kept base\n"},
	} {
		t.Run(w.node, func(t *testing.T) { w.works(t, app) })
	}
	t.Run("undeployed", func(t *testing.T) { documentsGo(t, app) })
}

// onEveryBase is testdata/bases with the programs for where there is no shell.
func onEveryBase(t *testing.T) (source string) {
	t.Helper()
	source = filepath.Join(t.TempDir(), "bases")
	if err := os.CopyFS(source, os.DirFS("testdata/bases")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"describe", "stay"} {
		mustWith(t, []string{"CGO_ENABLED=0"}, "", found(t, "go"), "build", "-trimpath", "-ldflags", "-s -w", "-o", filepath.Join(source, "worker", name), "./testdata/bases/worker")
	}
	return source
}

// refusedWithout packages without a password and with another one, which has to
// end in one message.
func refusedWithout(t *testing.T, app *application, registry string) {
	t.Helper()
	for _, password := range []string{"", "another-word"} {
		app.loggedIn(t, registry, password)
		r := commandWith(t, app.env, "", "toskose", append([]string{"--quiet"}, app.packaging...)...)
		line := strings.TrimSuffix(r.stderr, "\n")
		if r.code != 1 || r.stdout != "" || strings.Contains(line, "\n") || strings.Contains(line, "another-word") ||
			!strings.HasPrefix(line, `toskose: cannot push image "`+registry) || !strings.Contains(line, "`docker login "+registry+"`") {
			t.Errorf("with password %q: %v", password, r)
		}
		if _, err := os.Stat(app.dir); err == nil {
			t.Errorf("with password %q manifests were written", password)
		}
	}
}

// removedFromTheEngine removes the images, so that they can only be pulled.
func removedFromTheEngine(t *testing.T, app *application) {
	t.Helper()
	var ids []string
	for _, name := range app.images(t) {
		if made, err := app.engine.ImageInspect(t.Context(), name); err == nil {
			ids = append(ids, made.ID)
		}
	}
	if len(ids) < 5 {
		t.Errorf("the engine has %d images only", len(ids))
	}
	app.removeImages(t)
	for _, id := range ids {
		if _, err := app.engine.ImageInspect(t.Context(), id); !client.IsErrNotFound(err) { //nolint:staticcheck // its successor is a module of its own
			t.Errorf("image %s is still there: %v", id, err)
		}
	}
}

// worker is a component of testdata/bases: where it is, whose image that is,
// and what its creation says.
type worker struct{ node, name, registry, says string }

// healthy waits until a container's health check succeeds.
func healthy(t *testing.T, app *application, id string) (is container.InspectResponse) {
	t.Helper()
	eventually(t, id+" is healthy", func() bool {
		var err error
		if is, err = app.engine.ContainerInspect(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		return is.State.Health != nil && is.State.Health.Status == container.Healthy
	})
	return is
}

// documentsStay gives a document to a unit that does not run as root, and asks
// the one in the next container for it.
func documentsStay(t *testing.T, app *application) {
	login := base64.StdEncoding.EncodeToString([]byte("admin:" + strings.TrimSpace(read(t, filepath.Join(app.dir, "secrets", "own-password")))))
	ask := func(request string) string {
		t.Helper()
		id := app.container(t, "own")
		healthy(t, app, id)
		head := "\r\nHost: unit\r\nConnection: close\r\nAuthorization: Basic " + login + "\r\n"
		return inContainer(t, app.engine, id, "sh", "-c", `printf %s "$1" | nc 127.0.0.1 "$SUPERVISORD_PORT"`, "sh", strings.Replace(request, "\n", head, 1))
	}
	const document = `{"state": "up"}`
	if said := ask(fmt.Sprintf("PUT /documents/goal HTTP/1.1\nToskose-Revision: 7:own\r\nContent-Length: %d\r\n\r\n%s", len(document), document)); !strings.HasPrefix(said, "HTTP/1.1 201 ") {
		t.Fatalf("the unit does not keep it:\n%s", said)
	}
	first := app.container(t, "own")
	words := []string{"compose"}
	command := found(t, "docker")
	if exec.CommandContext(t.Context(), command, "compose", "version").Run() != nil {
		command, words = found(t, "docker-compose"), nil
	}
	must(t, "", command, append(words, "-p", app.name, "-f", filepath.Join(app.dir, "docker-compose.local.yml"),
		"up", "-d", "--no-deps", "--force-recreate", "own")...)
	if app.container(t, "own") == first {
		t.Fatal("it is the same container")
	}
	if said := ask("GET /documents/goal HTTP/1.1\n\r\n"); !strings.HasPrefix(said, "HTTP/1.1 200 ") || !strings.Contains(said, "Toskose-Revision: 7:own\r\n") || !strings.HasSuffix(said, document) {
		t.Errorf("it is not kept:\n%s", said)
	}
}

// documentsGo undeploys an application, after which no document is left and all
// of its own volumes are.
func documentsGo(t *testing.T, app *application) {
	volumes := func() (names []string) {
		list, err := app.engine.VolumeList(t.Context(), volume.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range list.Volumes {
			if strings.HasPrefix(v.Name, app.name+"_") {
				names = append(names, strings.TrimPrefix(v.Name, app.name+"_"))
			}
		}
		slices.Sort(names)
		return names
	}
	if got, want := volumes(), []string{"files", "full-documents", "nothing-documents", "own-documents", "small-documents"}; !slices.Equal(got, want) {
		t.Errorf("deployed, it has the volumes %q", got)
	}
	must(t, "", "toskose", app.undeploying()...)
	if got := volumes(); !slices.Equal(got, []string{"files"}) {
		t.Errorf("undeployed, it has the volumes %q", got)
	}
}

// works has it go through its life in a container whose image was pulled.
func (w worker) works(t *testing.T, app *application) {
	id := app.container(t, w.node)
	is := healthy(t, app, id)
	image, err := app.engine.ImageInspect(t.Context(), is.Image)
	if err != nil || len(image.RepoDigests) != 1 || !strings.HasPrefix(image.RepoDigests[0], w.registry+"/") {
		t.Errorf("the image is from %q, %v", image.RepoDigests, err)
	}
	first := ""
	top, err := app.engine.ContainerTop(t.Context(), id, []string{"-eo", "pid,args"})
	for _, p := range top.Processes {
		if p[0] == strconv.Itoa(is.State.Pid) {
			first = p[1]
		}
	}
	if err != nil || !strings.HasPrefix(first, "/toskose/unit/toskose-unit") {
		t.Errorf("the first of its processes is %q, %v", first, err)
	}
	component := w.node + "/" + w.name
	status, said := app.ask(t, http.MethodPost, "/api/v1/node/"+component+"/create")
	if status != http.StatusOK || len(said.Runs) != 1 || said.Runs[0].Stdout != w.says {
		t.Errorf("create: status %d, want %q\n%s", status, w.says, said.raw)
	}
	app.run(t, component, "start")
	if state := app.state(t, component); state != "running" {
		t.Errorf("%s is %q, want running", component, state)
	}
	if err := app.engine.ContainerStop(t.Context(), id, container.StopOptions{}); err != nil {
		t.Fatal(err)
	}
	if is, err = app.engine.ContainerInspect(t.Context(), id); err != nil || is.State.Running || is.State.ExitCode != 0 {
		t.Errorf("it ended with %+v, %v", is.State, err)
	}
}
