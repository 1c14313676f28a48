package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/network"
	"github.com/docker/docker/api/types/volume"

	"github.com/toskose/toskose/internal/freeport"
)

// aCopySharesTheEngine runs a copy of Thinking beside it, from the same archive, and takes
// the copy away by its name.
func aCopySharesTheEngine(t *testing.T, first *application) {
	second := copyOf(t, first)
	portsInUse(t, first, second)
	second.deploy(t)
	for _, app := range []*application{first, second} {
		must(t, "", "toskose", "up", "--dir", app.dir, "--timeout", patience)
	}
	shareIn(t, first, "of the first")
	if strings.Contains(thoughts(t, second), "of the first") {
		t.Error("the second has what was shared in the first")
	}
	bothAreListed(t, "compose", first, second)
	theDataIsCopied(t, first, second)
	left, err := first.engine.ContainerList(t.Context(), container.ListOptions{All: true, Filters: filters.NewArgs(
		filters.Arg("label", "io.toskose.app="+first.name))})
	if err != nil || len(left) != 4 {
		t.Errorf("there are %d containers of the first, %v; want 4: none that copied", len(left), err)
	}
	oneIsUndeployedByItsName(t, first, second)
}

// copyOf packages an application's archive under another name, with ports of its own.
func copyOf(t *testing.T, of *application, flags ...string) *application {
	t.Helper()
	work := t.TempDir()
	app := &application{engine: of.engine, name: of.name + "-copy", target: of.target, dir: filepath.Join(work, "out"), ports: map[string]int{}, config: filepath.Join(work, "toskose.yml")}
	app.packaging = append([]string{"--name", app.name, "-o", app.dir}, flags...)
	for input := range of.ports {
		app.ports[input] = freeport.Find(t)
		app.packaging = append(app.packaging, "-i", fmt.Sprintf("%s=%d", input, app.ports[input]))
	}
	t.Cleanup(func() { app.removeImages(t) })
	app.packaging = append(app.packaging, of.packaging[len(of.packaging)-2], app.config)
	return app
}

// setPort sets the manager's port, and packages the application.
func (a *application) setPort(t *testing.T, port string) result {
	t.Helper()
	a.manager = "http://127.0.0.1:" + port
	write(t, a.config, "manager: {port: "+port+"}\n")
	return must(t, "", "toskose", a.packaging...)
}

// portsInUse packages the second with the port of the first's manager, which is no
// mistake yet, deploys it, which is one, and packages it with a port of its own.
func portsInUse(t *testing.T, first, second *application) {
	t.Helper()
	port := first.manager[strings.LastIndex(first.manager, ":")+1:]
	want := fmt.Sprintf("port %s/tcp is in use by container", port)
	whose := fmt.Sprintf("of application %q: change it (manager.port in toskose.yml)", first.name)
	for what, said := range map[string]result{
		"packaging": second.setPort(t, port),
		"deploying": command(t, "", "toskose", second.deploying(second.dir)...),
	} {
		if !strings.Contains(said.stderr, want) || !strings.Contains(said.stderr, whose) || (what == "deploying") != (said.code == 1) {
			t.Errorf("%s does not say %q %q: %v", what, want, whose, said)
		}
	}
	if left := madeFor(t, second); len(left) > 0 {
		t.Errorf("before it was refused, it made %q", left)
	}
	if said := second.setPort(t, fmt.Sprint(freeport.Find(t))); strings.Contains(said.stderr, "in use") {
		t.Errorf("with its own port: %v", said)
	}
}

// madeFor gives the names of an application's containers, volumes and networks.
func madeFor(t *testing.T, app *application) (names []string) {
	t.Helper()
	label := filters.NewArgs(filters.Arg("label", "com.docker.compose.project="+app.name))
	containers, err := app.engine.ContainerList(t.Context(), container.ListOptions{All: true, Filters: label})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range containers {
		names = append(names, "container "+c.ID)
	}
	volumes, err := app.engine.VolumeList(t.Context(), volume.ListOptions{Filters: label})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range volumes.Volumes {
		names = append(names, "volume "+v.Name)
	}
	networks, err := app.engine.NetworkList(t.Context(), network.ListOptions{Filters: label})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range networks {
		names = append(names, "network "+n.Name)
	}
	slices.Sort(names)
	return names
}

// shareIn shares a thought through the page of an application.
func shareIn(t *testing.T, app *application, thought string) {
	t.Helper()
	eventually(t, "a thought is shared", func() bool {
		status, _ := app.fetch(t, http.MethodPost, "gui_port", "/api/thoughts", fmt.Sprintf(`{"text": %q, "author": "A tester"}`, thought))
		return status == http.StatusCreated
	})
	if all := thoughts(t, app); !strings.Contains(all, thought) {
		t.Fatalf("%q is not there: %s", thought, all)
	}
}

