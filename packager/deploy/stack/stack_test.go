package stack

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/swarm"
	"github.com/google/go-cmp/cmp"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/compose"
	"github.com/toskose/toskose/packager/deploy/backend"
	testengine "github.com/toskose/toskose/packager/internal/engine"
)

func TestAnImageBuiltAgainReplacesItsContainers(t *testing.T) {
	t.Parallel()
	of := func(service, ref, id string) container.Summary {
		return container.Summary{Image: ref, ImageID: id, State: container.StateRunning, Labels: map[string]string{compose.LabelSwarmService: service}}
	}
	ended := of("ended", "old:1", "sha256:0")
	ended.State = container.StateExited
	got := staleServices([]container.Summary{
		of("same", "same:1", "sha256:1"), of("gone", "gone:1", "sha256:9"), of("changed", "changed:1", "sha256:2"),
		of("changed", "changed:1", "sha256:2"), of("nameless", "sha256:5", "sha256:5"), ended,
		{State: container.StateRunning, Image: "changed:1"},
	}, func(ref string) string {
		return map[string]string{"same:1": "sha256:1", "changed:1": "sha256:3", "old:1": "sha256:1"}[ref]
	})
	if diff := cmp.Diff([]string{"changed", "nameless"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestAStackRefusesPortsWithAnAddress(t *testing.T) {
	t.Parallel()
	s := shop(testengine.Fake(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "[]") }))
	s.Info.Bound = []string{`port 127.0.0.1:6379 of container "store"`}
	want := `a Swarm publishes ports at all addresses, and not at one: port 127.0.0.1:6379 of container "store"; use --target compose`
	if err := s.Check(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %s", err, want)
	}
}

// TestAStackIsRemovedWhoseNetworkIsBeingRemoved has Docker's command fail as it does after an interrupted removal.
func TestAStackIsRemovedWhoseNetworkIsBeingRemoved(t *testing.T) {
	dir := t.TempDir()
	script := "#!/bin/sh\necho 'Failed to remove network x1: network x1 not found' >&2\nexit 1\n"
	if err := os.WriteFile(filepath.Join(dir, "docker"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	for services, want := range map[string]string{"[]": "", `[{"ID": "s1", "Spec": {"Name": "shop_web"}}]`: "network x1 not found"} {
		tries := 0
		s := shop(testengine.Fake(t, func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.Method == http.MethodDelete:
				w.WriteHeader(http.StatusNotFound)
				_, _ = io.WriteString(w, `{"message": "network x1 not found"}`)
			case strings.HasSuffix(r.URL.Path, "/services"):
				_, _ = io.WriteString(w, services)
			case strings.HasSuffix(r.URL.Path, "/networks") && tries == 0:
				tries++
				_, _ = io.WriteString(w, `[{"Id": "x1", "Name": "shop_toskose"}]`)
			case strings.HasSuffix(r.URL.Path, "/volumes"):
				_, _ = io.WriteString(w, "{}")
			default:
				_, _ = io.WriteString(w, "[]")
			}
		}))
		err := s.Down(t.Context(), nil)
		if text := fmt.Sprint(err); (err != nil) != (want != "") || !strings.Contains(text, want) && want != "" {
			t.Errorf("services %s: %v, want %q", services, err, want)
		}
	}
}

// TestAStackIsDeployedWhileTheSwarmChangesItsServices has Docker's command fail as it does beside an update of the swarm.
func TestAStackIsDeployedWhileTheSwarmChangesItsServices(t *testing.T) {
	dir := t.TempDir()
	script := `#!/bin/sh
echo "$@" >>` + dir + `/called
[ $(wc -l <` + dir + `/called) -gt 2 ] && exit 0
echo "failed to update service shop_web: Error response from daemon: rpc error: code = Unknown desc = update out of sequence" >&2
exit 1
`
	if err := os.WriteFile(filepath.Join(dir, "docker"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	s := shop(nil)
	if err := s.deploy(t.Context(), "labels.yml"); err != nil {
		t.Error(err)
	}
	called, err := os.ReadFile(filepath.Join(dir, "called"))
	if n := strings.Count(string(called), "stack deploy"); err != nil || n != 3 {
		t.Errorf("docker stack deploy ran %d times, want 3: %v", n, err)
	}
}

func TestTheLogOfANodeIsThatOfItsServiceWhateverThatIsCalled(t *testing.T) {
	t.Parallel()
	s := shop(testengine.Fake(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/services"):
			web := mounts("web-1")
			web.Spec.TaskTemplate.ContainerSpec.Labels[packager.LabelNode] = "web.1"
			_ = json.NewEncoder(w).Encode([]swarm.Service{mounts("toskose-manager"), web})
		case strings.HasSuffix(r.URL.Path, "/tasks"):
			_, _ = io.WriteString(w, "[]")
		case strings.HasSuffix(r.URL.Path, "/services/id-web-1"):
			_ = json.NewEncoder(w).Encode(mounts("web-1"))
		case strings.HasSuffix(r.URL.Path, "/services/id-web-1/logs"):
			line := "2026-11-23T17:26:11.418123456Z listen"
			_, _ = w.Write(append([]byte{1, 0, 0, 0, 0, 0, 0, byte(len(line))}, line...))
		default:
			t.Errorf("the engine is asked for %s", r.URL)
		}
	}))
	if said, err := s.Logs(t.Context(), backend.Failure{Service: "web.1", Silent: true}); err != nil || said != "listen" {
		t.Errorf("%q, %v", said, err)
	}
}
