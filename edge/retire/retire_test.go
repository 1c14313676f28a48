package retire_test

import (
	"crypto/rand"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/toskose/toskose/edge"
	"github.com/toskose/toskose/edge/retire"
	"github.com/toskose/toskose/internal/leak"
	"github.com/toskose/toskose/internal/scripted"
	"github.com/toskose/toskose/packager/command"
)

func TestMain(m *testing.M) { leak.Main(m) }

var keys = []string{
	"age1dhlusfqygcnwa559ulqwq54x8vu2ra6leeqlgcm0aauj59kyu5vqa07k7f",
	"age107j03mnv55kt20t80mmdd4zrrufm4ygx3w7v752dl2pymxm6xs3sn22c5x",
	"age17n64qu8l84pezpjk3qmmz586z07wln27jy4c5xqvuqd407hlle4s7uq7rw",
	"age19n36mlwgng54manjlrhaf4jvmy6lw5g3ndc34rt74hpzxhf4ds2qzxx4uq",
}

func document(t *testing.T) edge.Document {
	t.Helper()
	o := edge.CreateOptions{Name: "factory-7", Interface: "eth1", Random: rand.Reader, Agents: []edge.Machine{{Name: "edge-x", Key: keys[3]}}}
	for i, name := range []string{"edge-a", "edge-b", "edge-c"} {
		o.Servers = append(o.Servers, edge.Machine{Name: name, Key: keys[i]})
	}
	d, err := edge.Create(o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// cluster is a cluster with these Nodes, of which those with a minus do not respond; tests with it are not parallel.
func cluster(t *testing.T, nodes, pods, volumes string) (o retire.Options, dir string, said *strings.Builder) {
	t.Helper()
	var all []string
	for name := range strings.FieldsSeq(nodes) {
		status := "True"
		if strings.HasSuffix(name, "-") {
			status = "Unknown"
		}
		all = append(all, fmt.Sprintf(`{"metadata": {"name": %q}, "status": {"conditions": [{"type": "Ready", "status": %q}]}}`, strings.TrimSuffix(name, "-"), status))
	}
	files := map[string]string{"nodes": `{"items": [` + strings.Join(all, ",") + `]}`, "pods": `{"items": [` + pods + `]}`, "volumes": `{"items": [` + volumes + `]}`}
	dir = scripted.Kubectl(t, `echo "$*" >>calls
case "$*" in
*"get nodes"*) cat nodes ;;
*"get pods"*) cat pods ;;
*"get persistentvolumes"*) cat volumes ;;
*drain*) if [ -e undrainable ]; then echo "cannot delete Pods that declare no controller" >&2; exit 1; fi ;;
esac
`, files)
	said = &strings.Builder{}
	return retire.Options{Kubectl: command.Cluster{Context: "site", Environ: os.Environ()}, Drain: time.Minute, Say: func(format string, args ...any) { fmt.Fprintf(said, format+"\n", args...) }}, dir, said
}

func TestTheServersThatRemainMustBeAMajority(t *testing.T) {
	for name, tt := range map[string]struct{ nodes, leaves, want string }{
		"all respond":                {"edge-a edge-b edge-c edge-x", "edge-c", ""},
		"the broken one leaves":      {"edge-a edge-b edge-c- edge-x", "edge-c", ""},
		"another one is broken":      {"edge-a edge-b- edge-c edge-x", "edge-c", `1 of the 2 servers that remain without "edge-c" respond (edge-a), which is not a majority`},
		"an agent leaves":            {"edge-a edge-b- edge-c- edge-x", "edge-x", ""},
		"one has not joined":         {"edge-a edge-c edge-x", "edge-c", ""},
		"nothing would remain":       {"edge-c", "edge-c", "0 of the 0 servers that remain"},
		"it is no longer there":      {"edge-a edge-b edge-x", "edge-c", ""},
		"none of the others respond": {"edge-a- edge-b- edge-c", "edge-c", "0 of the 2 servers"},
	} {
		t.Run(name, func(t *testing.T) {
			o, _, _ := cluster(t, tt.nodes, "", "")
			err := retire.Check(t.Context(), document(t), tt.leaves, o)
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

func TestPodsThatCanRunOnlyThereAreNamed(t *testing.T) {
	pod := func(name, spec string) string {
		return fmt.Sprintf(`{"metadata": {"name": %q, "namespace": "shop"}, "spec": %s, "status": {"phase": "Running"}}`, name, spec)
	}
	term := func(key, kind, values string) string {
		return fmt.Sprintf(`{%q: [{"key": %q, "operator": "In", "values": [%s]}]}`, kind, key, values)
	}
	affinity := func(terms ...string) string {
		return `{"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [` + strings.Join(terms, ",") + `]}}}}`
	}
	const host = "kubernetes.io/hostname"
	local := `{"spec": {"claimRef": {"name": "data", "namespace": "shop"}, "nodeAffinity": {"required": {"nodeSelectorTerms": [` + term(host, "matchExpressions", `"edge-c"`) + `]}}}}`
	for name, tt := range map[string]struct {
		pod   string
		bound bool
	}{
		"free":                    {pod("web", `{}`), false},
		"by its selector":         {pod("web", `{"nodeSelector": {"kubernetes.io/hostname": "edge-c"}}`), true},
		"by another selector":     {pod("web", `{"nodeSelector": {"kubernetes.io/hostname": "edge-b"}}`), false},
		"by a label":              {pod("web", `{"nodeSelector": {"GPU": "2"}}`), false},
		"by its affinity":         {pod("web", affinity(term(host, "matchExpressions", `"edge-c"`))), true},
		"by the Node's name":      {pod("web", affinity(term("metadata.name", "matchFields", `"edge-c"`))), true},
		"to one of two":           {pod("web", affinity(term(host, "matchExpressions", `"edge-b", "edge-c"`))), false},
		"to either":               {pod("web", affinity(term(host, "matchExpressions", `"edge-c"`), term("GPU", "matchExpressions", `"2"`))), false},
		"by a local volume":       {pod("web", `{"volumes": [{"persistentVolumeClaim": {"claimName": "data"}}]}`), true},
		"by another volume":       {pod("web", `{"volumes": [{"persistentVolumeClaim": {"claimName": "logs"}}]}`), false},
		"completed":               {`{"metadata": {"name": "web", "namespace": "shop"}, "spec": {"nodeSelector": {"kubernetes.io/hostname": "edge-c"}}, "status": {"phase": "Succeeded"}}`, false},
		"of a DaemonSet":          {`{"metadata": {"name": "web", "namespace": "shop", "ownerReferences": [{"kind": "DaemonSet"}]}, "spec": ` + affinity(term("metadata.name", "matchFields", `"edge-c"`)) + `}`, false},
		"static":                  {`{"metadata": {"name": "web", "namespace": "shop", "annotations": {"kubernetes.io/config.mirror": "x"}}, "spec": {"nodeSelector": {"kubernetes.io/hostname": "edge-c"}}}`, false},
		"free, with an open term": {pod("web", affinity()), false},
	} {
		t.Run(name, func(t *testing.T) {
			o, _, _ := cluster(t, "edge-a edge-b edge-c", tt.pod, local)
			err := retire.Check(t.Context(), document(t), "edge-c", o)
			if tt.bound != (err != nil) || tt.bound && err.Error() != `pod shop/web can run only on "edge-c": change the placement, or remove it, first` {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestAMachineIsCordonedDrainedAndDeleted(t *testing.T) {
	for name, tt := range map[string]struct{ nodes, calls, said string }{
		"that responds":     {"edge-a edge-c", "cordon edge-c|drain edge-c --ignore-daemonsets --delete-emptydir-data --timeout 1m0s|delete node edge-c --ignore-not-found --timeout 1m0s", "draining edge-c\ndeleted the Node edge-c\n"},
		"that is broken":    {"edge-a edge-c-", "cordon edge-c|drain edge-c --ignore-daemonsets --delete-emptydir-data --timeout 1m0s --skip-wait-for-delete-timeout 1|delete node edge-c --ignore-not-found --timeout 1m0s", "draining edge-c\ndeleted the Node edge-c\n"},
		"that has left":     {"edge-a", "", "the cluster has no Node edge-c\n"},
		"that never joined": {"", "", "the cluster has no Node edge-c\n"},
	} {
		t.Run(name, func(t *testing.T) {
			o, dir, said := cluster(t, tt.nodes, "", "")
			if err := retire.Leave(t.Context(), "edge-c", o); err != nil {
				t.Fatal(err)
			}
			data, err := os.ReadFile(dir + "/calls")
			calls := strings.ReplaceAll(strings.TrimSpace(strings.TrimPrefix(strings.ReplaceAll(string(data), "--context site ", ""), "get nodes --output json\n")), "\n", "|")
			if err != nil || calls != tt.calls || said.String() != tt.said {
				t.Errorf("%v\ncalled %q\nwant   %q\nand it said %q", err, calls, tt.calls, said)
			}
		})
	}
}

func TestAMachineThatIsNotDrainedIsNotDeleted(t *testing.T) {
	o, dir, _ := cluster(t, "edge-a edge-c", "", "")
	if err := os.WriteFile(dir+"/undrainable", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	err := retire.Leave(t.Context(), "edge-c", o)
	calls, _ := os.ReadFile(dir + "/calls")
	if err == nil || !strings.Contains(err.Error(), "edge-c is cordoned, but not drained") || !strings.Contains(err.Error(), "that declare no controller") || strings.Contains(string(calls), "delete node") {
		t.Errorf("error %v, and the calls are\n%s", err, calls)
	}
}
