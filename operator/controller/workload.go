package controller

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/toskose/toskose/operator/levels"
)

// The kinds of objects that a component may have.
var (
	deploymentKind  = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	statefulSetKind = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "StatefulSet"}
	jobKind         = schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}
	configMapKind   = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
)

var componentObjects = []schema.GroupVersionKind{deploymentKind, statefulSetKind, jobKind, configMapKind}

// digestAnnotation has a digest of the applied object. It differs when a field was removed.
const digestAnnotation = "toskose.io/applied"

// configPath is the folder of a permanent component's configuration file.
const configPath = "/etc/config"

// objectsOf returns the objects of a component: its workload, and the ConfigMap of a permanent one.
func objectsOf(component *object) []*object {
	var all []*object
	switch {
	case mapOf(component.Object, "spec", "workload") != nil:
		all = append(all, givenWorkload(component))
	case boolOf(component, "spec", "permanent"):
		all = append(all, configMap(component), plainWorkload(component))
	default:
		all = append(all, plainWorkload(component))
	}
	for _, o := range all {
		own(o, component)
		labels := o.GetLabels()
		if labels == nil {
			labels = map[string]string{}
		}
		labels[levels.ComponentLabel] = component.GetName()
		o.SetLabels(labels)
		annotations := o.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[digestAnnotation] = digest(o)
		o.SetAnnotations(annotations)
	}
	return all
}

func digest(o *object) string {
	data, _ := json.Marshal(o.Object) // it was read from JSON
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}

// givenWorkload returns the workload in a component's spec.
func givenWorkload(component *object) *object {
	w := mapOf(component.Object, "spec", "workload")
	gvk := deploymentKind
	for _, k := range componentObjects {
		if k.Kind == wordOf(w, "kind") {
			gvk = k
		}
	}
	o := newObject(gvk, keyOf(component))
	metadata := mapOf(w, "metadata")
	if name := wordOf(metadata, "name"); name != "" {
		o.SetName(name)
	}
	o.SetLabels(words(mapOf(metadata, "labels")))
	o.SetAnnotations(words(mapOf(metadata, "annotations")))
	o.Object["spec"] = w["spec"]
	return o.DeepCopy()
}

func words(m map[string]any) map[string]string {
	all := map[string]string{}
	for key := range m {
		all[key] = wordOf(m, key)
	}
	return all
}

// plainWorkload returns a Deployment of a component's image. The configuration of a permanent component is in a file, so
// that its pods do not change with it.
func plainWorkload(component *object) *object {
	name := component.GetName()
	container := map[string]any{"name": "component", "image": textOf(component, "spec", "image")}
	pod := map[string]any{"automountServiceAccountToken": false, "enableServiceLinks": false, "containers": []any{container}}
	if boolOf(component, "spec", "permanent") {
		container["volumeMounts"] = []any{map[string]any{"name": "config", "mountPath": configPath, "readOnly": true}}
		pod["volumes"] = []any{map[string]any{"name": "config", "configMap": map[string]any{"name": configMapName(component)}}}
	} else {
		flow, _ := json.Marshal(mapOf(component.Object, "spec", "flowConfig")) // it was read from JSON
		container["env"] = []any{
			map[string]any{"name": "TOSKOSE_FLOW", "value": literal(string(flow))},
			map[string]any{"name": "TOSKOSE_CUSTOMIZATION", "value": literal(strings.Join(customization(mapOf(component.Object, "spec")), "\n"))},
		}
	}
	labels := map[string]any{"app.kubernetes.io/name": name, levels.ComponentLabel: name}
	o := newObject(deploymentKind, keyOf(component))
	o.SetLabels(map[string]string{"app.kubernetes.io/name": name})
	o.Object["spec"] = map[string]any{
		"replicas": wantedReplicas(component),
		"selector": map[string]any{"matchLabels": labels},
		"template": map[string]any{"metadata": map[string]any{"labels": maps.Clone(labels)}, "spec": pod},
	}
	return o
}

// literal escapes "$", which Kubernetes would expand.
func literal(s string) string { return strings.ReplaceAll(s, "$", "$$") }

// wantedReplicas returns the number of replicas of a plain component.
func wantedReplicas(component *object) int64 {
	if _, given := mapOf(component.Object, "spec")["replicas"]; given {
		return numberOf(component, "spec", "replicas")
	}
	return 1
}

func customization(of map[string]any) []string {
	values, _ := of["customization"].([]any)
	var lines []string
	for _, value := range values {
		if line, ok := value.(string); ok {
			lines = append(lines, line)
		}
	}
	return lines
}

func configMapName(component *object) string {
	if name := textOf(component, "spec", "permanentCM"); name != "" {
		return name
	}
	return levels.ConfigMapName(component.GetName())
}

// configMap returns the ConfigMap of a permanent component: its file has the entries of all applications that use it.
func configMap(component *object) *object {
	o := newObject(configMapKind, types.NamespacedName{Namespace: component.GetNamespace(), Name: configMapName(component)})
	o.Object["data"] = map[string]any{component.GetName() + ".properties": properties(component)}
	return o
}

// properties returns the configuration file of a permanent component. Its applications are in the order of their names.
func properties(component *object) string {
	users := map[string]map[string]any{}
	for _, u := range listOf(component.Object, "spec", "users") {
		users[wordOf(u, "name")] = u
	}
	names := sortedKeys(users)
	var file strings.Builder
	fmt.Fprintf(&file, "[InformationSection]\ncomponent = %s\napplications = %s\n", component.GetName(), strings.Join(names, ", "))
	file.WriteString("[OutTopicSection]\n")
	for _, name := range names {
		topics := map[string]string{}
		for _, next := range listOf(users[name], "flowConfig", "next") {
			topics[wordOf(next, "name")] = wordOf(next, "IFMHtopic")
		}
		for _, next := range sortedKeys(topics) {
			fmt.Fprintf(&file, "%s.%s = %s\n", name, next, topics[next])
		}
	}
	file.WriteString("[CustomSection]\n")
	for _, name := range names {
		lines := customization(users[name])
		if len(lines) > 0 {
			fmt.Fprintf(&file, "# %s\n%s\n", name, strings.Join(lines, "\n"))
		}
	}
	return file.String()
}
