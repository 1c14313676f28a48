//go:build chaos && kubernetes

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/toskose/toskose/manager/client"
)

// TestChaosOnKubernetes takes pods, links and machines away. `make chaos-kubernetes`
// says what the cluster has to be.
func TestChaosOnKubernetes(t *testing.T) {
	source, folder := chaoticThinking(t)
	app := packageAs(t, dockerEngine(t), source, []string{"gui_port"}, func(string) string { return "nodes:\n" + troubledNodes("", "") }, "--target", "kubernetes", "--allow-host", folder)
	loaded(t, app)
	k := &cluster{chaos: &chaos{application: app, folder: folder}, namespace: app.name, machines: clusterMachines(t)}
	k.ground, k.where = k, k.manager
	k.place(t)
	claimed(t, k.namespace, "dbvolume")
	t.Cleanup(func() {
		k.allBack(t)
		kubectl(t, "delete", "namespace", k.namespace, "--ignore-not-found", "--timeout=3m")
	})
	must(t, "", "toskose", "deploy", "--timeout", patience, app.dir)
	app.password = strings.TrimSpace(read(t, filepath.Join(app.dir, "secrets", "manager-password")))
	k.published(t)
	t.Cleanup(func() { k.publish(t, "chaos-kubernetes.md") })
	k.rise(t)

	faults := slices.Concat(
		[]fault{k.componentKilled(), k.unitKilled(apiUp, snifferUp), k.podDeleted(), k.linkCut()}, // a pod's next container has nothing
		k.podMoves(), []fault{k.managerKilled()}, k.managersMachine(),
		k.scaled(), []fault{k.failsTwice(), k.hangs(), k.answersNothing(), k.answersErrors()},
	)
	for _, f := range faults {
		began := time.Now()
		if k.survives(t, f); f.name == "replicas from 1 to 5" {
			k.foundSoon(t, began)
		}
	}
	k.crashes(t)
	k.nothingIsLost(t)
	k.journalsAgree(t, len(recovery), "backend", "frontend")
}

// cluster is a chaos on Kubernetes.
type cluster struct {
	*chaos
	namespace string
	machines  []string       // nodes of the cluster; store is on the first, which stays
	away      map[string]int // machines that were killed
}

// clusterMachines returns the nodes of the cluster, which TOSKOSE_MACHINES knows by
// their numbers.
func clusterMachines(t *testing.T) []string {
	t.Helper()
	if os.Getenv("TOSKOSE_MACHINES") == "" {
		t.Fatal("there is no TOSKOSE_MACHINES: the command that cuts, mends, kills and starts a machine of the cluster")
	}
	names := strings.Fields(kubectl(t, "get", "nodes", "-o", "jsonpath={.items[*].metadata.name}"))
	if slices.Sort(names); len(names) < 3 {
		t.Fatalf("the cluster has the nodes %q, and has to have three", names)
	}
	return names
}

// machine has something happen to a machine, and returns when.
func (k *cluster) machine(t *testing.T, name string, what ...string) time.Time {
	t.Helper()
	words := strings.Fields(os.Getenv("TOSKOSE_MACHINES"))
	number := strconv.Itoa(slices.Index(k.machines, name) + 1)
	began := time.Now()
	must(t, "", found(t, words[0]), slices.Concat(words[1:], what[:1], []string{number}, what[1:])...)
	switch what[0] {
	case "kill":
		if k.away == nil {
			k.away = map[string]int{}
		}
		k.away[name]++
	case "start":
		delete(k.away, name)
	}
	return began
}

// allBack starts what is still away when the test ends.
func (k *cluster) allBack(t *testing.T) {
	t.Helper()
	for name := range k.away {
		k.machine(t, name, "start")
	}
}

// place has store and frontend stay on the first machine, the others not be there nor,
// if that can be, together, and backend leave a silent machine after 5 s and not
// after five minutes.
func (k *cluster) place(t *testing.T) {
	t.Helper()
	insert := func(node, text string) {
		path := filepath.Join(k.dir, "kubernetes", "node-"+node+".yaml")
		before := read(t, path)
		after := strings.Replace(before, "      containers:\n", text+"      containers:\n", 1)
		if before == after {
			t.Fatalf("%s has no containers:\n%s", path, before)
		}
		write(t, path, after)
	}
	where := func(operator, more string) string {
		return fmt.Sprintf("      affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: %s, values: [%s]}]}]}}%s}\n",
			operator, k.machines[0], more)
	}
	apart := ", podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 100, podAffinityTerm: {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app.kubernetes.io/name: toskose-manager}}}}]}"
	leave := "      tolerations:\n"
	for _, key := range []string{"not-ready", "unreachable"} {
		leave += fmt.Sprintf("        - {key: node.kubernetes.io/%s, operator: Exists, effect: NoExecute, tolerationSeconds: 5}\n", key)
	}
	insert("store", where("In", ""))
	insert("frontend", where("In", "")) // with a copy of the goal
	insert("toskose-manager", where("NotIn", ""))
	insert("backend", where("NotIn", apart)+leave)
}

