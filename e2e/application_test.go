package e2e

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/api/types/mount"
	"github.com/docker/docker/client"

	"github.com/toskose/toskose/internal/freeport"
)

// application is one that a test has packaged and deployed.
type application struct {
	engine   *client.Client
	name     string
	dir      string // what toskose wrote
	ports    map[string]int
	manager  string // http://127.0.0.1:PORT
	password string
	said     string // by toskose

	at map[string]string // the hosts of ports that are not at 127.0.0.1, by topology input

	target    string   // byCompose or onSwarm, whatever the engine is; empty: as it is
	config    string   // its toskose.yml
	packaging []string // the arguments that it was packaged with
	env       []string // more variables for toskose

	machines []*client.Client // the engines that it runs on; none: only engine

	inside func(t *testing.T, node string, words ...string) string // runs a command in all containers of a node; nil: the engine does
}

// patience is how long an application may take to come or to go, on however
// slow a machine.
const patience = "8m"

// The ways of deploying on an engine. That it is in a swarm does not keep Compose from
// using it.
const (
	byCompose = "compose"
	onSwarm   = "swarm"
)

// forSwarm are the flags of packaging for it: neither virtual IPs nor the routing mesh
// work without IPVS in the kernel, so neither is asked for.
var forSwarm = []string{"--endpoint-mode", "dnsrr", "--publish-mode", "host"}

// deploy packages a CSAR's source tree, deploys it, and removes it when the
// test ends.
func deploy(t *testing.T, engine *client.Client, target, source string, inputs []string, flags ...string) *application {
	t.Helper()
	app := packageIt(t, engine, source, inputs, flags...)
	app.target = target
	app.deploy(t)
	return app
}

// deploy deploys what was packaged, and removes it when the test ends.
func (a *application) deploy(t *testing.T, flags ...string) {
	t.Helper()
	t.Cleanup(func() { a.undeploy(t) })
	r := mustWith(t, a.env, "", "toskose", append(flags, a.deploying(a.dir)...)...)
	a.said += r.stdout + r.stderr
	a.password = strings.TrimSpace(read(t, filepath.Join(a.dir, "secrets", "manager-password")))
}

// there is a command about a folder of the application, where that is deployed to.
func (a *application) there(dir, command string, flags ...string) []string {
	args := append([]string{command}, flags...)
	if a.target != "" {
		args = append(args, "--target", a.target)
	}
	return append(args, dir)
}

// deploying is the command that deploys a folder of the application.
func (a *application) deploying(dir string, flags ...string) []string {
	return a.there(dir, "deploy", append(flags, "--timeout", patience)...)
}

func (a *application) undeploying() []string {
	return a.there(a.dir, "undeploy", "--timeout", patience)
}

// undeploy removes it with its volumes, those that its images ask for too.
func (a *application) undeploy(t *testing.T) {
	t.Helper()
	ctx := contextAfter(t)
	byCompose := filters.NewArgs(filters.Arg("label", "com.docker.compose.project="+a.name))
	containers, err := a.engine.ContainerList(ctx, container.ListOptions{All: true, Filters: byCompose})
	if err != nil {
		t.Error(err)
	}
	what := a.dir
	if len(containers) > 0 { // by its name without Compose, which takes a second of processor time
		what = a.name
	}
	must(t, "", "toskose", a.there(what, "undeploy", "--volumes", "--timeout", patience)...)
	for _, c := range containers {
		for _, m := range c.Mounts {
			if m.Type != mount.TypeVolume {
				continue
			}
			if _, err := a.engine.VolumeInspect(ctx, m.Name); !errdefs.IsNotFound(err) {
				t.Errorf("the volume of %s at %s is left: %v", c.Names, m.Destination, err)
			}
		}
	}
}

// packageIt packages a CSAR's source tree under a name of its own, with free
// ports for its topology inputs, and removes the images when the test ends.
func packageIt(t *testing.T, engine *client.Client, source string, inputs []string, flags ...string) *application {
	t.Helper()
	return packageAs(t, engine, source, inputs, func(string) string { return "" }, flags...)
}

// packageAs is packageIt with more of a toskose.yml, which begins among what is
// the manager's; it may have to know the application's name.
func packageAs(t *testing.T, engine *client.Client, source string, inputs []string, more func(name string) string, flags ...string) *application {
	t.Helper()
	if err := bases(); err != nil {
		t.Fatalf("the base images are missing: %v", err)
	}
	app := prepare(t, engine, source, inputs, more, flags...)
	r := must(t, "", "toskose", app.packaging...)
	app.said = r.stdout + r.stderr
	return app
}

// prepare has all that packageAs packages.
func prepare(t *testing.T, engine *client.Client, source string, inputs []string, more func(name string) string, flags ...string) *application {
	t.Helper()
	name := filepath.Base(source) + "-" + run + "-" + random()
	work := t.TempDir()
	app := &application{engine: engine, name: name, dir: filepath.Join(work, "out"), ports: map[string]int{}}
	must(t, "", "zipcsar", renamed(t, source, name), filepath.Join(work, "app.csar"))

	port := freeport.Find(t)
	app.manager = fmt.Sprintf("http://127.0.0.1:%d", port)
	app.config = filepath.Join(work, "toskose.yml")
	if err := os.WriteFile(app.config, fmt.Appendf(nil, "manager:\n  port: %d\n%s", port, more(name)), 0o600); err != nil {
		t.Fatal(err)
	}
	args := append([]string{"-o", app.dir}, flags...)
	for _, input := range inputs {
		app.ports[input] = freeport.Find(t)
		args = append(args, "-i", fmt.Sprintf("%s=%d", input, app.ports[input]))
	}
	t.Cleanup(func() { app.removeImages(t) })
	app.packaging = append(args, filepath.Join(work, "app.csar"), app.config)
	return app
}

