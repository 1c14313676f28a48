package conflict

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/swarm"
	"github.com/docker/docker/api/types/system"
	"github.com/docker/docker/client"
	"github.com/google/go-cmp/cmp"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/compose"
	testengine "github.com/toskose/toskose/packager/internal/engine"
	"github.com/toskose/toskose/packager/output"
)

func TestAPortInUseIsNamedWithItsHolderAndItsSetting(t *testing.T) {
	t.Parallel()
	manager := Port{Number: 10000, Protocol: "tcp", Setting: settingOf(true, "toskose-manager")}
	onHost := manager
	onHost.Host = true
	other := holder{port: 10000, protocol: "tcp", who: `container "blog_manager_1" of application "blog"`}
	own := holder{port: 10000, protocol: "tcp", who: `container "shop_manager_1" of application "shop"`, own: true}
	inside, outside, loopback := manager, manager, other
	inside.At, outside.At, loopback.at = "127.0.0.1", "192.0.2.7", "127.0.0.1"
	sixth, fourth, sixths := manager, other, other
	sixth.At, fourth.at, sixths.at = "::1", "0.0.0.0", "::"
	elsewhere := other
	elsewhere.host = true
	for _, tt := range []struct {
		name    string
		port    Port
		holders []holder
		here    bool
		free    bool
		want    string
	}{
		{"nobody", manager, nil, true, true, ""},
		{"another application", manager, []holder{other, other}, true, true, `port 10000/tcp is in use by container "blog_manager_1" of application "blog": change it (manager.port in toskose.yml), or stop that`},
		{"the same application", manager, []holder{own}, true, false, ""},
		{"another, where the application is, too", manager, []holder{own, other}, true, false, `in use by container "blog_manager_1"`},
		{"another protocol", manager, []holder{{port: 10000, protocol: "udp"}}, false, false, ""},
		{"another port", manager, []holder{{port: 10001, protocol: "tcp"}}, false, false, ""},
		{"a program", manager, nil, true, false, "port 10000/tcp is in use by a program on this machine: change it (manager.port in toskose.yml), or stop that"},
		{"a program, perhaps, on another machine", manager, nil, false, false, ""},
		{"another address", outside, []holder{loopback}, false, true, ""},
		{"the same address", inside, []holder{loopback}, false, true, "in use"},
		{"one of all addresses", inside, []holder{other}, false, true, "in use"},
		{"all, of which one is taken", manager, []holder{loopback}, false, true, "in use"},
		{"all of the other family's", sixth, []holder{fourth}, false, true, ""},
		{"all of its own family's", sixth, []holder{fourth, sixths}, false, true, "in use"},
		{"a port of one machine of a swarm's", onHost, []holder{elsewhere}, false, true, ""},
		{"a port of one machine, wanted of all", manager, []holder{elsewhere}, false, true, "in use"},
		{"a port of all machines, wanted of one", onHost, []holder{other}, false, true, "in use"},
	} {
		err := taken([]Port{tt.port}, tt.holders, tt.here, func(Port) bool { return tt.free })
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}

func TestAPortIsFreeUntilSomebodyListens(t *testing.T) {
	t.Parallel()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := Port{Number: listener.Addr().(*net.TCPAddr).Port, Protocol: "tcp"}
	if free(t.Context(), port) {
		t.Errorf("port %d is free while it is listened at", port.Number)
	}
	elsewhere := port
	if elsewhere.At = "127.0.0.2"; !free(t.Context(), elsewhere) {
		t.Errorf("port %d is taken at an address at which nobody listens", port.Number)
	}
	listener.Close()
	if sixth, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp6", "[::1]:0"); err == nil { // where there is IPv6
		defer sixth.Close()
		port := Port{Number: sixth.Addr().(*net.TCPAddr).Port, Protocol: "tcp"}
		for at, want := range map[string]bool{"": false, "::": false, "::1": false, "127.0.0.1": true} {
			if port.At = at; free(t.Context(), port) != want {
				t.Errorf("port %d, listened at by ::1, is free at %q: %v", port.Number, at, !want)
			}
		}
	}
	packets, err := (&net.ListenConfig{}).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer packets.Close()
	if port := (Port{Number: packets.LocalAddr().(*net.UDPAddr).Port, Protocol: "udp"}); free(t.Context(), port) {
		t.Errorf("udp port %d is free while it is listened at", port.Number)
	}
}

