package release

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/toskose/toskose/packager/kubernetes"
)

// readKubernetes reads the manifests that a kustomization names.
func (c *Contents) readKubernetes(dir string) error {
	var k struct {
		Resources []string
		Secrets   []struct {
			Name  string
			Files []string
		} `yaml:"secretGenerator"`
	}
	if err := readYAML(filepath.Join(dir, kubernetes.Kustomization), &k, false); err != nil {
		return err
	}
	secrets := map[string]string{}
	for _, s := range k.Secrets {
		for _, file := range s.Files {
			secrets[s.Name] += secretDigest(dir, path.Base(file))
		}
	}
	for _, name := range k.Resources {
		documents, err := readDocuments(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		for _, d := range documents {
			c.addObject(d, secrets)
		}
	}
	return nil
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

// addObject adds an object to the container whose it is.
func (c *Contents) addObject(o map[string]any, secrets map[string]string) {
	kind := entry[string](o, "kind")
	delete(o, "apiVersion")
	metadata := entry[map[string]any](o, "metadata")
	name, _ := metadata["name"].(string)
	labels, _ := metadata["labels"].(map[string]any)
	node, _ := labels[kubernetes.Workload].(string)
	switch {
	case kind == "PersistentVolumeClaim":
		attributes := Container{}
		attributes.flatten("", o, false)
		c.Volumes[name] = attributes
		return
	case node == "":
		return // the namespace
	case c.Containers[node] == nil:
		c.Containers[node] = Container{}
	}
	of := c.Containers[node]
	spec := entry[map[string]any](o, "spec")
	if kind != "Deployment" && kind != "StatefulSet" && kind != "Job" {
		of.flatten(kind+" "+name, spec, false)
		return
	}
	of["kind"] = Attribute{Value: kind, Replaces: true}
	of.flatten("annotations", metadata["annotations"], false)
	of.addPod(entry[map[string]any](spec, "template"), secrets)
	of.flatten("workload", spec, false)
}

// addPod adds what replaces a pod.
func (c Container) addPod(template map[string]any, secrets map[string]string) {
	spec := entry[map[string]any](template, "spec")
	for _, container := range list(spec, "containers") {
		c["image"] = Attribute{Value: entry[string](container, "image"), Replaces: true}
		for _, v := range list(container, "env") {
			name := entry[string](v, "name")
			if value, ok := v["value"].(string); ok {
				c["env "+name] = Attribute{Value: plain(value), Replaces: true}
			} else {
				c["env "+name] = Attribute{Value: plain(v), Replaces: true}
			}
		}
		for _, m := range list(container, "volumeMounts") {
			c[fmt.Sprintf("mount %v", m["mountPath"])] = Attribute{Value: plain(m["name"]), Replaces: true}
		}
		c.flatten("container", container, true)
	}
	for _, v := range list(spec, "volumes") {
		name := entry[string](v, "name")
		projected, _ := v["projected"].(map[string]any)
		if projected == nil {
			c.flatten("volume "+name, v, true)
			continue
		}
		for _, source := range list(projected, "sources") {
			secret, _ := source["secret"].(map[string]any)
			of, _ := secret["name"].(string)
			c["secret "+of] = Attribute{Value: secrets[of], Replaces: true, Hidden: true}
		}
	}
	c.flatten("pod", spec, true)
	c.flatten("pod", template, true)
}

// nodeOf returns the name that a container has among those of a release: Kubernetes has
// small letters, digits and dashes only.
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
