package deploy

import (
	"context"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/api/types/swarm"
	"github.com/docker/docker/api/types/system"

	"github.com/toskose/toskose/internal/freeport"
	"github.com/toskose/toskose/packager/compose"
	"github.com/toskose/toskose/packager/deploy/backend"
	"github.com/toskose/toskose/packager/deploy/engine"
	"github.com/toskose/toskose/packager/deploy/stack"
	testengine "github.com/toskose/toskose/packager/internal/engine"
	"github.com/toskose/toskose/packager/output"
)

// published is a stack whose manager is at this machine.
type published struct {
	*stack.Stack
	at string
}

func (p published) Host(context.Context) (string, error) { return p.at, nil }

// swarmOf is a stack whose manager has one task, at a port at which nothing answers.
func swarmOf(t *testing.T, publish string, task swarm.Task) *deployer {
	t.Helper()
	task.ServiceID = "m"
	docker := testengine.Fake(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/services"):
			reply(t, w, []swarm.Service{{ID: "m", Spec: swarm.ServiceSpec{Annotations: swarm.Annotations{Name: "shop_toskose-manager"}}}})
		case strings.HasSuffix(r.URL.Path, "/tasks"):
			reply(t, w, []swarm.Task{task})
		default:
			t.Errorf("the engine is asked for %s", r.URL)
		}
	})
	port := freeport.Find(t)
	app := &backend.Application{
		Info:     output.Info{App: "shop", Nodes: []string{"backend"}, Manager: output.Manager{Service: "toskose-manager", Port: port, Publish: publish}},
		Progress: io.Discard,
	}
	on := stack.Of(&engine.Engine{Application: app, Docker: docker, System: system.Info{Swarm: swarm.Info{NodeID: "node"}}})
	d := &deployer{Application: app, opts: Options{Timeout: time.Minute}, explainSilence: on.ExplainSilence}
	d.use(published{on, net.JoinHostPort("127.0.0.1", strconv.Itoa(port))})
	return d
}

func TestASwarmWhoseVirtualIPsDoNotAnswerSaysWhichFlagsHelp(t *testing.T) {
	t.Parallel()
	up := swarm.Task{ID: "1", DesiredState: swarm.TaskStateRunning, Status: swarm.TaskStatus{State: swarm.TaskStateRunning, Timestamp: time.Now().Add(-backend.Settled - time.Second)}}
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
		if why := d.unreachable(t.Context(), err); err == nil || why != nil {
			t.Errorf("%s: %v", name, why)
		}
	}
	d = swarmOf(t, compose.PublishIngress, up)
	if why := d.unreachable(t.Context(), unexpected("http://m", http.StatusBadGateway, nil)); why != nil {
		t.Errorf("although something answers: %v", why)
	}
	d.explainSilence = nil
	if why := d.unreachable(t.Context(), &net.OpError{Op: "dial", Err: net.ErrClosed}); why != nil {
		t.Errorf("without a swarm: %v", why)
	}
}
