//go:build swarm

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

	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/network"
	"github.com/docker/docker/api/types/swarm"
	"github.com/docker/docker/client"

	"github.com/toskose/toskose/internal/freeport"
)

// unchanged is Thinking as it is.
func unchanged(*testing.T, string) {}

// newPasswords deploys other secrets in the same folder: they stay when the release
// before comes back.
func newPasswords(t *testing.T, app *application, where surroundings) {
	t.Helper()
	file := filepath.Join(app.dir, "secrets", "manager-password")
	if err := os.RemoveAll(filepath.Dir(file)); err != nil {
		t.Fatal(err)
	}
	where.packageVersion(t, app, unchanged, true)
	drawn := app.password
	if r := where.deploy(t, app); r.code != 1 || !strings.Contains(r.stderr, "--new-secrets") {
		t.Fatalf("other passwords are deployed: %v", r)
	}
	for _, step := range [][]string{{"--new-secrets", "--up"}, {"--rollback"}} {
		if r := where.deploy(t, app, step...); r.code != 0 {
			t.Fatalf("deploy %q: %v", step, r)
		}
		app.password = strings.TrimSpace(read(t, file))
		if app.password != drawn {
			t.Errorf("after deploy %q the folder has other passwords", step)
		}
		app.running(t, nil, nil, "api", "gui", "logsniffer")
		theThoughtIsThere(t, app)
	}
}

// oldSecretsLeave deploys the same again and again: no more secrets are left than the
// services have, and had before.
func oldSecretsLeave(t *testing.T, app *application, where surroundings) {
	t.Helper()
	where.packageVersion(t, app, unchanged, true)
	if r := where.deploy(t, app); r.code != 0 {
		t.Fatal(r)
	}
	label := filters.NewArgs(filters.Arg("label", "com.docker.stack.namespace="+app.name))
	secrets, err := app.engine.SecretList(t.Context(), swarm.SecretListOptions{Filters: label})
	if err != nil {
		t.Fatal(err)
	}
	services, err := app.engine.ServiceList(t.Context(), swarm.ServiceListOptions{Filters: label})
	if err != nil {
		t.Fatal(err)
	}
	var has []string
	for _, s := range services {
		for _, spec := range []*swarm.ServiceSpec{&s.Spec, s.PreviousSpec} {
			if spec != nil {
				for _, ref := range spec.TaskTemplate.ContainerSpec.Secrets {
					has = append(has, ref.SecretID)
				}
			}
		}
	}
	for _, secret := range secrets {
		if !slices.Contains(has, secret.ID) {
			t.Errorf("secret %s is left", secret.Spec.Name)
		}
	}
}

// rotatedOverNodes replaces passwords while components on two machines are started again and
// again. The manager stays on its machine, at whose port it is asked.
func rotatedOverNodes(t *testing.T, app *application, where surroundings) {
	t.Helper()
	on := running(t, app, "toskose-manager")
	if len(on) != 1 {
		t.Fatalf("the manager runs on %q", on)
	}
	must(t, "", found(t, "docker"), "service", "update", "--detach=false", "--quiet", "--no-resolve-image", "--constraint-add", "node.id=="+on[0], app.name+"_toskose-manager")
	where.deployed(t)
	app.running(t, nil, nil, "api", "gui", "logsniffer")
	rotatedOnASwarm(t, app, []string{"--passwords"}, []string{"backend", "frontend"}, []string{"api", "gui", "logsniffer"})
	where.deployed(t)
	app.running(t, nil, nil, "api", "gui", "logsniffer")
	theThoughtIsThere(t, app)
}

// itIsListed asks what runs, and what another release would change.
func itIsListed(t *testing.T, app *application, where surroundings) {
	t.Helper()
	var listed []struct {
		Name, Target string
		Up, Of       int
	}
	said := must(t, "", "toskose", "ls", "--target", "swarm", "-o", "json").stdout
	if err := json.Unmarshal([]byte(said), &listed); err != nil {
		t.Fatal(err, said)
	}
	if len(listed) != 1 || listed[0].Name != app.name || listed[0].Target != "swarm" || listed[0].Up != 4 || listed[0].Of != 4 {
		t.Errorf("it is listed as %s", said)
	}
	where.packageVersion(t, app, secondVersion, true)
	if said := must(t, "", "toskose", "diff", app.dir).stdout; !strings.Contains(said, "clock") || !strings.Contains(said, "frontend") {
		t.Errorf("the second version changes\n%s", said)
	}
	where.packageVersion(t, app, unchanged, true)
}

// besideAnother runs another archive on the swarm, whose containers have the same names, and
// takes it away by its name.
func besideAnother(t *testing.T, app *application, registry string, nodes []swarm.Node) {
	t.Helper()
	second := copyOf(t, app)
	second.packaging = append([]string{"-p", "--endpoint-mode", "dnsrr", "--publish-mode", "host"}, second.packaging...)
	source, archive := filepath.Join(t.TempDir(), "thinking"), filepath.Join(t.TempDir(), "second.csar")
	if err := os.CopyFS(source, os.DirFS("../examples/thinking")); err != nil {
		t.Fatal(err)
	}
	secondVersion(t, source)
	must(t, "", "zipcsar", renamed(t, source, second.name), archive)
	second.packaging[len(second.packaging)-2] = archive
	port := freeport.Find(t)
	second.manager = fmt.Sprintf("http://127.0.0.1:%d", port)
	config := fmt.Sprintf("manager:\n  port: %d\n  docker: {name: %s/%s-manager}\nnodes:\n", port, registry, second.name)
	for _, node := range []string{"backend", "store", "frontend"} {
		config += fmt.Sprintf("  %s:\n    deploy: {placement: {constraints: [node.id == %s]}}\n", node, nodes[0].ID)
		if node != "store" {
			config += fmt.Sprintf("    docker: {name: %s/%s-%s}\n", registry, second.name, node)
		}
	}
	write(t, second.config, config)
	must(t, "", "toskose", second.packaging...)
	must(t, "", "toskose", "deploy", "--up", "--timeout", patience, second.dir)
	second.password = strings.TrimSpace(read(t, filepath.Join(second.dir, "secrets", "manager-password")))
	second.manager = managersAddress(t, second, nodes)
	second.running(t, nil, nil, "api", "clock", "gui", "logsniffer")
	shareIn(t, second, "of the second")
	if _, body := app.fetch(t, http.MethodGet, "api_port", "/thoughts", ""); strings.Contains(body, "of the second") {
		t.Errorf("the first has what was shared in the second:\n%s", body)
	}
	if all := thoughts(t, second); strings.Contains(all, remembered) {
		t.Errorf("the second has what was shared in the first:\n%s", all)
	}
	must(t, t.TempDir(), "toskose", "undeploy", "--volumes", "--images", "--timeout", patience, second.name)
	app.running(t, nil, nil, "api", "gui", "logsniffer")
	theThoughtIsThere(t, app)
}

