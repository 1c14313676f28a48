package releases

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/api/types/swarm"
	"github.com/docker/docker/api/types/system"
	"github.com/docker/docker/client"

	"github.com/toskose/toskose/cmd/toskose/cli"
	"github.com/toskose/toskose/packager/output"
	"github.com/toskose/toskose/packager/release"
)

// engineThat is one that says whether it is in a swarm; empty: it does not answer.
func engineThat(t *testing.T, is swarm.LocalNodeState) Engine {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if is == "" {
			http.Error(w, "no", http.StatusInternalServerError)
			return
		}
		_ = json.NewEncoder(w).Encode(system.Info{ID: "engine", Swarm: swarm.Info{LocalNodeState: is}})
	}))
	t.Cleanup(server.Close)
	return Engine{
		Connect: func() (*client.Client, error) {
			return client.NewClientWithOpts(client.WithHost("tcp://"+server.Listener.Addr().String()), client.WithHTTPClient(server.Client()), client.WithVersion("1.41"))
		},
		Environ: func() []string { return nil },
	}
}

// limited is a folder whose container has a limit, for some targets.
func limited(t *testing.T, limit string, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	text := output.Header + "services:\n  box:\n    image: box\n    deploy:\n      update_config:\n        order: " + limit + "\n" +
		"x-toskose:\n  app: shop\n  manager: {port: 10000}\n  host:\n    - {path: /srv, user: volume \"" + limit + "\"}\n    - {path: /dev/dri, user: container \"box\"}\n"
	for _, name := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestTwoFoldersAreComparedAsTheyAreDeployed and it is said how: what only a Swarm changes
// without replacing a container is another matter to Compose.
func TestTwoFoldersAreComparedAsTheyAreDeployed(t *testing.T) {
	t.Parallel()
	both := []string{"docker-compose.yml", "docker-compose.local.yml"}
	for name, tt := range map[string]struct {
		engine swarm.LocalNodeState
		files  []string
		noted  string // on which engine Compose has deployed it
		args   []string
		says   string
		change string
	}{
		"an engine in no swarm":     {swarm.LocalNodeStateInactive, both, "", nil, ", by Compose\n", release.Replaced},
		"an engine in a swarm":      {swarm.LocalNodeStateActive, both, "", nil, ", by a Swarm, which the engine is in\n", release.Updated},
		"deployed by Compose":       {swarm.LocalNodeStateActive, both, "engine", nil, ", by Compose, as it was deployed\n", release.Replaced},
		"on another engine":         {swarm.LocalNodeStateActive, both, "other", nil, ", by a Swarm, which the engine is in\n", release.Updated},
		"no engine":                 {"", both, "", nil, ", by Compose, which is assumed: the engine does not answer (--target names another)\n", release.Replaced},
		"no engine, and deployed":   {"", both, "other", nil, ", by Compose, as it was deployed\n", release.Replaced},
		"a target":                  {swarm.LocalNodeStateInactive, both, "engine", []string{"--target", "swarm"}, ", by a Swarm\n", release.Updated},
		"packaged for a Swarm only": {swarm.LocalNodeStateInactive, both[:1], "", nil, ", by a Swarm\n", release.Updated},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from, to := limited(t, "stop-first", tt.files...), limited(t, "start-first", tt.files...)
			if tt.noted != "" {
				if err := release.WriteLog(from, tt.noted, release.Log{{Release: "r1", At: time.Now(), Folder: from}}); err != nil {
					t.Fatal(err)
				}
			}
			var out bytes.Buffer
			cmd := newDiff(cli.Streams{Out: &out, Err: &out}, engineThat(t, tt.engine))
			cmd.SetArgs(append(tt.args, from, to))
			if err := cmd.ExecuteContext(t.Context()); err != nil {
				t.Fatal(err)
			}
			if host := "\nIt uses these paths of the host:\n  /srv, by volume \"start-first\" (added)\n  /dev/dri, by container \"box\"\n"; !strings.HasSuffix(out.String(), host) {
				t.Errorf("it says\n%s\nand does not end with %s", out.String(), host)
			}
			if said := out.String(); !strings.Contains(said, tt.says) || !strings.Contains(said, "\nbox         "+tt.change+" ") {
				t.Errorf("it says\n%s\nwithout %q or %q", said, tt.says, tt.change)
			}
		})
	}
}
