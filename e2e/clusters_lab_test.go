//go:build clusters

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toskose/toskose/edge"
	"github.com/toskose/toskose/edge/observe"
)

// site is a cluster of edge machines, which are machines of a lab.
type site struct {
	dir    string // the folder
	script string
	env    []string
	number map[string]int // of the machine in the lab, by its name in the cluster
	config string         // kubeconfig of this machine
}

// newSite brings three machines up. `make e2e-clusters` says what they have to be.
func newSite(t *testing.T) *site {
	t.Helper()
	if os.Getenv("TOSKOSE_MACHINES") == "" {
		t.Fatal("TOSKOSE_MACHINES is not set: it is a command that makes a Kubernetes of several machines on this one; the Makefile says more")
	}
	script, err := filepath.Abs("../scripts/machines.sh")
	if err != nil {
		t.Fatal(err)
	}
	must(t, "..", locate(t, "go"), "build", "-o", filepath.Join(bin, "k3sstandin"), "./scripts/k3sstandin")
	s := &site{script: script, env: []string{"TOSKOSE_MACHINES_BIN=" + bin}, number: map[string]int{}, config: filepath.Join(t.TempDir(), "kubeconfig")}
	t.Cleanup(func() { mustWith(t, s.env, "", script, "down") })
	mustWith(t, s.env, "", script, "up", "3")
	path := must(t, "", locate(t, "sh"), "-c", `eval "$("$TOSKOSE_MACHINES" env)" && echo "$PATH"`).stdout
	t.Setenv("PATH", strings.TrimSpace(path)+":"+bin)
	t.Setenv("KUBECONFIG", s.config)
	return s
}

