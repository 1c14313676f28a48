package manifests

import "github.com/toskose/toskose/operator/levels"

// The ports of a controller: of its health checks, and of its metrics.
const (
	HealthPort  = 8081
	MetricsPort = 8080
)

// user is the user of the operator's image.
const user = 65532

func serviceAccount(name string) map[string]any {
	return map[string]any{
		"apiVersion": "v1", "kind": "ServiceAccount",
		"metadata": map[string]any{"name": name, "namespace": Namespace, "labels": labels("")},
	}
}

func arguments(o Options, controllers []string) []string {
	args := append([]string{"run"}, controllers...)
	args = append(args, "--structure="+o.Structure.String(), "--namespace="+o.Namespace)
	if o.Group != levels.LevelGroup {
		args = append(args, "--group="+o.Group)
	}
	return args
}

func check(path string) map[string]any {
	return map[string]any{"httpGet": map[string]any{"path": path, "port": "health"}, "periodSeconds": 10}
}

// deployment returns the Deployment of one or more controllers. It has one replica and no lease: all writes are server-side
// applies, so two replicas during an update do no harm.
func deployment(o Options, name string, controllers ...string) map[string]any {
	container := map[string]any{
		"name": "operator", "image": o.Image, "imagePullPolicy": "IfNotPresent", "args": arguments(o, controllers),
		"ports": []any{
			map[string]any{"name": "health", "containerPort": HealthPort},
			map[string]any{"name": "metrics", "containerPort": MetricsPort},
		},
		"livenessProbe": check("/healthz"), "readinessProbe": check("/readyz"),
		"resources": map[string]any{
			"requests": map[string]any{"cpu": "10m", "memory": "64Mi"},
			"limits":   map[string]any{"memory": "256Mi"},
		},
		"securityContext": map[string]any{
			"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true,
			"capabilities": map[string]any{"drop": []string{"ALL"}},
		},
	}
	pod := map[string]any{
		"serviceAccountName": name, "enableServiceLinks": false,
		"securityContext": map[string]any{
			"runAsNonRoot": true, "runAsUser": user, "runAsGroup": user, "seccompProfile": map[string]any{"type": "RuntimeDefault"},
		},
		"containers": []any{container},
	}
	selected := labels(name)
	return map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{"name": name, "namespace": Namespace, "labels": selected},
		"spec": map[string]any{
			"replicas": 1, "selector": map[string]any{"matchLabels": selected},
			"template": map[string]any{"metadata": map[string]any{"labels": selected}, "spec": pod},
		},
	}
}
