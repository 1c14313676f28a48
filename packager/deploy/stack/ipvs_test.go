package stack

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"path"
	"strings"
	"testing"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/swarm"

	testengine "github.com/toskose/toskose/packager/internal/engine"
)

// machine is an engine's, with some files, that runs the application "shop".
func machine(t *testing.T, mode swarm.ResolutionMode, node string, files ...string) (*Stack, *bytes.Buffer) {
	t.Helper()
	s := shop(testengine.Fake(t, func(w http.ResponseWriter, r *http.Request) {
		var answer any = []any{}
		switch name := path.Base(r.URL.Path); {
		case name == "services":
			manager, web := mounts("toskose-manager"), mounts("web")
			web.Spec.EndpointSpec = &swarm.EndpointSpec{Mode: mode}
			answer = []swarm.Service{manager, web}
		case name == "tasks":
			answer = []swarm.Task{{ServiceID: "id-web", NodeID: node, Status: swarm.TaskStatus{State: swarm.TaskStateRunning}}}
		case strings.HasSuffix(r.URL.Path, "/images/json"):
			answer = []map[string]string{{"Id": "sha256:1"}}
		case strings.HasSuffix(r.URL.Path, "/containers/create"):
			var asked struct{ HostConfig container.HostConfig }
			if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
				t.Error(err)
			}
			source := asked.HostConfig.Mounts[0].Source
			if !strings.Contains(strings.Join(files, " ")+" ", source+" ") {
				w.WriteHeader(http.StatusBadRequest)
				_, _ = io.WriteString(w, `{"message": "invalid mount config for type \"bind\": bind source path does not exist: `+source+`"}`)
				return
			}
			w.WriteHeader(http.StatusCreated)
			answer = map[string]string{"Id": "probe"}
		}
		_ = json.NewEncoder(w).Encode(answer)
	}))
	var said bytes.Buffer
	s.Progress, s.self, s.Info.Manager.Service = &said, "here", "toskose-manager"
	return s, &said
}

func TestASwarmWithVirtualIPsAndWithoutIPVSIsWarned(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		mode  swarm.ResolutionMode
		node  string
		files []string
		warns bool
	}{
		"its kernel has none":                    {swarm.ResolutionModeVIP, "here", []string{procAlways}, true},
		"as a swarm has it where nobody says so": {"", "here", []string{procAlways}, true},
		"its kernel has IPVS":                    {swarm.ResolutionModeVIP, "here", []string{procAlways, procIPVS}, false},
		"it has no virtual IPs":                  {swarm.ResolutionModeDNSRR, "here", []string{procAlways}, false},
		"nothing runs on that machine":           {swarm.ResolutionModeVIP, "there", []string{procAlways}, false},
		"the engine mounts nothing":              {swarm.ResolutionModeVIP, "here", nil, false},
	} {
		s, said := machine(t, tt.mode, tt.node, tt.files...)
		if err := s.CleanUp(t.Context()); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		warned := strings.HasPrefix(said.String(), "warning: ") && strings.Contains(said.String(), "--endpoint-mode dnsrr --publish-mode host")
		if warned != tt.warns || !tt.warns && said.Len() > 0 {
			t.Errorf("%s: it says %q", name, said)
		}
	}
}
