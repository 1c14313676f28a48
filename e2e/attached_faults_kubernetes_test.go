//go:build kubernetes

package e2e

import (
	"fmt"
	"strings"
	"testing"
)

// clusterDeployment is an attachedDeployment on Kubernetes.
type clusterDeployment struct{ *composed }

// pod returns a value of the one pod of a workload, by JSONPath.
func (c clusterDeployment) pod(t *testing.T, workload, path string) string {
	t.Helper()
	return kubectl(t, "-n", c.name, "get", "pods", "-l", "app="+workload, "-o", "jsonpath={.items[*]"+path+"}")
}

func (c clusterDeployment) within(t *testing.T, service, script string, args ...string) string {
	t.Helper()
	pod := c.pod(t, service, ".metadata.name")
	return kubectl(t, append([]string{"-n", c.name, "exec", pod, "-c", "main", "--", "sh", "-c", script, "sh"}, args...)...)
}

func (c clusterDeployment) incarnation(t *testing.T, service string) string {
	t.Helper()
	const status = ".status.containerStatuses[0]"
	return c.pod(t, service, status+".containerID") + " " + c.pod(t, service, status+".state.running.startedAt")
}

func (c clusterDeployment) toskose(t *testing.T, args ...string) result {
	t.Helper()
	return commandWith(t, c.env, c.dir, "toskose", args...)
}

// deploymentOf returns the manifest of a Deployment of an image of the project NAME.
func deploymentOf(name string, env []string) string {
	variables := &strings.Builder{}
	for _, v := range env {
		key, value, _ := strings.Cut(v, "=")
		fmt.Fprintf(variables, "{name: %s, value: %q}, ", key, value)
	}
	return fmt.Sprintf(`---
apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s}
spec:
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec:
      terminationGracePeriodSeconds: 1
      containers: [{name: main, image: "docker.io/library/NAME-%[1]s:latest", imagePullPolicy: IfNotPresent, env: [%[2]s]}]
`, name, variables)
}

// TestTheProgramsOfAttachedWorkloadsRecoverOnKubernetes from each fault.
func TestTheProgramsOfAttachedWorkloadsRecoverOnKubernetes(t *testing.T) {
	p := newComposedOf(t, attachedServices("", func(string) string { return "" }))
	var manifests string
	var services []string
	for _, app := range attachable {
		manifests += deploymentOf(app.name, app.env)
		services = append(services, app.name)
	}
	p.attachOnCluster(t, manifests, services...)
	attachedProgramsRecover(t, clusterDeployment{p}, "attached-faults-kubernetes.md")
}