// locate returns the path of a command.
func locate(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// get runs kubectl on this machine.
func (s *site) get(t *testing.T, args ...string) string {
	t.Helper()
	return must(t, "", locate(t, "kubectl"), args...).stdout
}

// machine makes a machine of the lab a new one with a name, and returns NAME=KEY.
func (s *site) machine(t *testing.T, number int, name string) string {
	t.Helper()
	mustWith(t, s.env, "", s.script, "fresh", strconv.Itoa(number))
	mustWith(t, s.env, "", s.script, "name", strconv.Itoa(number), name)
	s.number[name] = number
	return name + "=" + strings.TrimSpace(s.must(t, name, "toskose", "cluster", "key").stdout)
}

// on runs a command on a machine.
func (s *site) on(t *testing.T, name string, words ...string) result {
	t.Helper()
	return commandWith(t, s.env, "", s.script, append([]string{"on", strconv.Itoa(s.number[name])}, words...)...)
}

func (s *site) must(t *testing.T, name string, words ...string) result {
	t.Helper()
	r := s.on(t, name, words...)
	if r.code != 0 {
		t.Fatalf("on %s: %q: %v", name, words, r)
	}
	return r
}

// create creates a cluster of three servers.
func (s *site) create(t *testing.T) {
	t.Helper()
	s.dir = filepath.Join(t.TempDir(), "site")
	must(t, "", "toskose", "cluster", "create", "site", "--dir", s.dir, "--interface", "eth1",
		"--node", s.machine(t, 1, "edge-a"), "--node", s.machine(t, 2, "edge-b"), "--node", s.machine(t, 3, "edge-c"))
}

// change runs a command that changes the cluster.
func (s *site) change(t *testing.T, words ...string) string {
	t.Helper()
	return must(t, "", "toskose", append(append([]string{"cluster"}, words...), "--dir", s.dir)...).stdout
}

func (s *site) file(name string) string { return filepath.Join(s.dir, "nodes", name+".json") }

// join lets a machine join with its file, and starts the stand-in for k3s.
func (s *site) join(t *testing.T, name, role string) {
	t.Helper()
	s.must(t, name, "toskose", "cluster", "join", s.file(name), "--timeout", "1m", "--start", "k3sstandin start "+role)
}

// reach points this machine's kubectl at a server.
func (s *site) reach(t *testing.T, name, address string) {
	t.Helper()
	text := s.must(t, name, "kubectl", "--kubeconfig", edge.Kubeconfig, "config", "view", "--flatten", "--minify").stdout
	write(t, s.config, strings.Replace(text, "127.0.0.1", address, 1))
}

// status returns the state of the cluster as this machine sees it.
func (s *site) status(t *testing.T) observe.Status {
	t.Helper()
	r := command(t, "", "toskose", "cluster", "status", "--dir", s.dir, "--timeout", "3s", "-o", "json")
	var status observe.Status
	if err := json.Unmarshal([]byte(r.stdout), &status); err != nil {
		t.Fatalf("%v: %v", err, r)
	}
	if status.AllReady() != (r.code == 0) {
		t.Errorf("status exits with %d:\n%s", r.code, r.stdout)
	}
	return status
}

// states waits until the machines are in these states, as NAME=STATE.
func (s *site) states(t *testing.T, want string) {
	t.Helper()
	last := ""
	deadline := time.Now().Add(2 * time.Minute)
	for time.Now().Before(deadline) {
		var all []string
		for _, m := range s.status(t).Machines {
			all = append(all, m.Name+"="+string(m.State))
		}
		if last = strings.Join(all, " "); last == want {
			return
		}
	}
	t.Fatalf("the states are %s, want %s", last, want)
}

// TestClustersOnMachines tells the story of one cluster, from bare machines to the removal of its first seed.
func TestClustersOnMachines(t *testing.T) {
	s := newSite(t)
	s.create(t)
	s.change(t, "label", "edge-b", "GPU=2")
	s.refused(t)
	s.killed(t)
	s.join(t, "edge-a", "server")
	s.join(t, "edge-b", "server")
	s.join(t, "edge-c", "server")
	s.reach(t, "edge-a", "10.244.244.1")
	s.states(t, "edge-a=READY edge-b=READY edge-c=READY")
	if got := s.get(t, "get", "nodes", "-l", "GPU=2", "-o", "name"); strings.TrimSpace(got) != "node/edge-b" {
		t.Errorf("the label is on %q", got)
	}
	if out := s.must(t, "edge-b", "toskose", "cluster", "join", s.file("edge-b"), "--start", "echo again"); strings.Contains(out.stdout, "again") || !strings.Contains(out.stderr, "nothing to change") {
		t.Errorf("a second join: %v", out)
	}
	s.must(t, "edge-b", "toskose", "cluster", "status", "--dir", s.dir) // with the kubeconfig of k3s
	s.sums(t)
	s.failures(t)
	s.longhorn(t)
	s.bridges(t)
	s.replaced(t)
	s.seedRemoved(t)
}

// refused tries files that are not the machine's.
func (s *site) refused(t *testing.T) {
	t.Helper()
	older := filepath.Join(t.TempDir(), "older.json")
	write(t, older, read(t, s.file("edge-a")))
	wrong := filepath.Join(t.TempDir(), "wrong.json")
	write(t, wrong, strings.Replace(read(t, s.file("edge-a")), `"eth1"`, `"eth9"`, 1))
	for what, tt := range map[string]struct{ file, want string }{
		"a wrong file":           {wrong, "this machine has no network interface eth9"},
		"another node's file":    {s.file("edge-b"), "was not encrypted to the key"},
		"something else":         {s.dir + "/cluster.yaml", "this is not a node file"},
		"a file that is missing": {s.dir + "/none.json", "cannot read the file of this machine"},
	} {
		if r := s.on(t, "edge-a", "toskose", "cluster", "join", tt.file); r.code != 1 || !strings.Contains(r.stderr, tt.want) {
			t.Errorf("%s: %v", what, r)
		}
	}
	s.change(t, "label") // a newer revision
	s.must(t, "edge-a", "toskose", "cluster", "join", s.file("edge-a"))
	if r := s.on(t, "edge-a", "toskose", "cluster", "join", older); r.code != 1 || !strings.Contains(r.stderr, "the older revision") {
		t.Errorf("an older file: %v", r)
	}
	s.must(t, "edge-a", "toskose", "cluster", "leave")
	if left := s.must(t, "edge-a", "sh", "-c", "find /etc/rancher /etc/systemd/system /etc/cni/multus /var/lib/toskose -mindepth 1; ip -brief address show eth1 | grep 10.244.244 || true").stdout; left != "" {
		t.Errorf("leave has left\n%s", left)
	}
}

// killed kills a join after more and more of its time. The next join completes it.
func (s *site) killed(t *testing.T) {
	t.Helper()
	for delay := range 25 {
		r := s.on(t, "edge-a", "timeout", "--signal", "KILL", fmt.Sprintf("0.%03d", 1+delay*2), "toskose", "cluster", "join", s.file("edge-a"))
		s.must(t, "edge-a", "toskose", "cluster", "join", s.file("edge-a"))
		if got := s.must(t, "edge-a", "sh", "-c", "ip -brief address show eth1; cat /etc/rancher/k3s/config.yaml; ls /etc/rancher/k3s").stdout; !strings.Contains(got, "10.244.244.1/28") || !strings.Contains(got, "cluster-init: true") || strings.Contains(got, "toskose-new") {
			t.Fatalf("after %v, and again:\n%s", r, got)
		}
		s.must(t, "edge-a", "toskose", "cluster", "leave")
	}
}

const thinkingPod = `apiVersion: v1
kind: Pod
metadata: {name: NAME, labels: {app.kubernetes.io/part-of: thinking, app.kubernetes.io/managed-by: toskose}}
spec:
  nodeName: NODE
  automountServiceAccountToken: false
  terminationGracePeriodSeconds: 1
  tolerations: [{operator: Exists}]
  containers: [{name: main, image: "docker.io/library/lab-pause:1", imagePullPolicy: Never}]
`

// sums compares the figures of an application with those of its pods, on two machines.
func (s *site) sums(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	for _, node := range []string{"edge-a", "edge-b"} {
		file := filepath.Join(dir, node)
		write(t, file, strings.NewReplacer("NAME", "web-"+node, "NODE", node).Replace(thinkingPod))
		eventually(t, "the pod is accepted", func() bool { return command(t, "", locate(t, "kubectl"), "apply", "-f", file).code == 0 })
	}
	s.get(t, "wait", "pods", "--all", "--for", "condition=Ready", "--timeout", "2m")
	eventually(t, "the sums equal the pods' own figures", func() bool {
		before := s.figures(t)
		status := s.status(t)
		return len(status.Applications) == 1 && status.Applications[0].Pods == 2 && before.Memory > 0 && before == s.figures(t) && status.Applications[0].Usage == before
	})
	s.get(t, "delete", "pods", "--all", "--timeout", "1m")
}

// figures adds what the kubelets report of the pods named web-….
func (s *site) figures(t *testing.T) (sum observe.Usage) {
	t.Helper()
	for _, node := range []string{"edge-a", "edge-b"} {
		var summary struct {
			Pods []struct {
				Ref struct {
					Name string `json:"name"`
				} `json:"podRef"`
				CPU struct {
					Nano uint64 `json:"usageNanoCores"`
				} `json:"cpu"`
				Memory struct {
					Set uint64 `json:"workingSetBytes"`
				} `json:"memory"`
			} `json:"pods"`
		}
		text := s.get(t, "get", "--raw", "/api/v1/nodes/"+node+"/proxy/stats/summary")
		if err := json.Unmarshal([]byte(text), &summary); err != nil {
			t.Fatal(err)
		}
		for _, p := range summary.Pods {
			if strings.HasPrefix(p.Ref.Name, "web-") {
				sum.CPU += p.CPU.Nano
				sum.Memory += p.Memory.Set
			}
		}
	}
	return sum
}

// failures cuts a machine off, stops one, and stops all API servers.
func (s *site) failures(t *testing.T) {
	t.Helper()
	mustWith(t, s.env, "", s.script, "unplug", "3")
	s.states(t, "edge-a=READY edge-b=READY edge-c=NOTREADY")
	mustWith(t, s.env, "", s.script, "plug", "3")
	s.states(t, "edge-a=READY edge-b=READY edge-c=READY")
	s.must(t, "edge-a", "k3sstandin", "stop")
	s.states(t, "edge-a=NOTREADY edge-b=READY edge-c=READY") // by another server than the one of the context
	s.must(t, "edge-b", "k3sstandin", "stop")
	s.must(t, "edge-c", "k3sstandin", "stop")
	s.states(t, "edge-a=DOWN edge-b=DOWN edge-c=DOWN")
	if r := command(t, "", "toskose", "cluster", "volumes", "--timeout", "3s"); r.code != 1 || !strings.Contains(r.stderr, "no API server of the cluster answers") {
		t.Errorf("volumes: %v", r)
	}
	var group sync.WaitGroup // etcd needs two of them
	for _, name := range []string{"edge-a", "edge-b", "edge-c"} {
		group.Go(func() {
			if r := s.on(t, name, "k3sstandin", "start", "server"); r.code != 0 {
				t.Errorf("on %s: %v", name, r)
			}
		})
	}
	group.Wait()
	s.states(t, "edge-a=READY edge-b=READY edge-c=READY")
}

const longhornKind = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: volumes.longhorn.io}
spec:
  group: longhorn.io
  scope: Namespaced
  names: {kind: Volume, plural: volumes}
  versions: [{name: v1beta2, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
`

// longhorn makes volumes in all states and all degrees of robustness.
func (s *site) longhorn(t *testing.T) {
	t.Helper()
	if r := must(t, "", "toskose", "cluster", "volumes"); !strings.Contains(r.stderr, "is not installed") {
		t.Errorf("%v", r)
	}
	file := filepath.Join(t.TempDir(), "longhorn.yaml")
	write(t, file, longhornKind)
	s.get(t, "apply", "-f", file)
	s.get(t, "wait", "customresourcedefinitions", "volumes.longhorn.io", "--for", "condition=Established", "--timeout", "1m")
	states, degrees := []string{"creating", "attached", "detached", "attaching", "detaching", "deleting"}, []string{"unknown", "healthy", "degraded", "faulted"}
	var text strings.Builder
	for i, state := range states {
		for j, degree := range degrees {
			fmt.Fprintf(&text, "---\napiVersion: longhorn.io/v1beta2\nkind: Volume\nmetadata: {name: %s-%s}\nstatus: {state: %s, robustness: %s, lastDegradedAt: \"2026-11-0%dT1%d:00:00Z\"}\n", state, degree, state, degree, 9-i, j)
		}
	}
	write(t, file, text.String())
	eventually(t, "the volumes are accepted", func() bool { return command(t, "", locate(t, "kubectl"), "apply", "-f", file).code == 0 })
	var all []observe.Volume
	if err := json.Unmarshal([]byte(must(t, "", "toskose", "cluster", "volumes", "-o", "json").stdout), &all); err != nil {
		t.Fatal(err)
	}
	if len(all) != 24 || all[0].Name != "deleting-faulted" || all[5].Name != "creating-faulted" || all[6].Name != "deleting-degraded" || all[23].Robustness.Word != "healthy" {
		t.Errorf("%d volumes: %+v", len(all), all)
	}
	for _, v := range all {
		if v.Name != v.State.Word+"-"+v.Robustness.Word || states[v.State.Number-1] != v.State.Word || degrees[v.Robustness.Number] != v.Robustness.Word || (v.Since != nil) != (v.Robustness.Number >= 2) {
			t.Errorf("%+v", v)
		}
	}
}

// bridges runs CNI's bridge plugin with the file of each machine.
func (s *site) bridges(t *testing.T) {
	t.Helper()
	document := filepath.Join(s.dir, "cluster.yaml")
	write(t, document, read(t, document)+"networks:\n  - {name: cameras, prefix: different, base: 10.1.10.0/24}\n")
	s.change(t, "label")
	if strings.Contains(read(t, s.file("edge-a")), "10.1.10") {
		t.Error("the network is not held back")
	}
	s.change(t, "attach", "cameras", "thinking")
	for i, name := range []string{"edge-a", "edge-b", "edge-c"} {
		s.must(t, name, "toskose", "cluster", "join", s.file(name))
		got := s.must(t, name, "sh", "-ec", `ip netns add probe
			CNI_COMMAND=ADD CNI_CONTAINERID=probe CNI_NETNS=/run/netns/probe CNI_IFNAME=net1 CNI_PATH=/usr/lib/cni /usr/lib/cni/bridge </etc/cni/multus/net.d/cameras.conf
			ip -n probe -brief address show net1`).stdout
		if want := fmt.Sprintf("10.1.%d.2/24", 10+i); !strings.Contains(got, want) {
			t.Errorf("on %s: the container has no %s:\n%s", name, want, got)
		}
	}
}

// rejoin runs what a change prints for machines that stay: they join again, and restart one after the other.
func (s *site) rejoin(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		s.must(t, name, "toskose", "cluster", "join", s.file(name), "--timeout", "1m", "--start", "k3sstandin start server")
	}
}

// replaced replaces a server by another one with the same address, which verifies the cluster.
func (s *site) replaced(t *testing.T) {
	t.Helper()
	s.change(t, "trust")
	dir := t.TempDir()
	bound := filepath.Join(dir, "bound")
	write(t, bound, strings.NewReplacer("NAME", "camera", "nodeName: NODE", `nodeSelector: {kubernetes.io/hostname: edge-c}`).Replace(thinkingPod))
	s.get(t, "apply", "-f", bound)
	if r := command(t, "", "toskose", "cluster", "remove", "edge-c", "--dir", s.dir, "--context", "default"); r.code != 1 || !strings.Contains(r.stderr, `pod default/camera can run only on "edge-c"`) {
		t.Errorf("%v", r)
	}
	s.get(t, "delete", "-f", bound, "--timeout", "1m")
	s.must(t, "edge-b", "k3sstandin", "stop")
	s.states(t, "edge-a=READY edge-b=NOTREADY edge-c=READY")
	if r := command(t, "", "toskose", "cluster", "remove", "edge-c", "--dir", s.dir, "--context", "default"); r.code != 1 || !strings.Contains(r.stderr, "which is not a majority") {
		t.Errorf("%v", r)
	}
	s.must(t, "edge-b", "k3sstandin", "start", "server")
	s.states(t, "edge-a=READY edge-b=READY edge-c=READY")
	s.must(t, "edge-c", "k3sstandin", "stop") // it breaks
	s.states(t, "edge-a=READY edge-b=READY edge-c=NOTREADY")
	s.change(t, "replace", "edge-c", s.machine(t, 3, "edge-d"), "--context", "default")
	s.states(t, "edge-a=READY edge-b=READY edge-d=ABSENT")
	s.rejoin(t, "edge-a", "edge-b")
	s.join(t, "edge-d", "server")
	s.states(t, "edge-a=READY edge-b=READY edge-d=READY")
	if got := s.get(t, "get", "node", "edge-d", "-o", "jsonpath={.status.addresses[0].address}"); got != "10.244.244.3" {
		t.Errorf("edge-d has the address %s", got)
	}
	if token := s.must(t, "edge-d", "cat", edge.K3sToken).stdout; !strings.HasPrefix(token, "K10") {
		t.Error("the token of the new machine has no digest")
	}
}

// seedRemoved makes another server the seed, removes the old one, and adds it again as an agent.
func (s *site) seedRemoved(t *testing.T) {
	t.Helper()
	if r := command(t, "", "toskose", "cluster", "remove", "edge-a", "--dir", s.dir, "--context", "default"); r.code != 1 || !strings.Contains(r.stderr, `"edge-a" is the seed`) {
		t.Errorf("%v", r)
	}
	s.change(t, "seed", "edge-b")
	s.rejoin(t, "edge-b", "edge-a", "edge-d")
	s.states(t, "edge-a=READY edge-b=READY edge-d=READY")
	s.reach(t, "edge-b", "10.244.244.2")
	s.change(t, "remove", "edge-a", "--context", "default")
	key := s.machine(t, 1, "edge-x")
	s.rejoin(t, "edge-b", "edge-d")
	s.change(t, "add", key)
	s.join(t, "edge-x", "agent")
	s.states(t, "edge-b=READY edge-d=READY edge-x=READY")
	if address := s.get(t, "get", "node", "edge-x", "-o", "jsonpath={.status.addresses[0].address}"); address != "10.244.244.4" {
		t.Errorf("edge-x has the address %s, and a freed one is assigned last", address)
	}
}

// TestTheTimeFromJoinToReady measures how long three machines take from join to Ready, beside the lab's own Kubernetes.
func TestTheTimeFromJoinToReady(t *testing.T) {
	s := newSite(t)
	text := "| run | three machines, from join to READY | the lab's own `up 3` |\n|---|---|---|\n"
	for i := range 3 {
		s.create(t)
		began := time.Now()
		for _, name := range []string{"edge-a", "edge-b", "edge-c"} {
			s.join(t, name, "server")
		}
		s.reach(t, "edge-a", "10.244.244.1")
		s.states(t, "edge-a=READY edge-b=READY edge-c=READY")
		joined := time.Since(began)
		mustWith(t, s.env, "", s.script, "down")
		began = time.Now()
		must(t, "", os.Getenv("TOSKOSE_MACHINES"), "up", "3")
		own := time.Since(began)
		must(t, "", os.Getenv("TOSKOSE_MACHINES"), "down")
		text += fmt.Sprintf("| %d | %.1f s | %.1f s |\n", i+1, joined.Seconds(), own.Seconds())
		if i < 2 {
			mustWith(t, s.env, "", s.script, "up", "3")
		}
	}
	if err := os.MkdirAll("../build", 0o750); err != nil {
		t.Fatal(err)
	}
	write(t, "../build/clusters.md", text)
}
