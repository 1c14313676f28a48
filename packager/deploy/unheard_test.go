package deploy

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/api/types/swarm"
	"github.com/docker/docker/client"

	"github.com/toskose/toskose/internal/freeport"
	"github.com/toskose/toskose/packager/compose"
	"github.com/toskose/toskose/packager/output"
)

// swarmOf is a stack whose manager has one task, at a port at which nothing answers.
func swarmOf(t *testing.T, publish string, task swarm.Task) *deployer {
	t.Helper()
	task.ServiceID = "m"
	engine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/services"):
			reply(t, w, []swarm.Service{{ID: "m", Spec: swarm.ServiceSpec{Annotations: swarm.Annotations{Name: "shop_toskose-manager"}}}})
		case strings.HasSuffix(r.URL.Path, "/tasks"):
			reply(t, w, []swarm.Task{task})
		default:
			t.Errorf("the engine is asked for %s", r.URL)
		}
	}))
	t.Cleanup(engine.Close)
	docker, err := client.NewClientWithOpts(client.WithHost("tcp://"+engine.Listener.Addr().String()), client.WithVersion("1.41"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { docker.Close() })
	port := freeport.Find(t)
	d := &deployer{
		opts: Options{Timeout: time.Minute, Progress: io.Discard}, engine: docker,
		info: output.Info{App: "shop", Nodes: []string{"backend"}, Manager: output.Manager{Service: "toskose-manager", Port: port, Publish: publish}},
	}
	d.where = onStack(d, "node")
	d.where.host = func(context.Context) (string, error) { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), nil }
	return d
}

func TestASwarmWhoseVirtualIPsDoNotAnswerSaysWhichFlagsHelp(t *testing.T) {
	t.Parallel()
	up := swarm.Task{ID: "1", DesiredState: swarm.TaskStateRunning, Status: swarm.TaskStatus{State: swarm.TaskStateRunning, Timestamp: time.Now().Add(-settled - time.Second)}}
	d := swarmOf(t, compose.PublishIngress, up)
	_, err := d.wait(t.Context(), "admin", "pw")
	if err == nil || !strings.Contains(err.Error(), "--endpoint-mode dnsrr --publish-mode host") || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("it says %v", err)
	}

	young, ending, starting := up, up, up
	young.Status.Timestamp = time.Now().Add(time.Hour)
	ending.DesiredState = swarm.TaskStateShutdown
	starting.Status.State = swarm.TaskStateStarting
	for name, d := range map[string]*deployer{
		"published at its machine": swarmOf(t, compose.PublishHost, up),
		"it runs just now":         swarmOf(t, compose.PublishIngress, young),
		"it is being replaced":     swarmOf(t, compose.PublishIngress, ending),
		"it is not healthy yet":    swarmOf(t, compose.PublishIngress, starting),
	} {
		_, _, err := d.ask(t.Context(), "admin", "pw")
		if why := d.unheard(t.Context(), err); err == nil || why != nil {
			t.Errorf("%s: %v", name, why)
		}
	}
	d = swarmOf(t, compose.PublishIngress, up)
	if why := d.unheard(t.Context(), unexpected("http://m", http.StatusBadGateway, nil)); why != nil {
		t.Errorf("although something answers: %v", why)
	}
	d.where.unheard = nil // no swarm
	if why := d.unheard(t.Context(), &net.OpError{Op: "dial", Err: net.ErrClosed}); why != nil {
		t.Errorf("without a swarm: %v", why)
	}
}
