//go:build envtest

package controller

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/toskose/toskose/operator/levels"
)

// The size of the plant, and the number of clients that make the same Deployments without an operator.
const (
	benchAssets  = 20
	benchPerEach = 50
	benchAll     = benchAssets * benchPerEach
	benchClients = 8
)

// goal is a measured value with the most that it may be.
type goal struct {
	what      string
	got, most float64
	unit      string
}

// bench is an API server with an operator as a process of its own.
type bench struct {
	*apiServer
	b       *testing.B
	program string
	config  string
	process *exec.Cmd
}

// BenchmarkPlant measures the operator, whose binary TOSKOSE_OPERATOR names, with 1,000 applications of one component each.
func BenchmarkPlant(b *testing.B) {
	for b.Loop() {
		measurePlant(b)
	}
}

func measurePlant(b *testing.B) {
	ctrl.SetLogger(logr.Discard())
	program := os.Getenv("TOSKOSE_OPERATOR")
	if program == "" {
		b.Fatal("TOSKOSE_OPERATOR is not set: it is the path of the binary to measure")
	}
	env := &envtest.Environment{}
	config, err := env.Start()
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := env.Stop(); err != nil {
			b.Error(err)
		}
	}()
	scheme := runtime.NewScheme()
	if err := addBuiltin(scheme); err != nil {
		b.Fatal(err)
	}
	quick := rest.CopyConfig(config)
	quick.QPS = -1
	admin, err := client.New(quick, client.Options{Scheme: scheme})
	if err != nil {
		b.Fatal(err)
	}
	structure, err := levels.Parse("asset", levels.LevelGroup)
	if err != nil {
		b.Fatal(err)
	}
	m := &bench{&apiServer{b, quick, admin, structure}, b, program, filepath.Join(b.TempDir(), "kubeconfig"), nil}
	if err := os.WriteFile(m.config, env.KubeConfig, 0o600); err != nil {
		b.Fatal(err)
	}
	m.install()
	goals := []goal{{"created by eight clients", m.createDirectly().Seconds(), 0, "s"}}
	m.start()
	defer m.stop()
	goals = append(goals, goal{"memory, idle, all controllers", m.memory("VmRSS"), 60, "MB"})
	began := time.Now()
	m.postPlant()
	created, running := m.bringUp(began)
	goals = append(goals, goal{"created by the operator", created.Seconds(), 15, "s"}, goal{"running", running.Seconds(), 30, "s"},
		goal{"memory, at most", m.memory("VmHWM"), 120, "MB"})
	before := m.versions()
	m.stop()
	m.start()
	time.Sleep(10 * time.Second) // longer than the caches take to fill
	changed := 0.0
	for name, version := range m.versions() {
		if before[name] != version {
			changed++
		}
	}
	goals = append(goals, goal{"objects written after a restart", changed, 0, ""})
	report(b, goals)
}

// report prints a table, and fails the benchmark if a goal is missed.
func report(b *testing.B, goals []goal) {
	for i, g := range goals {
		b.Logf("%-32s %8.1f %s (at most %g)", g.what, g.got, g.unit, g.most)
		b.ReportMetric(g.got, strings.ReplaceAll(strings.ReplaceAll(g.what, ",", ""), " ", "-"))
		if i > 0 && g.got > g.most {
			b.Errorf("%s: %.1f %s, want at most %g", g.what, g.got, g.unit, g.most)
		}
	}
}

