package stack

import (
	"bytes"
	"encoding/json"
	"net/http"
	"path"
	"testing"

	"github.com/docker/docker/api/types/swarm"

	testengine "github.com/toskose/toskose/packager/internal/engine"
)

// TestAnUpdateIsPaused: one whose containers hang, or are on no machine, does not end.
func TestAnUpdateIsPaused(t *testing.T) {
	t.Parallel()
	hangs, failed := mounts("web"), mounts("store")
	hangs.UpdateStatus = &swarm.UpdateStatus{State: swarm.UpdateStateUpdating}
	hangs.Spec.UpdateConfig = &swarm.UpdateConfig{Parallelism: 2, FailureAction: swarm.UpdateFailureActionRollback}
	failed.UpdateStatus = &swarm.UpdateStatus{State: swarm.UpdateStatePaused}
	f := &fakeSwarm{services: []swarm.Service{failed, hangs, mounts("toskose-manager")}, stale: 2}
	if err := f.stack(t).Halt(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := f.services[1].Spec.UpdateConfig; f.updates != 1 || got.FailureAction != swarm.UpdateFailureActionPause || got.Parallelism != 2 {
		t.Errorf("%d updates; the service is updated by %+v", f.updates, got)
	}
}

// TestTheSwarmsOwnRollbackIsWaitedFor: nothing else is deployed while a service is rolled back.
func TestTheSwarmsOwnRollbackIsWaitedFor(t *testing.T) {
	t.Parallel()
	states := []swarm.UpdateState{swarm.UpdateStateRollbackStarted, swarm.UpdateStateRollbackStarted, swarm.UpdateStateRollbackCompleted}
	asked := 0
	s := shop(testengine.Fake(t, func(w http.ResponseWriter, r *http.Request) {
		var answer any = []any{}
		if path.Base(r.URL.Path) == "services" {
			web, store := mounts("web"), mounts("store")
			web.UpdateStatus = &swarm.UpdateStatus{State: states[min(asked, len(states)-1)]}
			store.UpdateStatus = &swarm.UpdateStatus{State: swarm.UpdateStateCompleted}
			asked++
			answer = []swarm.Service{store, web, mounts("toskose-manager")}
		}
		_ = json.NewEncoder(w).Encode(answer)
	}))
	var said bytes.Buffer
	s.Progress = &said
	if err := s.Halt(t.Context()); err != nil || asked != len(states) || said.String() != "web: the swarm has rolled its update back\n" {
		t.Errorf("asked %d times, it ends with %v and says %q", asked, err, said.String())
	}
}