// renamed copies a CSAR's source tree, with another template_name.
func renamed(t *testing.T, source, name string) string {
	t.Helper()
	copied := filepath.Join(t.TempDir(), "csar")
	if err := os.CopyFS(copied, os.DirFS(source)); err != nil {
		t.Fatal(err)
	}
	entry := filepath.Join(copied, filepath.Base(source)+".yaml")
	old := "template_name: " + filepath.Base(source) + "\n"
	text := read(t, entry)
	if !strings.Contains(text, old) {
		t.Fatalf("%s has no %q", entry, old)
	}
	write(t, entry, strings.Replace(text, old, "template_name: "+name+"\n", 1))
	return copied
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// images gives the names of the images that were built for the application.
func (a *application) images(t *testing.T) []string {
	t.Helper()
	list, err := a.engine.ImageList(t.Context(), image.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, i := range list {
		for _, tag := range i.RepoTags {
			if strings.Contains(tag, a.name+"-") {
				out = append(out, tag)
			}
		}
	}
	return out
}

func (a *application) removeImages(t *testing.T) {
	t.Helper()
	list, err := a.engine.ImageList(contextAfter(t), image.ListOptions{})
	if err != nil {
		t.Error(err)
	}
	for _, i := range list {
		for _, tag := range i.RepoTags {
			if !strings.Contains(tag, a.name+"-") {
				continue
			}
			if _, err := a.engine.ImageRemove(contextAfter(t), tag, image.RemoveOptions{PruneChildren: true}); err != nil && !strings.Contains(err.Error(), "unrecognized image ID") { // which it has removed by now
				t.Errorf("cannot remove image %s: %v", tag, err)
			}
		}
	}
}

// container gives the running container of a node.
func (a *application) container(t *testing.T, node string) string {
	t.Helper()
	return containerOf(t, a.engine, a.name, node)
}

// placed is a container on a machine.
type placed struct {
	engine *client.Client
	id     string
}

// containers gives the running containers of a node on all machines; there has to be one.
func (a *application) containers(t *testing.T, node string) (all []placed) {
	t.Helper()
	machines := a.machines
	if machines == nil {
		machines = []*client.Client{a.engine}
	}
	eventually(t, node+" runs", func() bool {
		for _, engine := range machines {
			for _, id := range containersOf(t, engine, a.name, node) {
				all = append(all, placed{engine, id})
			}
		}
		return len(all) > 0
	})
	return all
}

// in runs a command in all containers of a node, and gives what it printed.
func (a *application) in(t *testing.T, node string, words ...string) (out string) {
	t.Helper()
	if a.inside != nil {
		return a.inside(t, node, words...)
	}
	for _, c := range a.containers(t, node) {
		out += inContainer(t, c.engine, c.id, words...)
	}
	return out
}

// answer is what the manager says: an execution, a component or a problem.
type answer struct {
	ID       string
	Ended    time.Time
	Type     string
	Detail   string
	State    string
	Outcome  string
	Allowed  []string
	ExitCode *int `json:"exit_code"`
	Stdout   string
	Stderr   string
	Runs     []struct {
		Outcome  string
		From, To string
		ExitCode *int `json:"exit_code"`
		Stdout   string
		Stderr   string
	}
	raw string
}

// ask sends one request to the manager, with the right password.
func (a *application) ask(t *testing.T, method, path string) (int, answer) {
	t.Helper()
	return a.askAs(t, "admin", a.password, method, path)
}

func (a *application) askAs(t *testing.T, user, password, method, path string) (int, answer) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, a.manager+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if user != "" {
		request.SetBasicAuth(user, password)
	}
	return a.answered(t, request)
}

func (a *application) answered(t *testing.T, request *http.Request) (int, answer) {
	t.Helper()
	status, body := send(t, request)
	said := answer{raw: string(body)}
	_ = json.Unmarshal(body, &said) // a list, or a page; raw has it
	return status, said
}

// run has the manager run operations, each of which must succeed.
func (a *application) run(t *testing.T, component string, operations ...string) {
	t.Helper()
	for _, operation := range operations {
		status, said := a.ask(t, http.MethodPost, "/api/v1/node/"+component+"/"+operation)
		if status != http.StatusOK || said.Outcome != "succeeded" {
			t.Fatalf("%s/%s: status %d\n%s", component, operation, status, said.raw)
		}
	}
}

// state gives the state of a component, as NODE/COMPONENT.
func (a *application) state(t *testing.T, component string) string {
	t.Helper()
	_, said := a.ask(t, http.MethodGet, "/api/v1/node/"+component)
	return said.State
}

// fetch sends a request to the host's port that a topology input chose.
func (a *application) fetch(t *testing.T, method, input, path, body string) (int, string) {
	t.Helper()
	host := cmp.Or(a.at[input], "127.0.0.1")
	url := fmt.Sprintf("http://%s:%d%s", host, a.ports[input], path)
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	status, data := send(t, request)
	return status, string(data)
}

// send sends a request. Status 0: nothing answers.
func send(t *testing.T, request *http.Request) (int, []byte) {
	t.Helper()
	caller := &http.Client{Timeout: 2 * time.Minute, Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := caller.Do(request)
	if err != nil {
		return 0, []byte(err.Error())
	}
	defer response.Body.Close()
	var body bytes.Buffer
	if _, err := io.Copy(&body, response.Body); err != nil {
		return 0, []byte(err.Error())
	}
	return response.StatusCode, body.Bytes()
}
