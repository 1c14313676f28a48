package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/toskose/toskose/manager"
	"github.com/toskose/toskose/manager/goal"
	"github.com/toskose/toskose/manager/rest"
	"github.com/toskose/toskose/spec"
	"github.com/toskose/toskose/spec/protocol"
)

const (
	indexes = 32 // of a Task
	abreast = 8  // parallelism
)

// tasks measures an empty Task, on one unit and on as many units as its parallelism, and a Kubernetes
// Job with the same completions and parallelism.
func (b *bench) tasks(binary string) error {
	for _, replicas := range []int{1, abreast} {
		took, err := runTask(b.dir, binary, replicas)
		if err != nil {
			return err
		}
		b.row(fmt.Sprintf("an empty Task of %d indexes, %d at a time", indexes, replicas), milliseconds(took), 0, "ms")
	}
	took, err := runJob()
	if err != nil {
		b.lacks(fmt.Sprintf("a Kubernetes Job of %d indexes, %d at a time", indexes, abreast), err)
		return nil
	}
	b.row(fmt.Sprintf("a Kubernetes Job of %d indexes, %d at a time", indexes, abreast), milliseconds(took), 0, "ms")
	return nil
}

// runTask runs a Task on a number of units and measures the time from the goal to its end.
func runTask(dir, binary string, replicas int) (time.Duration, error) {
	units := &fleet{dir: dir, perNode: replicas, configuration: func(dir string, addr netip.AddrPort, _ int) string {
		run := "[program:n0c0.run]\nprocess_name=run\ncommand=/bin/true\nautostart=false\nautorestart=false\nstartsecs=0\nstdout_logfile=NONE\nstderr_logfile=NONE\n" +
			"toskose_component=n0c0\ntoskose_interface=Task\ntoskose_operation=run\ntoskose_inputs={\"TASK_INDEX\":\"0\"}\n"
		return server(dir, addr) + run + component("n0c0", protocol.Task(), "run")
	}}
	defer units.stop()
	if err := units.start(binary, replicas); err != nil {
		return 0, err
	}
	app := &spec.Application{
		Name:  "tasks",
		Nodes: []spec.Node{{Name: "n0", Type: "tosker.nodes.Container", Protocol: protocol.Container(), Unit: unit()}},
		Components: []spec.Component{{
			Name: "n0c0", Type: "toskose.nodes.Task", Host: "n0", Node: "n0", Protocol: protocol.Task(),
			Interfaces: []spec.Interface{{Name: protocol.TaskRun.Interface, Operations: []spec.Operation{{Name: protocol.TaskRun.Name, Script: "run"}}}},
			Task:       &spec.Task{Completions: indexes, Parallelism: abreast, Rerun: spec.RerunReplaced},
		}},
	}
	m, err := manager.New(app, manager.Options{Containers: units, Passwords: passwordOf, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return 0, err
	}
	defer m.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	for len(m.Goal().Lacking) > 0 || !m.Goal().Acting { // until the manager knows the units
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		time.Sleep(10 * time.Millisecond)
	}
	begun := time.Now()
	if _, _, err := m.SetGoal(ctx, rest.GoalRequest{State: goal.Up, By: "bench"}); err != nil {
		return 0, err
	}
	for !m.Goal().Done {
		if ctx.Err() != nil {
			return 0, fmt.Errorf("the Task does not end: %+v", m.Goal().Obstacles)
		}
		time.Sleep(time.Millisecond)
	}
	return time.Since(begun), nil
}

// runJob measures a Job on the current cluster of kubectl, from `kubectl apply` to its completion. The cluster's
// nodes must have the image in TOSKOSE_JOB_IMAGE, which must contain /bin/true.
func runJob() (time.Duration, error) {
	image := os.Getenv("TOSKOSE_JOB_IMAGE")
	if image == "" {
		return 0, fmt.Errorf("TOSKOSE_JOB_IMAGE is not an image on the nodes of kubectl's cluster")
	}
	const name = "toskose-bench-job"
	manifest := fmt.Sprintf(`apiVersion: batch/v1
kind: Job
metadata: {name: %s}
spec:
  completions: %d
  parallelism: %d
  completionMode: Indexed
  template:
    spec:
      restartPolicy: Never
      terminationGracePeriodSeconds: 0
      containers:
      - {name: run, image: %q, imagePullPolicy: IfNotPresent, command: [/bin/true]}
`, name, indexes, abreast, image)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	kubectl := func(input string, argv ...string) error {
		cmd := exec.CommandContext(ctx, "kubectl", argv...)
		cmd.Stdin = strings.NewReader(input)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("kubectl %s: %s", argv[0], strings.TrimSpace(string(out)))
		}
		return nil
	}
	defer func() {
		_ = kubectl("", "delete", "job", name, "--ignore-not-found", "--wait=false")
	}()
	begun := time.Now()
	if err := kubectl(manifest, "apply", "-f", "-"); err != nil {
		return 0, err
	}
	if err := kubectl("", "wait", "--for=condition=complete", "job/"+name, "--timeout=240s"); err != nil {
		return 0, err
	}
	return time.Since(begun), nil
}
