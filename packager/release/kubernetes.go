package release

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/toskose/toskose/operator/levels"
	"github.com/toskose/toskose/packager/kubernetes"
)

// kustomization contains the parts of a kustomization that are compared.
type kustomization struct {
	Namespace string
	Resources []string
	Secrets   []struct {
		Name    string
		Files   []string
		Options struct {
			Keeps bool `yaml:"disableNameSuffixHash"` // the name does not depend on the content
		}
	} `yaml:"secretGenerator"`
}

// readKubernetes reads the manifests that a kustomization lists.
func (c *Contents) readKubernetes(dir string) error {
	var k kustomization
	if err := readYAML(filepath.Join(dir, kubernetes.Kustomization), &k, false); err != nil {
		return err
	}
	var all []map[string]any
	for _, name := range k.Resources {
		documents, err := readDocuments(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		all = append(all, documents...)
	}
	all = withWorkloads(all)
	r := manifests{c, k.Namespace, k.secrets(dir), map[string]string{}}
	for _, o := range all {
		r.name(o)
	}
	for _, o := range all {
		r.add(o)
	}
	return nil
}

// withWorkloads replaces the Application of an application below a level by the workloads that the operator makes of it.
func withWorkloads(all []map[string]any) []map[string]any {
	var out []map[string]any
	for _, o := range all {
		if o["kind"] != levels.Application.Kind {
			out = append(out, o)
			continue
		}
		spec, _ := o["spec"].(map[string]any)
		for _, c := range list(spec, "components") {
			if w, ok := c["workload"].(map[string]any); ok {
				out = append(out, w)
			}
		}
	}
	return out
}

// secrets returns the pod attributes of the kustomization's secrets. A changed value replaces the pods if the secret's name
// contains a digest; otherwise pods reload the secret.
func (k kustomization) secrets(dir string) map[string]Attribute {
	all := map[string]Attribute{}
	for _, s := range k.Secrets {
		a := Attribute{Hidden: true, Effect: replaces, Coming: replaces}
		if s.Options.Keeps {
			a.Effect = stays
		}
		for _, file := range s.Files {
			a.Value += secretDigest(dir, path.Base(file))
		}
		all[s.Name] = a
	}
	return all
}

func readDocuments(file string) (all []map[string]any, err error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("cannot read the release: %w", err)
	}
	for decoder := yaml.NewDecoder(bytes.NewReader(data)); ; {
		var one map[string]any
		switch err := decoder.Decode(&one); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, fmt.Errorf("cannot read the release: %q: %w", file, err)
		}
		all = append(all, one)
	}
}

// manifests is the state of reading a folder's manifests.
type manifests struct {
	*Contents
	namespace string
	secrets   map[string]Attribute
	nodes     map[string]string // application's names of nodes, by their Kubernetes names
}

// metadataOf returns the name, workload and annotations of an object.
func metadataOf(o map[string]any) (name, workload string, annotations map[string]any) {
	metadata, _ := o["metadata"].(map[string]any)
	name, _ = metadata["name"].(string)
	labels, _ := metadata["labels"].(map[string]any)
	workload, _ = labels[kubernetes.Workload].(string)
	annotations, _ = metadata["annotations"].(map[string]any)
	return name, workload, annotations
}

// name records the application's name of a workload's node.
func (r manifests) name(o map[string]any) {
	_, workload, annotations := metadataOf(o)
	if node, ok := annotations[kubernetes.NameAnnotation].(string); ok && workload != "" {
		r.nodes[workload] = node
	}
}