// engine is one that has containers and, with services, is a manager of a swarm.
func engine(t *testing.T, containers []container.Summary, services []swarm.Service) (*client.Client, system.Info) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var answer any = containers
		if strings.HasSuffix(r.URL.Path, "/services") {
			answer = services
		}
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	docker, err := client.NewClientWithOpts(client.WithHost("tcp://"+strings.TrimPrefix(server.URL, "http://")), client.WithVersion("1.41"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { docker.Close() })
	return docker, system.Info{Swarm: swarm.Info{ControlAvailable: services != nil, Nodes: 1}}
}

func service(name string, labels, own map[string]string, ports ...swarm.PortConfig) swarm.Service {
	s := swarm.Service{Endpoint: swarm.Endpoint{Ports: ports}}
	s.Spec.Name, s.Spec.Labels = name, labels
	s.Spec.TaskTemplate.ContainerSpec = &swarm.ContainerSpec{Labels: own}
	return s
}

func TestANameThatIsSomebodyElsesIsRefused(t *testing.T) {
	t.Parallel()
	ours := map[string]string{packager.LabelApp: "shop"}
	for name, tt := range map[string]struct {
		containers []container.Summary
		services   []swarm.Service
		want       string
	}{
		"nothing":           {},
		"the application":   {containers: []container.Summary{{Names: []string{"/shop_api_1"}, Labels: map[string]string{compose.LabelProject: "shop", packager.LabelApp: "shop"}}}},
		"another project":   {containers: []container.Summary{{Names: []string{"/blog_api_1"}, Labels: map[string]string{compose.LabelProject: "blog"}}}},
		"a project":         {containers: []container.Summary{{Names: []string{"/shop_db_1"}, Labels: map[string]string{compose.LabelProject: "shop"}}}, want: `a Compose project "shop" that toskose did not create exists already, with container "shop_db_1": package it under another name, with --name`},
		"the application's": {services: []swarm.Service{service("shop_api", map[string]string{compose.LabelStack: "shop"}, ours)}},
		"another stack":     {services: []swarm.Service{service("blog_api", map[string]string{compose.LabelStack: "blog"}, nil)}},
		"a stack":           {services: []swarm.Service{service("shop_db", map[string]string{compose.LabelStack: "shop"}, nil)}, want: `a stack "shop" that toskose did not create exists already, with service "shop_db"`},
		"it runs by Compose": {
			containers: []container.Summary{{State: container.StateRunning, Labels: map[string]string{compose.LabelProject: "shop", packager.LabelApp: "shop"}}}, services: []swarm.Service{},
			want: "\"shop\" runs on this engine by Compose, and the engine is in a swarm: name --target compose, or remove it first, with `toskose undeploy --target compose`",
		},
		"it has run by Compose": {containers: []container.Summary{{State: container.StateExited, Labels: map[string]string{compose.LabelProject: "shop", packager.LabelApp: "shop"}}}, services: []swarm.Service{}},
		"a task of its stack": {
			containers: []container.Summary{{State: container.StateRunning, Labels: map[string]string{compose.LabelStack: "shop", packager.LabelApp: "shop"}}}, services: []swarm.Service{},
		},
		"a service's project": {services: []swarm.Service{service("shop", map[string]string{compose.LabelProject: "shop"}, nil)}},
	} {
		docker, info := engine(t, tt.containers, tt.services)
		err := On(docker, info, "shop", tt.services != nil).Name(t.Context())
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
}

// TestAStackIsNotDeployedByComposeToo, on an engine that is in a swarm; its ports are the application's own.
func TestAStackIsNotDeployedByComposeToo(t *testing.T) {
	t.Parallel()
	mine := service("shop_manager", map[string]string{compose.LabelStack: "shop"}, map[string]string{packager.LabelApp: "shop"}, swarm.PortConfig{PublishedPort: 10000, Protocol: "tcp"})
	docker, info := engine(t, nil, []swarm.Service{mine})
	on := On(docker, info, "shop", false)
	if err := on.Name(t.Context()); err == nil || err.Error() != "\"shop\" runs as a stack of the engine's swarm: name --target swarm, or remove it first, with `toskose undeploy --target swarm`" {
		t.Error(err)
	}
	if err := on.Ports(t.Context(), []Port{{10000, "tcp", false, "a", ""}}); err != nil {
		t.Error(err)
	}
	if err := On(docker, info, "blog", false).Name(t.Context()); err != nil {
		t.Errorf("another application: %v", err)
	}
}

func TestANameThatAContainerOfAnotherApplicationHasIsRefused(t *testing.T) {
	t.Parallel()
	one := func(name, project string) []container.Summary {
		return []container.Summary{{Names: []string{"/" + name}, Labels: map[string]string{compose.LabelProject: project, packager.LabelApp: project}}}
	}
	for name, tt := range map[string]struct {
		app        string
		containers []container.Summary
		services   []swarm.Service
		want       string
	}{
		"a longer name of the other service":     {app: "shop-web", containers: one("shop-web-db-1", "shop"), want: `"db" would have the name of container "shop-web-db-1" of application "shop": package it under another name, with --name`},
		"a longer name of the other application": {app: "shop", containers: one("shop-web-db-2", "shop-web"), want: `"web-db" would have the name of container "shop-web-db-2" of application "shop-web"`},
		"a container of nobody's":                {app: "shop", containers: []container.Summary{{Names: []string{"/shop-db-1"}}}, want: `"db" would have the name of container "shop-db-1": `},
		"its own":                                {app: "shop", containers: one("shop-web-db-1", "shop")},
		"another service of the other":           {app: "shop", containers: one("shop-web-gui-1", "shop-web")},
		"by the Compose that has underscores":    {app: "shop-web", containers: one("shop_web-db_1", "shop")},
		"a service of the stack":                 {app: "shop", services: []swarm.Service{service("shop_db", map[string]string{compose.LabelStack: "shop"}, nil)}},
		"a service of another stack":             {app: "shop", services: []swarm.Service{service("shop-web_db", map[string]string{compose.LabelStack: "shop-web"}, nil)}},
		"a service of no stack":                  {app: "shop", services: []swarm.Service{service("shop_db", nil, nil)}, want: `"db" would have the name of service "shop_db": `},
	} {
		docker, info := engine(t, tt.containers, tt.services)
		err := On(docker, info, tt.app, tt.services != nil).Parts(t.Context(), []string{"db", "web-db"})
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
}

func TestPortsOfContainersAndServicesAreAnothersOrTheApplicationsOwn(t *testing.T) {
	t.Parallel()
	docker, info := engine(t, []container.Summary{
		{Names: []string{"/blog_manager_1"}, Labels: map[string]string{compose.LabelProject: "blog", packager.LabelApp: "blog"}, Ports: []container.Port{{PublicPort: 9001, Type: "tcp"}, {PrivatePort: 9005}}},
		{Names: []string{"/shop_api_1"}, Labels: map[string]string{compose.LabelProject: "shop", packager.LabelApp: "shop"}, Ports: []container.Port{{PublicPort: 9002, Type: "tcp"}}},
		{Names: []string{"/db"}, Ports: []container.Port{{PublicPort: 9003, Type: "udp"}}},
	}, []swarm.Service{
		service("wiki_gui", map[string]string{compose.LabelStack: "wiki"}, nil, swarm.PortConfig{PublishedPort: 9004, Protocol: "tcp"}),
	})
	ports := []Port{{9001, "tcp", false, "a", ""}, {9002, "tcp", false, "b", ""}, {9003, "udp", false, "c", ""}, {9004, "tcp", false, "d", ""}, {9005, "tcp", false, "e", ""}}
	err := On(docker, info, "shop", false).Ports(t.Context(), ports)
	want := `port 9001/tcp is in use by container "blog_manager_1" of application "blog": change it (a), or stop that
port 9003/udp is in use by container "db": change it (c), or stop that
port 9004/tcp is in use by service "wiki_gui" of "wiki": change it (d), or stop that`
	if err == nil {
		t.Fatal("nothing is in use")
	}
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Error(diff)
	}
}

func TestPortsAreReadFromAFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := `services:
  frontend:
    ports:
      - {target: 80, published: 8080, protocol: tcp, mode: ingress}
  store: {}
  toskose-manager:
    ports:
      - {target: 10000, published: 10000, protocol: tcp, mode: host}
`
	if err := os.WriteFile(filepath.Join(dir, compose.SwarmFile), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	info := output.Info{Manager: output.Manager{Service: "toskose-manager"}}
	got, err := PortsOf(dir, info, true)
	if err != nil {
		t.Fatal(err)
	}
	want := []Port{{8080, "tcp", false, `property ports of container "frontend", or its ports in toskose.yml`, ""}, {10000, "tcp", true, "manager.port in toskose.yml", ""}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	local := "services:\n  frontend: {ports: ['127.0.0.1:8080:80/tcp', '[::1]:8080:80/udp', {target: 81, published: 81, protocol: tcp, mode: ingress}]}\n"
	if err := os.WriteFile(filepath.Join(dir, compose.LocalFile), []byte(local), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err = PortsOf(dir, info, false); err != nil || len(got) != 2 {
		t.Errorf("the folder of an earlier version has %v, %v", got, err)
	}
	info.Manager.Bind = "127.0.0.1"
	if got, err = PortsOf(dir, info, false); err != nil {
		t.Fatal(err)
	}
	setting := want[0].Setting
	want = []Port{{8080, "tcp", false, setting, "127.0.0.1"}, {8080, "udp", false, setting, "::1"}, {81, "tcp", false, setting, ""}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestPortsThatPodmanDoesNotListAreTheApplicationsOwn: of several successive ports of a container, Podman lists the first one.
func TestPortsThatPodmanDoesNotListAreTheApplicationsOwn(t *testing.T) {
	t.Parallel()
	docker := testengine.Fake(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/own/json") {
			fmt.Fprint(w, `{"HostConfig": {"PortBindings": {"80/tcp": [{"HostPort": "8081"}], "81/tcp": [{"HostIp": "", "HostPort": "8082"}]}}}`)
			return
		}
		fmt.Fprintf(w, `[{"Id": "own", "State": "running", "Labels": {%q: "shop", %q: "shop"}}, {"Id": "other", "State": "running", "Labels": {}}]`, packager.LabelApp, compose.LabelProject)
	})
	e := On(docker, system.Info{}, "shop", false)
	for port, want := range map[Port]bool{
		{Number: 8082, Protocol: "tcp"}: true, {Number: 8082, Protocol: "udp"}: false, {Number: 8083, Protocol: "tcp"}: false,
	} {
		if got := e.publishes(t.Context(), port); got != want {
			t.Errorf("%+v: %v", port, got)
		}
	}
}

// TestConflictsAreMistakesOfTheDocumentation: docs/mistakes.md has the messages.
func TestConflictsAreMistakesOfTheDocumentation(t *testing.T) {
	t.Parallel()
	manager := Port{Number: 10000, Protocol: "tcp", Setting: settingOf(true, "toskose-manager")}
	inUse := taken([]Port{manager}, []holder{{port: 10000, protocol: "tcp", who: `container "blog_manager_1" of application "blog"`}}, true, func(Port) bool { return true })
	docker, info := engine(t, []container.Summary{{Names: []string{"/shop_db_1"}, Labels: map[string]string{compose.LabelProject: "shop"}}}, nil)
	for name, err := range map[string]error{"port-in-use": inUse, "name-taken": On(docker, info, "shop", false).Name(t.Context())} {
		want, failed := os.ReadFile("../../cmd/toskose/testdata/mistakes/" + name + ".golden")
		if failed != nil {
			t.Fatal(failed)
		}
		if err == nil || "toskose: "+err.Error()+"\n" != string(want) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
}
