package observe_test

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toskose/toskose/edge"
	"github.com/toskose/toskose/edge/observe"
	"github.com/toskose/toskose/internal/leak"
	"github.com/toskose/toskose/internal/sample"
	"github.com/toskose/toskose/internal/scripted"
	"github.com/toskose/toskose/packager/command"
)

func TestMain(m *testing.M) { leak.Main(m) }

// cluster is a cluster whose kubectl is a script: tests with it are not parallel.
func cluster(t *testing.T, script string, files map[string]string) (on observe.Cluster, dir string) {
	t.Helper()
	dir = scripted.Kubectl(t, "echo \"$*\" >>calls\ncase \"$*\" in\n"+script+"\n*) echo \"kubectl is not to be called with: $*\" >&2; exit 1 ;;\nesac\n", files)
	return observe.Cluster{Kubectl: command.Cluster{Context: "site", Environ: os.Environ()}, Servers: []string{"https://10.244.244.2:6443"}, Timeout: 3 * time.Second}, dir
}

func document(t *testing.T) edge.Document {
	t.Helper()
	d, err := edge.Create(edge.CreateOptions{
		Name: "factory-7", Interface: "eth1", Random: rand.Reader,
		Servers: []edge.Machine{
			{Name: "edge-a", Key: "age1dhlusfqygcnwa559ulqwq54x8vu2ra6leeqlgcm0aauj59kyu5vqa07k7f"},
			{Name: "edge-b", Key: "age107j03mnv55kt20t80mmdd4zrrufm4ygx3w7v752dl2pymxm6xs3sn22c5x"},
			{Name: "edge-c", Key: "age17n64qu8l84pezpjk3qmmz586z07wln27jy4c5xqvuqd407hlle4s7uq7rw"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

const nodes = `{"items": [
{"metadata": {"name": "edge-a"}, "status": {"conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-11-01T10:00:00Z"}]}},
{"metadata": {"name": "edge-b"}, "status": {"conditions": [{"type": "MemoryPressure", "status": "False"}, {"type": "Ready", "status": "Unknown", "lastTransitionTime": "2026-11-02T10:00:00Z"}]}},
{"metadata": {"name": "edge-z"}, "status": {"addresses": [{"type": "Hostname", "address": "edge-z"}, {"type": "InternalIP", "address": "10.244.244.9"}]}}
]}`

const pods = `{"items": [
{"metadata": {"uid": "1", "name": "web", "namespace": "default", "labels": {"app.kubernetes.io/part-of": "thinking", "app.kubernetes.io/managed-by": "toskose"}}, "spec": {"volumes": [{"persistentVolumeClaim": {"claimName": "data"}}]}},
{"metadata": {"uid": "2", "name": "api", "namespace": "default", "labels": {"app.kubernetes.io/part-of": "thinking", "app.kubernetes.io/managed-by": "toskose"}}},
{"metadata": {"uid": "3", "name": "api", "namespace": "other", "labels": {"app.kubernetes.io/part-of": "thinking", "app.kubernetes.io/managed-by": "toskose"}}},
{"metadata": {"uid": "4", "name": "dns", "namespace": "kube-system", "labels": {"app.kubernetes.io/part-of": "thinking", "app.kubernetes.io/managed-by": "helm"}}}
]}`

// The kubelets of edge-a and edge-z; that of edge-z has a pod that is no longer listed.
const (
	summaryA = `{"node": {"cpu": {"usageNanoCores": 900}, "memory": {"workingSetBytes": 9000}}, "pods": [
{"podRef": {"name": "web", "namespace": "default", "uid": "1"}, "containers": [{}, {}], "cpu": {"usageNanoCores": 100}, "memory": {"workingSetBytes": 1000}},
{"podRef": {"name": "dns", "namespace": "kube-system", "uid": "4"}, "containers": [{}], "cpu": {"usageNanoCores": 500}, "memory": {"workingSetBytes": 5000}},
{"podRef": {"name": "api", "namespace": "other", "uid": "3"}, "containers": [{}], "cpu": {"usageNanoCores": 7}, "memory": {"workingSetBytes": 70}}]}`
	summaryZ = `{"node": {"cpu": {"usageNanoCores": 50}, "memory": {"workingSetBytes": 500}}, "pods": [
{"podRef": {"name": "api", "namespace": "default", "uid": "2"}, "containers": [{}], "cpu": {"usageNanoCores": 20}, "memory": {"workingSetBytes": 200}},
{"podRef": {"name": "old", "namespace": "default", "uid": "9"}, "containers": [{}], "cpu": {"usageNanoCores": 4}, "memory": {"workingSetBytes": 40}}]}`
)

const reading = `*"config view"*) ;;
*/livez*) echo ok ;;
*"get nodes"*) cat nodes ;;
*"get pods"*) cat pods ;;
*nodes/edge-a/proxy/stats/summary*) cat a ;;
`

func TestTheStatusHasMachinesAndSums(t *testing.T) {
	on, _ := cluster(t, reading+"*nodes/edge-z/proxy/stats/summary*) cat z ;;", map[string]string{"nodes": nodes, "pods": pods, "a": summaryA, "z": summaryZ})
	s, err := on.Status(t.Context(), document(t))
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	sample.Golden(t, "status.json", append(got, '\n'))
	if s.AllReady() {
		t.Error("the machines count as ready")
	}
}

func TestAKubeletThatDoesNotRespondIsAProblemOfItsMachine(t *testing.T) {
	on, _ := cluster(t, reading, map[string]string{"nodes": nodes, "pods": pods, "a": "no JSON"})
	s, err := on.Status(t.Context(), document(t))
	if err != nil {
		t.Fatal(err)
	}
	if m := s.Machines[0]; m.State != observe.Ready || m.Usage != nil || !strings.Contains(m.Problem, "cannot decode the statistics of the kubelet") {
		t.Errorf("%+v", m)
	}
	if m := s.Machines[3]; m.State != observe.Stranger || !strings.Contains(m.Problem, "the kubelet does not respond") {
		t.Errorf("%+v", m)
	}
}

func TestMachinesAreDownIfNoAPIServerAnswers(t *testing.T) {
	on, _ := cluster(t, `*"config view"*) ;; */livez*) echo "The connection to the server was refused" >&2; exit 1 ;;`, nil)
	s, err := on.Status(t.Context(), document(t))
	if err != nil || len(s.Machines) != 3 || s.Machines[2].State != observe.Down || !strings.Contains(s.Problem, "The connection to the server was refused") {
		t.Errorf("%+v, %v", s, err)
	}
	if _, _, err := on.Volumes(t.Context()); !errors.As(err, new(observe.DownError)) {
		t.Errorf("error %v", err)
	}
}

func TestAnotherServerAnswersInThePlaceOfTheFirst(t *testing.T) {
	ready := `{"items": [{"metadata": {"name": "edge-a"}, "status": {"conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-11-01T10:00:00Z"}]}}]}`
	on, dir := cluster(t, `*"config view"*) ;;
*"--server https://10.244.244.2:6443"*) case "$*" in */livez*) ;; *nodes/edge-a/*) cat a ;; *nodes*) cat nodes ;; *) echo '{"items": []}' ;; esac ;;
*/livez*) exit 1 ;;`, map[string]string{"nodes": ready, "a": summaryA})
	s, err := on.Status(t.Context(), document(t))
	if err != nil || s.Machines[0].State != observe.Ready || s.Machines[0].Usage == nil || s.Machines[1].State != observe.Absent {
		t.Errorf("%+v, %v", s, err)
	}
	calls, err := os.ReadFile(dir + "/calls")
	if err != nil || !strings.Contains(string(calls), "--request-timeout 3s") {
		t.Errorf("%v, and the calls are\n%s", err, calls)
	}
}

func TestAccessThatIsMissingIsAnErrorAndNoState(t *testing.T) {
	for name, script := range map[string]string{
		"no context":   `*"config view"*) echo "context was not found" >&2; exit 1 ;;`,
		"not allowed":  `*"config view"*) ;; */livez*) echo "Error from server (Forbidden): forbidden" >&2; exit 1 ;;`,
		"no nodes":     `*"config view"*) ;; */livez*) ;; *"get pods"*) cat pods ;; *"get nodes"*) exit 1 ;;`,
		"no JSON":      `*"config view"*) ;; */livez*) ;; *) echo nothing ;;`,
		"no such host": `*) exit 1 ;;`,
	} {
		t.Run(name, func(t *testing.T) {
			on, _ := cluster(t, script, map[string]string{"pods": pods})
			if s, err := on.Status(t.Context(), document(t)); err == nil || errors.As(err, new(observe.DownError)) {
				t.Errorf("%+v, %v", s, err)
			}
		})
	}
}

// volumesOf makes volumes in all states and all degrees of robustness.
func volumesOf() string {
	var all []string
	for _, state := range []string{"creating", "attached", "detached", "attaching", "detaching", "deleting"} {
		for _, robustness := range []string{"unknown", "healthy", "degraded", "faulted"} {
			all = append(all, `{"metadata": {"name": "`+state+"-"+robustness+`"}, "status": {"state": "`+state+`", "robustness": "`+robustness+`", "lastDegradedAt": "2026-11-02T10:00:00Z"}}`)
		}
	}
	all = append(all,
		`{"metadata": {"name": "worst"}, "status": {"state": "attached", "robustness": "faulted", "lastDegradedAt": "2026-10-01T10:00:00Z", "kubernetesStatus": {"namespace": "default", "pvcName": "data"}}}`,
		`{"metadata": {"name": "by-condition"}, "status": {"state": "attached", "robustness": "degraded", "lastDegradedAt": "", "kubernetesStatus": {"namespace": "shop", "pvcName": "orders"},
"conditions": [{"type": "Restore", "status": "False", "lastTransitionTime": "2026-11-03T10:00:00Z"}, {"type": "Scheduled", "status": "False", "lastTransitionTime": "2026-09-01T10:00:00Z"}]}}`,
		`{"metadata": {"name": "by-another"}, "status": {"state": "attached", "robustness": "degraded", "conditions": [{"type": "TooManySnapshots", "status": "True", "lastTransitionTime": "2026-11-03T10:00:00Z"},
{"type": "WaitForBackingImage", "status": "False", "lastTransitionTime": "2026-09-02T10:00:00Z"}, {"type": "Restore", "status": "False", "lastTransitionTime": "2026-09-01T10:00:00Z"}]}}`,
		`{"metadata": {"name": "since-nobody-knows"}, "status": {"state": "attached", "robustness": "degraded"}}`,
		`{"metadata": {"name": "new"}, "status": {}}`,
		`{"metadata": {"name": "from-the-future"}, "status": {"state": "frozen", "robustness": "shaky"}}`)
	return `{"items": [` + strings.Join(all, ",\n") + `]}`
}

const claims = `{"items": [{"metadata": {"name": "orders", "namespace": "shop", "labels": {"app.kubernetes.io/part-of": "shop", "app.kubernetes.io/managed-by": "toskose"}}}, {"metadata": {"name": "data", "namespace": "default"}}]}`

func TestVolumesAreSortedByTheirDamage(t *testing.T) {
	on, _ := cluster(t, `*"config view"*) ;; */livez*) ;;
*customresourcedefinitions*) echo customresourcedefinition.apiextensions.k8s.io/volumes.longhorn.io ;;
*"get volumes.longhorn.io"*) cat volumes ;; *"get persistentvolumeclaims"*) cat claims ;; *"get pods"*) cat pods ;;`, map[string]string{"volumes": volumesOf(), "claims": claims, "pods": pods})
	all, installed, err := on.Volumes(t.Context())
	if err != nil || !installed {
		t.Fatalf("%v, %v", installed, err)
	}
	got, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	sample.Golden(t, "volumes.json", append(got, '\n'))
}

func TestAClusterWithoutLonghornHasNoVolumes(t *testing.T) {
	on, _ := cluster(t, `*"config view"*) ;; */livez*) ;; *customresourcedefinitions*) ;;`, nil)
	if all, installed, err := on.Volumes(t.Context()); err != nil || installed || len(all) != 0 {
		t.Errorf("%v, %v, %v", all, installed, err)
	}
}

func TestBothFormsOfMetricsAreRead(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.FileServer(http.Dir("testdata")))
	defer server.Close()
	client := server.Client()
	defer client.CloseIdleConnections()
	numbers, err := observe.Metrics(t.Context(), client, server.URL+"/numbers.prom")
	if err != nil {
		t.Fatal(err)
	}
	words, err := observe.Metrics(t.Context(), client, server.URL+"/words.prom")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(numbers, words); diff != "" {
		t.Errorf("numbers (-) and words (+):\n%s", diff)
	}
	var got []string
	for _, v := range words {
		got = append(got, strings.Join([]string{v.Name, v.State.Word, v.Robustness.Word, v.Namespace, v.Claim}, " "))
	}
	want := []string{"pvc-3 detaching faulted shop orders", "pvc-2 attached degraded default data", "pvc-4 creating unknown  ", "pvc-1 attached healthy default logs \"1\""}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, err := observe.Metrics(t.Context(), client, server.URL+"/none.prom"); err == nil || !strings.Contains(err.Error(), "responds with 404 Not Found") {
		t.Errorf("error %v", err)
	}
	if _, err := observe.Metrics(t.Context(), client, "http://127.0.0.1:1/metrics"); err == nil || !strings.Contains(err.Error(), "cannot read the metrics") {
		t.Errorf("error %v", err)
	}
}

func TestTheDigestIsTheOneOfTheAuthority(t *testing.T) {
	authority := "-----BEGIN CERTIFICATE-----\n…\n"
	sum := sha256.Sum256([]byte(authority))
	want := hex.EncodeToString(sum[:])
	answering := "*\"--minify --raw\"*) cat config ;; *\"config view\"*) ;; */livez*) ;;"
	for name, tt := range map[string]struct{ cluster, err string }{
		"as data":    {`{"certificate-authority-data": "` + base64.StdEncoding.EncodeToString([]byte(authority)) + `"}`, ""},
		"as a file":  {`{"certificate-authority": "FILE"}`, ""},
		"unverified": {`{"insecure-skip-tls-verify": true}`, "kubectl does not verify this cluster"},
		"none":       {`{}`, "has no certificate authority"},
		"lost":       {`{"certificate-authority": "/no/such/file"}`, "cannot read the certificate authority"},
		"no cluster": {``, "cannot decode the configuration of kubectl"},
	} {
		t.Run(name, func(t *testing.T) {
			file := t.TempDir() + "/ca.crt"
			if err := os.WriteFile(file, []byte(authority), 0o600); err != nil {
				t.Fatal(err)
			}
			config := `{"clusters": [{"cluster": ` + strings.Replace(tt.cluster, "FILE", file, 1) + `}]}`
			on, _ := cluster(t, answering, map[string]string{"config": config})
			got, err := on.AuthorityDigest(t.Context())
			if tt.err == "" && (err != nil || got != want) || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}