// each calls do for all numbers, from eight goroutines.
func (m *bench) each(n int, do func(i int) error) {
	m.b.Helper()
	numbers, failed := make(chan int), make(chan error, benchClients)
	var all sync.WaitGroup
	for range benchClients {
		all.Go(func() {
			for i := range numbers {
				if err := do(i); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	go func() {
		defer close(numbers)
		for i := range n {
			select {
			case numbers <- i:
			case <-m.b.Context().Done():
				return
			}
		}
	}()
	all.Wait()
	select {
	case err := <-failed:
		m.b.Fatal(err)
	default:
	}
}

// createDirectly makes the Deployments that the operator makes later, and removes them again.
func (m *bench) createDirectly() time.Duration {
	component := newObject(gvkOf(levels.Component), client.ObjectKey{Namespace: "plant", Name: "direct"})
	component.Object["spec"] = map[string]any{"name": "direct", "image": "pause", "flowConfig": map[string]any{}}
	named := func(i int) *object {
		o := plainWorkload(component)
		o.SetName(fmt.Sprintf("direct-%d", i))
		return o
	}
	began := time.Now()
	m.each(benchAll, func(i int) error { return m.admin.Create(m.b.Context(), named(i)) })
	took := time.Since(began)
	m.each(benchAll, func(i int) error { return m.admin.Delete(m.b.Context(), named(i)) })
	return took
}

// postPlant posts all assets.
func (m *bench) postPlant() {
	m.each(benchAssets, func(i int) error {
		var file strings.Builder
		fmt.Fprintf(&file, "apiVersion: levels.toskose.io/v1alpha1\nkind: Asset\nmetadata: {name: robot-%d}\nspec:\n  name: robot-%d\n  deploy: true\n  applications:\n", i, i)
		for j := range benchPerEach {
			fmt.Fprintf(&file, "    - {name: app-%d, deploy: true, replicas: 1, components: [{name: one, image: pause, flowConfig: {previous: [], next: []}}]}\n", j)
		}
		return m.post(file.String())
	})
}

// bringUp makes each Deployment ready as soon as it exists, and returns when all existed and when all assets were running.
func (m *bench) bringUp(began time.Time) (created, running time.Duration) {
	m.b.Helper()
	started := map[string]bool{}
	deadline := time.Now().Add(5 * time.Minute)
	for running == 0 {
		if time.Now().After(deadline) {
			m.b.Fatalf("%d of %d Deployments exist after five minutes, or the assets are not running", len(started), benchAll)
		}
		list := newList(deploymentKind)
		if err := m.admin.List(m.b.Context(), list, client.InNamespace("plant")); err != nil {
			m.b.Fatal(err)
		}
		if len(list.Items) == benchAll && created == 0 {
			created = time.Since(began)
		}
		var fresh []*object
		for i := range list.Items {
			if o := &list.Items[i]; !started[o.GetName()] {
				started[o.GetName()] = true
				fresh = append(fresh, o)
			}
		}
		m.each(len(fresh), func(i int) error {
			fresh[i].Object["status"] = map[string]any{
				"replicas": int64(1), "updatedReplicas": int64(1), "readyReplicas": int64(1), "observedGeneration": fresh[i].GetGeneration(),
			}
			return m.admin.Status().Update(m.b.Context(), fresh[i])
		})
		if len(started) == benchAll && m.areRunning() {
			running = time.Since(began)
		}
		time.Sleep(200 * time.Millisecond)
	}
	return created, running
}

func (m *bench) areRunning() bool {
	list := newList(gvkOf(m.structure[0]))
	if err := m.admin.List(m.b.Context(), list); err != nil {
		m.b.Fatal(err)
	}
	for i := range list.Items {
		if situationOf(&list.Items[i]) != levels.Running {
			return false
		}
	}
	return len(list.Items) == benchAssets
}

// versions returns the resource versions of all objects that the operator writes.
func (m *bench) versions() map[string]string {
	all := map[string]string{}
	for _, gvk := range []schema.GroupVersionKind{gvkOf(m.structure[0]), gvkOf(levels.Application), gvkOf(levels.Component), deploymentKind} {
		list := newList(gvk)
		if err := m.admin.List(m.b.Context(), list); err != nil {
			m.b.Fatal(err)
		}
		for i := range list.Items {
			o := &list.Items[i]
			all[gvk.Kind+"/"+o.GetName()] = o.GetResourceVersion()
		}
	}
	return all
}

// start starts the operator, and waits until its caches are filled.
func (m *bench) start() {
	m.b.Helper()
	m.process = exec.CommandContext(context.Background(), m.program, "run", "asset", "application", "component", "--structure=asset",
		"--kubeconfig="+m.config, "--health=127.0.0.1:18081", "--metrics=0")
	if err := m.process.Start(); err != nil {
		m.b.Fatal(err)
	}
	time.Sleep(5 * time.Second) // until it is idle
}

func (m *bench) stop() {
	_ = m.process.Process.Signal(os.Interrupt)
	_ = m.process.Wait()
}

// memory returns a value of the process's status, in MB.
func (m *bench) memory(field string) float64 {
	m.b.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", m.process.Process.Pid))
	if err != nil {
		m.b.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if words := strings.Fields(line); len(words) == 3 && words[0] == field+":" {
			kilobytes, err := strconv.Atoi(words[1])
			if err != nil {
				m.b.Fatal(err)
			}
			return float64(kilobytes) / 1000
		}
	}
	m.b.Fatalf("the process has no %s", field)
	return 0
}
