package engine

import (
	"fmt"
	"net/http"
	"path"
	"testing"

	"github.com/docker/docker/api/types/system"

	testengine "github.com/toskose/toskose/packager/internal/engine"
)

func TestAnEngineKeepsItsIdentity(t *testing.T) {
	t.Parallel()
	for component, want := range map[string]string{"Engine": "ABCD:EFGH", "Podman Engine": "podman vm /home/ada/storage"} {
		docker := testengine.Fake(t, func(w http.ResponseWriter, r *http.Request) {
			if path.Base(r.URL.Path) != "version" {
				t.Errorf("it asks for %s", r.URL)
			}
			fmt.Fprintf(w, `{"Components": [{"Name": %q}, {"Name": "runc"}]}`, component)
		})
		got, err := Identity(t.Context(), docker, system.Info{ID: "ABCD:EFGH", Name: "vm", DockerRootDir: "/home/ada/storage"})
		if err != nil || got != want {
			t.Errorf("%s is %q, want %q: %v", component, got, want, err)
		}
	}
}