// pod is what is of interest of one.
type pod struct {
	Metadata struct {
		Name, UID         string
		DeletionTimestamp *time.Time
	}
	Spec   struct{ NodeName string }
	Status struct {
		PodIP             string
		ContainerStatuses []struct {
			ContainerID string
			Ready       bool
			State       struct {
				Running *struct{ StartedAt time.Time }
			}
		}
	}
}

// pods returns the pods of a workload whose container runs and that are not ending.
func (k *cluster) pods(t *testing.T, workload string) (all []pod) {
	t.Helper()
	var list struct{ Items []pod }
	said := kubectl(t, "-n", k.namespace, "get", "pods", "-l", "app.kubernetes.io/name="+workload, "-o", "json")
	if err := json.Unmarshal([]byte(said), &list); err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(list.Items, func(p pod) bool {
		return p.Metadata.DeletionTimestamp != nil || len(p.Status.ContainerStatuses) == 0 || p.Status.ContainerStatuses[0].State.Running == nil
	})
}

// pod waits until a workload has one.
func (k *cluster) pod(t *testing.T, workload string) (one pod) {
	t.Helper()
	eventually(t, workload+" has one pod", func() bool {
		all := k.pods(t, workload)
		if len(all) == 1 {
			one = all[0]
		}
		return len(all) == 1
	})
	return one
}

func (p pod) started() time.Time { return p.Status.ContainerStatuses[0].State.Running.StartedAt }

// newest returns when the newest container of a workload wrote its first line:
// Kubernetes itself says only in which second it was started.
func (k *cluster) newest(t *testing.T, workload string) (last time.Time) {
	t.Helper()
	for _, p := range k.pods(t, workload) {
		line := kubectl(t, "-n", k.namespace, "logs", p.Metadata.Name, "--timestamps", "--limit-bytes=100")
		at, err := time.Parse(time.RFC3339Nano, strings.SplitN(line, " ", 2)[0])
		if err != nil {
			t.Fatalf("the log of %s begins with %q", p.Metadata.Name, line)
		}
		if at.After(last) {
			last = at
		}
	}
	return last
}

// manager returns where the newest manager is, which this machine has to reach.
func (k *cluster) manager(t *testing.T) string {
	t.Helper()
	var last pod
	for _, p := range k.pods(t, "toskose-manager") {
		if last.Metadata.Name == "" || p.started().After(last.started()) {
			last = p
		}
	}
	_, port, _ := strings.Cut(strings.TrimPrefix(k.application.manager, "http://"), ":")
	return "http://" + last.Status.PodIP + ":" + port
}

// published finds the page by the Service that publishes it, on the machine that stays.
func (k *cluster) published(t *testing.T) {
	t.Helper()
	k.application.manager = k.manager(t)
	k.at = map[string]string{"gui_port": kubectl(t, "get", "node", k.machines[0], "-o", `jsonpath={.status.addresses[?(@.type=="InternalIP")].address}`)}
	port := kubectl(t, "-n", k.namespace, "get", "service", "frontend-public", "-o", "jsonpath={.spec.ports[0].nodePort}")
	k.ports["gui_port"], _ = strconv.Atoi(port)
}

func (k *cluster) within(t *testing.T, workload string, command ...string) string {
	t.Helper()
	return k.in(t, k.pod(t, workload), command...)
}

// in runs a command in a pod.
func (k *cluster) in(t *testing.T, p pod, command ...string) string {
	t.Helper()
	return kubectl(t, append([]string{"-n", k.namespace, "exec", p.Metadata.Name, "--"}, command...)...)
}

func (k *cluster) kill(t *testing.T, workload string) time.Time {
	t.Helper()
	p := k.pod(t, workload)
	_, id, _ := strings.Cut(p.Status.ContainerStatuses[0].ContainerID, "://")
	return k.machine(t, p.Spec.NodeName, "on", "ctr", "-n", "k8s.io", "task", "kill", "-s", "KILL", id)
}

// used is as the kubelet has it.
func (k *cluster) used(t *testing.T, workload string) time.Duration {
	t.Helper()
	p := k.pod(t, workload)
	var summary struct {
		Pods []struct {
			PodRef struct{ UID string }
			CPU    struct{ UsageCoreNanoSeconds int64 }
		}
	}
	said := kubectl(t, "get", "--raw", "/api/v1/nodes/"+p.Spec.NodeName+"/proxy/stats/summary?only_cpu_and_memory=true")
	if err := json.Unmarshal([]byte(said), &summary); err != nil {
		t.Fatal(err)
	}
	for _, of := range summary.Pods {
		if of.PodRef.UID == p.Metadata.UID && of.CPU.UsageCoreNanoSeconds > 0 {
			return time.Duration(of.CPU.UsageCoreNanoSeconds)
		}
	}
	t.Fatalf("the kubelet of %s does not know what %s has used", p.Spec.NodeName, p.Metadata.Name)
	return 0
}