// add adds an object to the attributes of the container that it belongs to.
func (r manifests) add(o map[string]any) {
	kind := entry[string](o, "kind")
	name, workload, annotations := metadataOf(o)
	delete(o, "apiVersion")
	delete(o, "metadata")
	delete(annotations, kubernetes.NameAnnotation)
	if kind == "PersistentVolumeClaim" {
		attributes := Container{}
		attributes.flatten("", o, stays)
		r.Volumes[name] = attributes
		return
	}
	if workload == "" {
		return // the namespace
	}
	node := cmp.Or(r.nodes[workload], workload)
	of := r.Containers[node]
	if of == nil {
		of = Container{}
		of.set("namespace", r.namespace, replaces)
		r.Containers[node] = of
	}
	spec := entry[map[string]any](o, "spec")
	switch kind {
	case "Deployment", "StatefulSet", "Job":
		of.addWorkload(kind, name, spec, r.secrets)
		of.flatten("annotations", annotations, stays)
	case "Service":
		of.addService(name, spec)
	default:
		of.flatten(kind+" "+name, spec, stays)
	}
}

// addWorkload adds the attributes of a workload. A Job with a different name is a different Job.
func (c Container) addWorkload(kind, name string, spec map[string]any, secrets map[string]Attribute) {
	c.set("kind", kind, replaces)
	if kind == "Job" {
		c.set("job", name, replaces)
	}
	c.addPod(entry[map[string]any](spec, "template"), secrets)
	c.flatten("workload", spec, stays)
}

// addService adds the ports of a Service that publishes them, and its other attributes.
func (c Container) addService(name string, spec map[string]any) {
	ports := list(spec, "ports")
	if spec["type"] == nil {
		c.set("Service "+name+".ports", numbers(ports, "port"), stays)
		ports = nil
	}
	for _, p := range ports {
		c.add(fmt.Sprintf("port %v/%s", p["targetPort"], protocolOf(p)), plain(p["port"]), stays)
	}
	c.flatten("Service "+name, spec, stays)
}

// numbers returns a list of port numbers with their protocols.
func numbers(ports []map[string]any, key string) string {
	all := make([]string, 0, len(ports))
	for _, p := range ports {
		all = append(all, plain(p[key])+"/"+protocolOf(p))
	}
	return strings.Join(all, ", ")
}

func protocolOf(port map[string]any) string { return strings.ToLower(plain(port["protocol"])) }

// addPod adds the attributes whose changes replace a pod.
func (c Container) addPod(template map[string]any, secrets map[string]Attribute) {
	spec := entry[map[string]any](template, "spec")
	for i, container := range list(spec, "containers") {
		if i > 0 { // of a patch
			c.flatten("container "+plain(entry[any](container, "name")), container, replaces)
			continue
		}
		c.set("image", plain(entry[any](container, "image")), replaces)
		for _, v := range list(container, "env") {
			value, ok := v["value"]
			if !ok {
				value = v["valueFrom"]
			}
			c.set(fmt.Sprintf("env %v", v["name"]), plain(value), replaces)
		}
		for _, m := range list(container, "volumeMounts") {
			source := plain(m["name"])
			if m["readOnly"] == true {
				source += ", ro"
			}
			at := "mount " + plain(m["mountPath"])
			c.set(at, source, replaces)
			for _, key := range []string{"name", "mountPath", "readOnly"} {
				delete(m, key)
			}
			c.flatten(at, m, replaces)
		}
		if ports := list(container, "ports"); len(ports) > 0 {
			c.set("container.ports", numbers(ports, "containerPort"), replaces)
		}
		c.flatten("container", container, replaces)
	}
	for _, v := range list(spec, "volumes") {
		name := entry[string](v, "name")
		projected, _ := v["projected"].(map[string]any)
		if projected == nil {
			c.flatten("volume "+name, v, replaces)
			continue
		}
		for _, source := range list(projected, "sources") {
			secret, _ := source["secret"].(map[string]any)
			of := plain(secret["name"])
			a, ok := secrets[of]
			if !ok { // an external secret
				a = Attribute{Hidden: true, Coming: replaces}
			}
			c["secret "+of] = a
		}
	}
	c.flatten("pod", spec, replaces)
	c.flatten("pod", template, replaces)
}

// nodeOf returns the key of a node in Containers. Kubernetes names contain only lowercase letters, digits and dashes.
func (c Contents) nodeOf(node string) string {
	if _, ok := c.Containers[node]; ok {
		return node
	}
	return strings.Trim(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(node)), "-")
}
