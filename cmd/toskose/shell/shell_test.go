package shell

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/network"

	managerclient "github.com/toskose/toskose/manager/client"
	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/command"
)

func TestTheReplicaIsTheWantedOneOrTheFirstThatResponds(t *testing.T) {
	t.Parallel()
	app := managerclient.App{Name: "shop", Components: []managerclient.Component{
		{Name: "api", Node: "backend", Replicas: []managerclient.Replica{
			{Address: "10.0.0.1:9001", Problem: "unreachable"}, {Address: "10.0.0.2:9001", Instance: "b2"}, {Address: "[fd00::3]:9001", Instance: "b3"},
		}},
		{Name: "web/app", Node: "web", Replicas: []managerclient.Replica{{Address: "10.0.0.4:9001"}}},
		{Name: "gone", Node: "lost"},
	}}
	for _, tt := range []struct{ component, replica, address, program, says string }{
		{"api", "", "10.0.0.2", "api", ""},
		{"api", "b3", "fd00::3", "api", ""},
		{"api", "10.0.0.1", "10.0.0.1", "api", ""},
		{"api", "b9", "", "", `component "api" has no replica "b9"`},
		{"web/app", "", "10.0.0.4", "app", ""},
		{"gone", "", "", "", "no container of component"},
		{"apu", "", "", "", `did you mean "api"?`},
	} {
		at, err := choose(app, tt.component, tt.replica)
		if tt.says != "" {
			if err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%s %s: %v", tt.component, tt.replica, err)
			}
			continue
		}
		if err != nil || at.address != tt.address || at.program != tt.program || at.app != "shop" {
			t.Errorf("%s %s: %+v, %v", tt.component, tt.replica, at, err)
		}
	}
}

func TestTheContainerIsFoundByItsLabelsAndAddress(t *testing.T) {
	t.Parallel()
	at := target{app: "shop", node: "web", address: "10.0.0.4"}
	for name, tt := range map[string]struct {
		labels  map[string]string
		address string
		is      bool
	}{
		"packaged":              {map[string]string{"io.toskose.app": "shop", "io.toskose.node": "web"}, "10.0.0.4", true},
		"another replica":       {map[string]string{"io.toskose.app": "shop", "io.toskose.node": "web"}, "10.0.0.5", false},
		"another application":   {map[string]string{"io.toskose.app": "wiki", "io.toskose.node": "web"}, "10.0.0.4", false},
		"attached with Compose": {map[string]string{"com.docker.compose.project": "shop", "com.docker.compose.service": "web"}, "10.0.0.4", true},
		"attached on a swarm":   {map[string]string{"com.docker.stack.namespace": "shop", "com.docker.swarm.service.name": "shop_web"}, "10.0.0.4", true},
		"its manager":           {map[string]string{"io.toskose.app": "shop"}, "10.0.0.4", false},
	} {
		c := container.Summary{Labels: tt.labels, NetworkSettings: &container.NetworkSettingsSummary{Networks: map[string]*network.EndpointSettings{"net": {IPAddress: tt.address}}}}
		if isAt(c, at) != tt.is {
			t.Errorf("%s: %t", name, !tt.is)
		}
	}
	attached := container.Summary{Mounts: []container.MountPoint{{Destination: "/data"}, {Destination: "/usr/bin/supervisord"}}}
	if unit := unitIn(attached); unit != "/usr/bin/supervisord" {
		t.Errorf("the unit of an attached container is %s", unit)
	}
	if unit := unitIn(container.Summary{}); unit != packager.UnitPath {
		t.Errorf("the unit of a packaged container is %s", unit)
	}
}

func TestTheContainerOfAPodIsTheOneWithTheUnit(t *testing.T) {
	t.Parallel()
	for pod, want := range map[string]string{
		`{"containers": [{"name": "side"}, {"name": "main", "volumeMounts": [{"mountPath": "/usr/bin/supervisord"}]}]}`: "main /usr/bin/supervisord",
		`{"containers": [{"name": "side"}, {"name": "web"}]}`:                                                           "web " + packager.UnitPath,
		`{"containers": [{"name": "only"}]}`:                                                                            "only " + packager.UnitPath,
	} {
		var o command.Object
		if err := json.Unmarshal([]byte(`{"spec": `+pod+`}`), &o); err != nil {
			t.Fatal(err)
		}
		if name, unit := containerIn(o, "web"); name+" "+unit != want {
			t.Errorf("%s: %s %s", pod, name, unit)
		}
	}
}