func (k *cluster) podDeleted() fault {
	return fault{
		name: "a pod deleted",
		strike: func(t *testing.T) time.Time {
			began := time.Now()
			kubectl(t, "-n", k.namespace, "delete", "pod", k.pod(t, "backend").Metadata.Name, "--wait=false")
			return began
		},
		runs:  each(1, apiUp, snifferUp),
		alone: k.again("backend"),
	}
}

// linkCut is shorter than Kubernetes takes to give a machine up: what runs there goes on.
func (k *cluster) linkCut() fault {
	return fault{
		name: "the link of a machine cut for 5 s",
		strike: func(t *testing.T) time.Time {
			on := k.pod(t, "backend").Spec.NodeName
			began := k.machine(t, on, "cut")
			defer k.machine(t, on, "mend")
			time.Sleep(5 * time.Second)
			return began
		},
		until: k.allWell,
	}
}

// podMoves cuts a link until Kubernetes has another pod elsewhere, while the one behind
// the cut runs on; then that has to end.
func (k *cluster) podMoves() []fault {
	var old pod
	return []fault{{
		name: "the link of a machine cut until its pod is replaced",
		strike: func(t *testing.T) time.Time {
			old = k.pod(t, "backend")
			return k.machine(t, old.Spec.NodeName, "cut")
		},
		runs:  each(1, apiUp, snifferUp),
		alone: k.again("backend"),
		until: func(t *testing.T, g client.Goal) bool {
			return g.Done && slices.ContainsFunc(k.pods(t, "backend"), func(p pod) bool { return p.Metadata.UID != old.Metadata.UID })
		},
	}, {
		name:   "that link mended",
		strike: func(t *testing.T) time.Time { return k.machine(t, old.Spec.NodeName, "mend") },
		until:  k.allWell,
	}}
}

// allWell reports whether the goal is reached, all machines are ready and no pod is
// about to end.
func (k *cluster) allWell(t *testing.T, g client.Goal) bool { return g.Done && k.settled(t) }

// settled reports whether all machines are ready and no pod is about to end.
func (k *cluster) settled(t *testing.T) bool {
	t.Helper()
	ready := kubectl(t, "get", "nodes", "-o", `jsonpath={.items[*].status.conditions[?(@.type=="Ready")].status}`)
	ending := kubectl(t, "-n", k.namespace, "get", "pods", "-o", "jsonpath={.items[*].metadata.deletionTimestamp}")
	return strings.Count(ready, "True") == len(k.machines) && ending == ""
}

// managersMachine stops the machine that the manager runs on, with the pod of backend
// if that is there, in the middle of a plan, and starts it again. What had been run
// there is run again where another takes its place.
func (k *cluster) managersMachine() []fault {
	on, all := "", downAndUp()
	return []fault{{
		name:  "the machine that the manager runs on stopped in the middle of a plan",
		runs:  all,
		alone: k.again("toskose-manager"),
		strike: func(t *testing.T) time.Time {
			_, before := k.ran(t)
			var there pod
			began := k.midway(t, func(t *testing.T) time.Time {
				on, there = k.pod(t, "toskose-manager").Spec.NodeName, k.pod(t, "backend")
				return k.machine(t, on, "kill")
			})
			if there.Spec.NodeName == on {
				_, after := k.ran(t)
				for operation, n := range after[there.Metadata.Name].minus(before[there.Metadata.Name]) {
					if !strings.HasSuffix(operation, ".stop") && !strings.HasSuffix(operation, ".delete") {
						all[operation] += n
					}
				}
			}
			return began
		},
	}, {
		name:   "that machine started",
		strike: func(t *testing.T) time.Time { return k.machine(t, on, "start") },
		until:  k.allWell,
	}}
}

func (k *cluster) scale(t *testing.T, workload string, replicas int) {
	t.Helper()
	kubectl(t, "-n", k.namespace, "scale", "deployment", workload, fmt.Sprintf("--replicas=%d", replicas))
}

// journals are those of the pods that there are.
func (k *cluster) journals(t *testing.T, workloads ...string) (all []journal) {
	t.Helper()
	for _, workload := range workloads {
		for _, p := range k.pods(t, workload) {
			lines := strings.NewReader(k.in(t, p, "sh", "-c", "cat /toskose/state/journal/*.jsonl"))
			all = append(all, journal{p.Metadata.Name, decoded(t, lines)})
		}
	}
	return all
}