// thoughts gives all that were shared.
func thoughts(t *testing.T, app *application) (body string) {
	t.Helper()
	eventually(t, "the API answers through the page", func() bool {
		var status int
		status, body = app.fetch(t, http.MethodGet, "gui_port", "/api/thoughts", "")
		return status == http.StatusOK
	})
	return body
}

func bothAreListed(t *testing.T, target string, apps ...*application) {
	t.Helper()
	type entry struct {
		Name, Target, Manager, Dir string
		Up, Of                     int
	}
	var listed []entry
	said := must(t, "", "toskose", "ls", "--target", target, "-o", "json").stdout
	if err := json.Unmarshal([]byte(said), &listed); err != nil {
		t.Fatal(err, said)
	}
	for _, app := range apps {
		i := slices.IndexFunc(listed, func(l entry) bool { return l.Name == app.name })
		if i < 0 {
			t.Errorf("%s is not listed:\n%s", app.name, said)
			continue
		}
		l := listed[i]
		if at := strings.Replace(app.manager, "127.0.0.1", "localhost", 1); l.Target != target || l.Up != 4 || l.Of != 4 || l.Manager != at || l.Dir != app.dir {
			t.Errorf("%s is listed as %+v, and its manager is at %s", app.name, l, at)
		}
	}
	if table := must(t, "", "toskose", "ls", "--target", target).stdout; !strings.Contains(table, apps[0].name) || !strings.HasPrefix(table, "NAME ") {
		t.Errorf("the table has no %s:\n%s", apps[0].name, table)
	}
}

// oneIsUndeployedByItsName removes the second with all that it has, from a folder that has
// nothing to do with it.
func oneIsUndeployedByItsName(t *testing.T, first, second *application) {
	t.Helper()
	elsewhere := t.TempDir()
	r := command(t, elsewhere, "toskose", "undeploy", "--target", byCompose, second.name+"-nowhere")
	if r.code != 1 || !strings.Contains(r.stderr, "was not packaged by toskose, and no application of that name runs: there are ") || !strings.Contains(r.stderr, second.name) {
		t.Errorf("an unknown name: %v", r)
	}
	before := madeFor(t, first)
	r = must(t, elsewhere, "toskose", "undeploy", "--target", byCompose, "--images", "--volumes", second.name)
	if left := madeFor(t, second); len(left) > 0 {
		t.Errorf("%q is left: %v", left, r)
	}
	if left := second.images(t); len(left) > 0 {
		t.Errorf("the images %q are left: %v", left, r)
	}
	if after := madeFor(t, first); !slices.Equal(before, after) {
		t.Errorf("the first had %q and has %q", before, after)
	}
	if len(first.images(t)) == 0 {
		t.Error("the images of the first are gone")
	}
	for _, ref := range publicImages {
		if _, err := first.engine.ImageInspect(t.Context(), ref); err != nil {
			t.Errorf("a base is gone: %v", err)
		}
	}
	if !strings.Contains(thoughts(t, first), "of the first") {
		t.Error("the first has lost what was shared")
	}
}

// theDataIsCopied backs up the first's volume and restores it into the second.
func theDataIsCopied(t *testing.T, first, second *application) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "thinking.tar")
	if r := must(t, "", "toskose", "volume", "ls", first.name); !strings.Contains(r.stdout, "dbvolume") || !strings.Contains(r.stdout, "store") || strings.Contains(r.stdout, "documents") {
		t.Errorf("the volumes: %v", r)
	}
	r := must(t, "", "toskose", "volume", "backup", "--stop", first.dir, file)
	if !strings.Contains(r.stdout, "starting the container") || !strings.Contains(r.stdout, file+" has dbvolume of "+first.name) {
		t.Errorf("the backup: %v", r)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v, %v", info, err)
	}
	refused := func(want string, args ...string) {
		t.Helper()
		if r := command(t, "", "toskose", append([]string{"volume"}, args...)...); r.code != 1 || !strings.Contains(r.stderr, want) {
			t.Errorf("%q: %v, want %s", args, r, want)
		}
	}
	refused("is there already: --force replaces it", "backup", first.name, file)
	refused("and runs: --stop stops what uses it", "restore", second.name, file)
	refused(`no volume of an application "nobody" is on the engine`, "backup", "nobody", file+"-2")
	refused(`has no volume "x"; it has dbvolume`, "restore", "--stop", "--volume", "x", second.name, file)
	cut := file + "-cut"
	write(t, cut, read(t, file)[:2048])
	refused("it is not a complete backup: it ends in the middle", "restore", "--stop", second.name, cut)
	if strings.Contains(thoughts(t, second), "of the first") {
		t.Error("the second has the data before it was restored")
	}
	must(t, "", "toskose", "volume", "restore", "--stop", second.name, file)
	for _, app := range []*application{first, second} {
		eventually(t, "the thought of the first is in "+app.name, func() bool { return strings.Contains(thoughts(t, app), "of the first") })
	}
}