// engineOf returns the engine of a node, as DOCKER_HOST has it.
func engineOf(t *testing.T, node swarm.Node) string {
	t.Helper()
	for _, host := range strings.Fields(os.Getenv("TOSKOSE_ENGINES")) {
		engine, err := client.NewClientWithOpts(client.WithHost(host), client.WithAPIVersionNegotiation())
		if err != nil {
			t.Fatal(err)
		}
		defer engine.Close()
		if info, err := engine.Info(t.Context()); err == nil && info.Swarm.NodeID == node.ID {
			return host
		}
	}
	t.Fatalf("TOSKOSE_ENGINES has none of node %s", node.Description.Hostname)
	return ""
}

// aVolumeElsewhere backs up and restores the volume of store, which another machine has.
func aVolumeElsewhere(t *testing.T, app *application, node swarm.Node) {
	t.Helper()
	file, engine := filepath.Join(t.TempDir(), "thinking.tar"), engineOf(t, node)
	name := node.Description.Hostname
	if said := must(t, "", "toskose", "volume", "ls", app.dir).stdout; !strings.Contains(said, "dbvolume") || !strings.Contains(said, name) {
		t.Errorf("the volumes are\n%s", said)
	}
	refused := func(want string, args ...string) {
		t.Helper()
		if r := command(t, "", "toskose", args...); r.code != 1 || !strings.Contains(r.stderr, want) {
			t.Errorf("%q: %v, want %s", args, r, want)
		}
	}
	refused(`volume "dbvolume" is on `+name+": name the engine of that machine with --docker-url", "volume", "backup", app.name, file)
	there := func(args ...string) []string { return append([]string{"--docker-url", engine, "volume"}, args...) }
	must(t, "", found(t, "docker"), "--host", engine, "pull", "-q", managerImage(t, app))
	refused("docker service scale "+app.name+"_store=0", there("backup", "--stop", "--manager", app.manager, app.dir, file)...)
	scaled := func(replicas string) {
		t.Helper()
		must(t, "", found(t, "docker"), "service", "scale", app.name+"_store="+replicas)
	}
	scaled("0")
	must(t, "", "toskose", there("backup", app.dir, file)...)
	scaled("1")
	const later = "a thought after the backup"
	eventually(t, "a thought more is shared", func() bool {
		status, _ := app.fetch(t, http.MethodPost, "api_port", "/thoughts", `{"text": "`+later+`", "author": "A tester"}`)
		return status == http.StatusCreated
	})
	scaled("0")
	must(t, "", "toskose", there("restore", app.name, file)...)
	scaled("1")
	theThoughtIsThere(t, app)
	if _, body := app.fetch(t, http.MethodGet, "api_port", "/thoughts", ""); strings.Contains(body, later) {
		t.Errorf("what came after the backup is there:\n%s", body)
	}
}

// managerImage is as the folder has it.
func managerImage(t *testing.T, app *application) string {
	t.Helper()
	_, service, _ := strings.Cut(read(t, filepath.Join(app.dir, "docker-compose.yml")), "\n  toskose-manager:\n")
	_, image, _ := strings.Cut(service, "image: ")
	image, _, _ = strings.Cut(image, "\n")
	return strings.Trim(image, `"`)
}

// undeployedByName removes all of it that the engine has, and says what others keep.
func undeployedByName(t *testing.T, app *application, node swarm.Node) {
	t.Helper()
	r := must(t, t.TempDir(), "toskose", "undeploy", "--images", "--volumes", "--timeout", patience, app.name)
	if want := "volumes on " + node.Description.Hostname + " stay"; !strings.Contains(r.stdout+r.stderr, want) {
		t.Errorf("it does not say %q: %v", want, r)
	}
	label := filters.NewArgs(filters.Arg("label", "com.docker.stack.namespace="+app.name))
	services, err := app.engine.ServiceList(t.Context(), swarm.ServiceListOptions{Filters: label})
	if err != nil || len(services) > 0 {
		t.Errorf("services are left: %v, %v", services, err)
	}
	secrets, err := app.engine.SecretList(t.Context(), swarm.SecretListOptions{Filters: label})
	if err != nil || len(secrets) > 0 {
		t.Errorf("secrets are left: %v, %v", secrets, err)
	}
	networks, err := app.engine.NetworkList(t.Context(), network.ListOptions{Filters: label})
	if err != nil || len(networks) > 0 {
		t.Errorf("networks are left: %v, %v", networks, err)
	}
	if left := app.images(t); len(left) > 0 {
		t.Errorf("the images %q are left: %v", left, r)
	}
}
