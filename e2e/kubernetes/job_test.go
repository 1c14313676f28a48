package kubernetes_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/toskose/toskose/internal/sample"
	"github.com/toskose/toskose/packager/config"
	"github.com/toskose/toskose/spec"
	"github.com/toskose/toskose/spec/protocol"
)

// withTask adds a Task in a container of its own, which is run without the manager.
func withTask(task spec.Task) (*spec.Application, config.Config) {
	app := sample.App()
	run := spec.Operation{Name: "run"}
	for _, o := range app.Components[0].Operations() {
		if o.Script != "" {
			run.Script = o.Script
		}
	}
	app.Nodes = append(app.Nodes, spec.Node{Name: "toolbox", Type: "tosker.nodes.Container", Image: app.Nodes[0].Image, Protocol: protocol.Container()})
	app.Components = append(app.Components, spec.Component{
		Name: "migrate", Type: "toskose.nodes.Task", Host: "toolbox", Node: "toolbox", Protocol: protocol.Task(),
		Interfaces: []spec.Interface{{Name: "Task", Operations: []spec.Operation{run}}}, Task: &task,
	})
	return app, config.Config{Nodes: map[string]config.Node{"toolbox": {Job: true}}}
}

// jobIn returns the Job of the container in an output folder.
func jobIn(t *testing.T, dir string) *batchv1.Job {
	t.Helper()
	for _, o := range objects(t, read(t, filepath.Join(dir, "kubernetes", "node-toolbox.yaml"))) {
		if job, ok := o.(*batchv1.Job); ok {
			return job
		}
	}
	t.Fatal("there is no Job")
	return nil
}

func TestAJobHasTheNumbersOfItsTask(t *testing.T) {
	t.Parallel()
	number := func(n int32) *int32 { return &n }
	names := map[string]bool{}
	for name, tt := range map[string]struct {
		task spec.Task
		want batchv1.JobSpec
	}{
		"one": {
			spec.Task{Completions: 1, Parallelism: 1, BackoffLimit: 3, FailOn: []int{3, 64}},
			batchv1.JobSpec{Completions: number(1), Parallelism: number(1), BackoffLimit: number(3)},
		},
		"several, all at once": {
			spec.Task{Completions: 5, Parallelism: 5, BackoffLimit: 0, Deadline: 60, FailOn: []int{7}},
			batchv1.JobSpec{Completions: number(5), Parallelism: number(5), BackoffLimitPerIndex: number(0)},
		},
		"no code is final": {
			spec.Task{Completions: 2, Parallelism: 1, BackoffLimit: 1},
			batchv1.JobSpec{Completions: number(2), Parallelism: number(1), BackoffLimitPerIndex: number(1)},
		},
	} {
		app, cfg := withTask(tt.task)
		dir := packaged(t, plan(t, app, cfg), defaults(), false)
		text := string(read(t, filepath.Join(dir, "kubernetes", "node-toolbox.yaml")))
		job := jobIn(t, dir)
		names[job.Name] = true
		pod := job.Spec.Template.Spec
		mode, action := batchv1.NonIndexedCompletion, batchv1.PodFailurePolicyActionFailJob
		if tt.task.Completions > 1 {
			mode, action = batchv1.IndexedCompletion, batchv1.PodFailurePolicyActionFailIndex
		}
		tt.want.CompletionMode = &mode
		if tt.task.Deadline > 0 {
			seconds := int64(tt.task.Deadline)
			tt.want.ActiveDeadlineSeconds = &seconds
		}
		if len(tt.task.FailOn) > 0 {
			codes := batchv1.PodFailurePolicyOnExitCodesRequirement{ContainerName: &pod.Containers[0].Name, Operator: "In"}
			for _, code := range tt.task.FailOn {
				codes.Values = append(codes.Values, int32(code))
			}
			tt.want.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{Action: action, OnExitCodes: &codes}}}
		}
		got := job.Spec
		got.Template = corev1.PodTemplateSpec{}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if c := pod.Containers[0]; pod.RestartPolicy != "Never" || c.StartupProbe != nil || c.ReadinessProbe != nil || c.LivenessProbe != nil {
			t.Errorf("%s: its pod is restarted %s, and probed by %v %v %v", name, pod.RestartPolicy, c.StartupProbe, c.ReadinessProbe, c.LivenessProbe)
		}
		if !slices.ContainsFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Name == "secrets" }) {
			t.Errorf("%s: it has no secrets", name)
		}
		for document := range strings.SplitSeq(text, "---\n") {
			// The schemas are those of Kubernetes 1.21, whose Jobs had fewer words; objects has read this one strictly.
			if said := invalid(t, document); len(said) > 0 && !strings.Contains(document, "kind: Job\n") {
				t.Errorf("%s: %q in\n%s", name, said, document)
			}
		}
	}
	if len(names) != 3 {
		t.Errorf("the names of Jobs of three templates are %v", names)
	}
}

// TestAJobOfTheSameIsTheSameJob packages one twice: what has run is not run again.
func TestAJobOfTheSameIsTheSameJob(t *testing.T) {
	t.Parallel()
	app, cfg := withTask(spec.Task{Completions: 1, Parallelism: 1})
	name := func() string {
		return jobIn(t, packaged(t, plan(t, app, cfg), defaults(), false)).Name
	}
	if first, again := name(), name(); first != again {
		t.Errorf("it is %s, and then %s", first, again)
	}
}
