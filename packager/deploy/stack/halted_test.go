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

// TestTheSwarmsOwnRollbackIsWaitedFor: nothing else is deployed while a service is updated or
// taken back.
func TestTheSwarmsOwnRollbackIsWaitedFor(t *testing.T) {
	t.Parallel()
	states := []swarm.UpdateState{swarm.UpdateStateUpdating, swarm.UpdateStateRollbackStarted, swarm.UpdateStateRollbackCompleted}
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
	if err := s.Halted(t.Context()); err != nil || asked != len(states) || said.String() != "web: the swarm has taken its update back\n" {
		t.Errorf("asked %d times, it ends with %v and says %q", asked, err, said.String())
	}
}
