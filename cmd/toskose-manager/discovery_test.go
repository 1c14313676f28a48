package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toskose/toskose/manager/discovery"
)

func TestInAPodNamesAreCompletedByItsDomain(t *testing.T) {
	t.Parallel()
	pod := filepath.Join(t.TempDir(), "resolv.conf")
	text := "nameserver 10.96.0.10\nsearch thinking.svc.cluster.local svc.cluster.local cluster.local\noptions ndots:5\n"
	if err := os.WriteFile(pod, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	machine := filepath.Join(t.TempDir(), "resolv.conf")
	if err := os.WriteFile(machine, []byte("search example.org\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	type found struct {
		Mode    discovery.Mode
		Options discovery.Options
	}
	const host = "KUBERNETES_SERVICE_HOST"
	for name, tt := range map[string]struct {
		env      map[string]string
		resolver string
		want     found
		problem  string
	}{
		"a swarm has no domain": {
			env: map[string]string{"TOSKOSE_DISCOVERY": "tasks"}, resolver: pod,
			want: found{Mode: discovery.Tasks},
		},
		"a manifest says the domain, and which names differ": {
			env: map[string]string{
				"TOSKOSE_DISCOVERY": "alias", host: "10.96.0.1", "TOSKOSE_DISCOVERY_DOMAIN": "x.svc.corp", "TOSKOSE_DISCOVERY_NAMES": "My_Node=my-node,b=c",
				"TOSKOSE_DISCOVERY_UNITS": "b=c-units",
			},
			resolver: "/nowhere",
			want:     found{discovery.Alias, discovery.Options{Domain: "x.svc.corp", Names: map[string]string{"My_Node": "my-node", "b": "c"}, Units: map[string]string{"b": "c-units"}}},
		},
		"a Compose file that was converted knows of tasks only": {
			env: map[string]string{"TOSKOSE_DISCOVERY": "tasks", host: "10.96.0.1"}, resolver: pod,
			want: found{discovery.Alias, discovery.Options{Domain: "thinking.svc.cluster.local"}},
		},
		"a pod on its node's network": {
			env: map[string]string{"TOSKOSE_DISCOVERY": "tasks", host: "10.96.0.1"}, resolver: machine,
			problem: "it has no search domain of Services",
		},
		"names that are none": {
			env: map[string]string{"TOSKOSE_DISCOVERY": "alias", "TOSKOSE_DISCOVERY_NAMES": "a=b,c"}, resolver: pod,
			problem: `TOSKOSE_DISCOVERY_NAMES: "c" is not ALIAS=NAME`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var s settings
			err := s.readDiscovery(get(tt.env), tt.resolver)
			if tt.problem != "" {
				if err == nil || !strings.Contains(err.Error(), tt.problem) {
					t.Errorf("error %v", err)
				}
				return
			}
			if diff := cmp.Diff(tt.want, found{s.mode, s.discovery}); err != nil || diff != "" {
				t.Error(err, diff)
			}
		})
	}
}
