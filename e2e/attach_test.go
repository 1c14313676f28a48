package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/api/types/network"
	"github.com/docker/docker/client"
	"github.com/google/go-cmp/cmp"

	"github.com/toskose/toskose/internal/freeport"
)

// composed is a Compose project of the user.
type composed struct {
	engine *client.Client
	name   string
	dir    string
	env    []string // of toskose: its contexts are the project's own
}

// attachedFolder returns the path of testdata/attached.
func attachedFolder(t *testing.T) string {
	t.Helper()
	folder, err := filepath.Abs(filepath.Join("testdata", "attached"))
	if err != nil {
		t.Fatal(err)
	}
	return folder
}

// newComposed makes a project with two services that run supervisord, and one that does not.
func newComposed(t *testing.T) *composed {
	t.Helper()
	return newComposedOf(t, `services:
  exports:
    build: FOLDER/exports
    environment: {ENABLE_WORKER: "false", WORKERS: "3"}
    networks: [back]
  web:
    build: FOLDER/web
    volumes: ["data:/data"]
    networks: [front, back]
  store:
    image: busybox:1.36
    command: ["sleep", "1000"]
    networks: [back]
networks: {front: {}, back: {internal: true}}
volumes: {data: {}}
`)
}

// newComposedOf makes a project from a Compose file, in which FOLDER is testdata/attached and NAME the project.
func newComposedOf(t *testing.T, file string) *composed {
	t.Helper()
	p := &composed{engine: dockerEngine(t), name: "attach-" + run + "-" + random()}
	if err := bring("supervisord:test", "busybox:1.36"); err != nil {
		t.Fatal(err)
	}
	p.dir = filepath.Join(t.TempDir(), p.name)
	p.env = []string{"TOSKOSE_CONFIG=" + filepath.Join(t.TempDir(), "config")}
	if err := os.Mkdir(p.dir, 0o750); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(p.dir, "compose.yaml"), strings.NewReplacer("FOLDER", attachedFolder(t), "NAME", p.name).Replace(file))
	t.Cleanup(func() {
		if list, err := p.engine.ContainerList(contextAfter(t), container.ListOptions{All: true}); err == nil && t.Failed() {
			for _, c := range list {
				if c.Labels["com.docker.compose.project"] == p.name {
					t.Logf("%s, %s:\n%v", c.Names, c.Status, command(t, "", found(t, "docker"), "logs", "--tail", "40", c.ID))
				}
			}
		}
		p.compose(t, nil, "down", "--volumes", "--remove-orphans", "--rmi", "local", "--timeout", "1")
		p.removeImages(t)
	})
	return p
}

