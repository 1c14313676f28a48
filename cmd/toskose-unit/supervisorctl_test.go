package main_test

import (
	"strings"
	"testing"

	"github.com/toskose/toskose/unit/wire"
)

func TestSupervisorctlStartsAllButOperations(t *testing.T) {
	t.Parallel()
	c := newContainer(t, component("api", map[string]string{
		"create": "true", "configure": "true", "start": "exec sleep 1000", "stop": "true", "delete": "true",
	}, "startsecs=0")+sleeping("web", "autostart=false")).boot()
	c.says("start all", "web: started\n")
	c.says("start api:*", "")
	if api := c.component("api"); api.Seq != 0 || api.State != "deleted" {
		t.Errorf("something was done to the component: %+v", api)
	}

	c.says("start api:configure", "api:configure: ERROR (spawn error)\n")
	err := c.call(nil, "supervisor.startProcess", "api:configure")
	fault(t, err, wire.SpawnError)
	if !strings.Contains(err.Error(), "configure of api is not allowed in state deleted; allowed: ") {
		t.Errorf("the fault does not say why: %v", err)
	}
	for _, operation := range []string{"create", "configure", "start"} {
		c.says("start api:"+operation, "api:"+operation+": started\n")
	}
	c.wants("api", "running")
	c.says("stop all", "api:start: stopped\nweb: stopped\n")
	c.wants("api", "configured")
}

func TestABusyComponentIsAnErrorThatSupervisorctlKnows(t *testing.T) {
	t.Parallel()
	c := newContainer(t, component("api", map[string]string{"create": "sleep 1000", "start": "exec sleep 1000"}, "startsecs=0\nstopwaitsecs=1")).boot()
	if _, err := c.execute("api", "create", nil); err != nil {
		t.Fatal(err)
	}
	c.says("start api:start", "api:start: ERROR (spawn error)\n")
	err := c.call(nil, "supervisor.startProcess", "api:start")
	if err == nil || !strings.Contains(err.Error(), "create of api is executing") {
		t.Errorf("the fault does not say why: %v", err)
	}
}