// removeImages removes the images whose names contain the project's name.
func (p *composed) removeImages(t *testing.T) {
	t.Helper()
	all, err := p.engine.ImageList(contextAfter(t), image.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range all {
		for _, tag := range i.RepoTags {
			if !strings.Contains(tag, p.name) {
				continue
			}
			if _, err := p.engine.ImageRemove(contextAfter(t), tag, image.RemoveOptions{PruneChildren: true}); err != nil {
				t.Errorf("cannot remove %s: %v", tag, err)
			}
		}
	}
}

// compose runs whichever Compose is installed, with the second file if it is given.
func (p *composed) compose(t *testing.T, second []string, args ...string) {
	t.Helper()
	words := []string{found(t, "docker"), "compose"}
	if exec.CommandContext(contextAfter(t), "docker", "compose", "version").Run() != nil {
		words = []string{found(t, "docker-compose")}
	}
	words = append(words, "-f", filepath.Join(p.dir, "compose.yaml"))
	for _, file := range second {
		words = append(words, "-f", file)
	}
	must(t, p.dir, words[0], append(words[1:], args...)...)
}

// toskose runs a command in the project's folder.
func (p *composed) toskose(t *testing.T, args ...string) string {
	t.Helper()
	return mustWith(t, p.env, p.dir, "toskose", args...).stdout
}

// container returns the container of a service, or nil.
func (p *composed) container(t *testing.T, service string) *container.InspectResponse {
	t.Helper()
	list, err := p.engine.ContainerList(t.Context(), container.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range list {
		if c.Labels["com.docker.compose.project"] == p.name && c.Labels["com.docker.compose.service"] == service {
			found, err := p.engine.ContainerInspect(t.Context(), c.ID)
			if err != nil {
				t.Fatal(err)
			}
			return &found
		}
	}
	return nil
}

// definition is what a second Compose file must not change of a container, or must restore.
type definition struct {
	Image               string
	Entrypoint, Command []string
	Environment, Mounts []string
	Networks            []string
}

func (p *composed) definition(t *testing.T, service string) definition {
	t.Helper()
	c := p.container(t, service)
	if c == nil {
		t.Fatalf("service %s does not run", service)
	}
	d := definition{Image: c.Image, Entrypoint: c.Config.Entrypoint, Command: c.Config.Cmd, Environment: slices.Sorted(slices.Values(c.Config.Env)), Mounts: []string{}}
	for _, m := range c.Mounts {
		d.Mounts = append(d.Mounts, m.Destination)
	}
	for name := range c.NetworkSettings.Networks {
		d.Networks = append(d.Networks, name)
	}
	slices.Sort(d.Mounts)
	slices.Sort(d.Networks)
	return d
}

// without returns the definition without what attaching adds.
func (d definition) without() definition {
	d.Environment = slices.DeleteFunc(slices.Clone(d.Environment), func(v string) bool {
		return strings.HasPrefix(v, "TOSKOSE_UNIT_") || strings.HasPrefix(v, "SUPERVISORD_PASSWORD_FILE=")
	})
	d.Mounts = slices.DeleteFunc(slices.Clone(d.Mounts), func(m string) bool {
		return m == "/usr/bin/supervisord" || m == "/toskose/documents" || strings.HasPrefix(m, "/run/secrets/toskose-unit-")
	})
	return d
}

// TestAComposeProjectIsAttachedAndRestored runs a project as it is, then with the file of toskose attach, then as it is again.
func TestAComposeProjectIsAttachedAndRestored(t *testing.T) {
	t.Parallel()
	p := newComposed(t)
	p.compose(t, nil, "up", "-d")
	before := map[string]definition{"exports": p.definition(t, "exports"), "web": p.definition(t, "web"), "store": p.definition(t, "store")}
	store := p.container(t, "store").ID

	var result struct {
		Files    []string
		Services []struct {
			Service     string
			Attached    bool
			Supervisord []string
			Port        int
			Reason      string
		}
	}
	said := p.toskose(t, "attach", "--json", "--port", fmt.Sprint(freeport.Find(t)))
	if err := json.Unmarshal([]byte(said), &result); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	for _, f := range result.Services {
		if attached := f.Service != "store"; f.Attached != attached || attached && !slices.Equal(f.Supervisord, []string{"/usr/bin/supervisord"}) {
			t.Errorf("service %s: %+v", f.Service, f)
		}
	}
	second := result.Files[1:]
	p.compose(t, second, "up", "-d")
	for name, was := range before {
		if diff := cmp.Diff(was, p.definition(t, name).without()); diff != "" {
			t.Errorf("attached, %s differs: %s", name, diff)
		}
	}
	if p.container(t, "store").ID != store {
		t.Error("the service without supervisord was replaced")
	}
	p.shows(t, "exports/app running", "web/cron running", "web/pages:nginx running", "store running")
	if said := inContainer(t, p.engine, p.container(t, "web").ID, "supervisorctl", "status", "cron"); !strings.Contains(said, "RUNNING") {
		t.Errorf("supervisorctl says %s", said)
	}
	p.toskose(t, "up")

	for _, line := range strings.Split(p.toskose(t, "detach"), "\n") {
		words := strings.Fields(line)
		if len(words) < 2 || words[0] != "docker" || words[1] != "compose" {
			continue
		}
		args := words[slices.Index(words, "compose.yaml")+1:]
		if slices.Contains(args, "compose.toskose.yml") {
			p.compose(t, second, args[2:]...)
		} else {
			p.compose(t, nil, args...)
		}
	}
	for name, was := range before {
		if diff := cmp.Diff(was, p.definition(t, name)); diff != "" {
			t.Errorf("restored, %s differs: %s", name, diff)
		}
	}
	if p.container(t, "toskose-manager") != nil {
		t.Error("the manager still runs")
	}
}

// shows waits until `toskose ps` lists components, or nodes without components, in states.
func (p *composed) shows(t *testing.T, wanted ...string) {
	t.Helper()
	eventually(t, "toskose ps lists "+strings.Join(wanted, ", "), func() bool {
		r := commandWith(t, p.env, p.dir, "toskose", "ps")
		for _, want := range wanted {
			name, state, _ := strings.Cut(want, " ")
			if !psLists(r.stdout, name, strings.TrimSpace(state)) {
				return false
			}
		}
		return true
	})
}

// psLists reports whether the output of `toskose ps` has a component, or a node without components, in a state.
func psLists(ps, name, state string) bool {
	return slices.ContainsFunc(slices.Collect(strings.Lines(ps)), func(line string) bool {
		words := strings.Fields(line)
		return slices.Contains(words, name) && slices.Contains(words, state)
	})
}

// TestAComposeProjectIsAttachedOnASwarm deploys a stack of both files on this node, which has the images.
func TestAComposeProjectIsAttachedOnASwarm(t *testing.T) {
	t.Parallel()
	engine := dockerEngine(t)
	joinSwarm(t, engine)
	info, err := engine.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	here := "placement: {constraints: [node.id == " + info.Swarm.NodeID + "]}"
	p := newComposedOf(t, `version: "3.8"
services:
  web:
    image: NAME-web
    build: FOLDER/web
    deploy: {replicas: 2, endpoint_mode: dnsrr, `+here+`}
`)
	p.compose(t, nil, "build", "-q")
	port := fmt.Sprint(freeport.Find(t))
	p.toskose(t, "attach", "--tls", "--port", port)
	second, third := filepath.Join(p.dir, "compose.toskose.yml"), filepath.Join(p.dir, "third.yml")
	p.compose(t, []string{second}, "build", "-q", "toskose-manager")
	write(t, third, "version: \"3.8\"\nservices: {toskose-manager: {deploy: {"+here+"}}}\n")
	p.deployStack(t, second, third)
	eventually(t, "both replicas are found", func() bool {
		at := p.managerOfStack(t)
		if at == "" {
			return false
		}
		r := commandWith(t, p.env, p.dir, "toskose", "ps", "--manager", "https://"+at+":"+port)
		return strings.Count(r.stdout, "web/cron ") == 2 && strings.Count(r.stdout, " running ") == 6
	})
}

// deployStack deploys the project's file and others as a stack, until the test ends.
func (p *composed) deployStack(t *testing.T, others ...string) {
	t.Helper()
	args := []string{"stack", "deploy", "--resolve-image", "never", "-c", "compose.yaml"}
	for _, file := range others {
		args = append(args, "-c", file)
	}
	mustWith(t, []string{"TOSKOSE_DISCOVERY=tasks"}, p.dir, found(t, "docker"), append(args, p.name)...)
	t.Cleanup(func() {
		must(t, "", found(t, "docker"), "stack", "rm", p.name)
		eventually(t, "the stack is removed", func() bool { return len(p.ofStack(t)) == 0 })
	})
}

// ofStack returns the containers of a stack.
func (p *composed) ofStack(t *testing.T) []container.Summary {
	t.Helper()
	list, err := p.engine.ContainerList(contextAfter(t), container.ListOptions{All: true, Filters: filters.NewArgs(filters.Arg("label", "com.docker.stack.namespace="+p.name))})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// managerOfStack returns the address of the manager's container on this machine: the routing mesh requires IPVS, which not
// every kernel has.
func (p *composed) managerOfStack(t *testing.T) string {
	t.Helper()
	for _, c := range p.ofStack(t) {
		if c.Labels["com.docker.swarm.service.name"] != p.name+"_toskose-manager" || c.State != container.StateRunning {
			continue
		}
		about, err := p.engine.ContainerInspect(t.Context(), c.ID)
		if err != nil || len(about.NetworkSettings.SandboxID) < 12 {
			return ""
		}
		bridge, err := p.engine.NetworkInspect(t.Context(), "docker_gwbridge", network.InspectOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, end := range bridge.Containers {
			if end.Name == "gateway_"+about.NetworkSettings.SandboxID[:12] {
				at, _, _ := strings.Cut(end.IPv4Address, "/")
				return at
			}
		}
	}
	return ""
}
