package release

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/compose"
	"github.com/toskose/toskose/packager/kubernetes"
	"github.com/toskose/toskose/packager/output"
)

// Target is a deployment target. It determines which changes replace a container.
type Target string

// The targets.
const (
	Swarm      Target = "swarm"
	Compose    Target = "compose"
	Kubernetes Target = "kubernetes"
)

// Contents is the part of a release that is compared.
type Contents struct {
	Release    string
	Target     Target                        // the target that it was read for
	Containers map[string]Container          // by node
	Components map[string]packager.Component //
	Volumes    map[string]Container          // volumes of the application and of units
	Host       []packager.HostPath           // paths of the machine that the application uses

	// Ending maps containers that are expected to exit to the nodes that they are started after. If one of those nodes is
	// replaced, Compose 1 also replaces the exited container.
	Ending map[string][]string
}

// Container maps the attributes of a container, such as "image" and "env NAME", to their values.
type Container map[string]Attribute

// Attribute is the value of an attribute.
type Attribute struct {
	Value  string
	Effect Effect // effect of a changed value
	Coming Effect // effect of adding or removing the attribute, if greater
	Hidden bool   // the value is a secret's digest and is never shown
}

// Replaces reports whether a changed value replaces the container.
func (a Attribute) Replaces() bool { return a.Effect == replaces }

// Effect is the effect of a change on a container.
type Effect int

const (
	stays    Effect = iota
	moves           // replaced if its machine no longer satisfies the placement
	replaces        //
)

// Read reads the release in a folder. An empty target is the folder's default on an engine that is not in a swarm.
func Read(dir string, target Target) (Contents, error) {
	if target == "" {
		target = TargetOf(dir)
	}
	c := Contents{Target: target, Containers: map[string]Container{}, Volumes: map[string]Container{}, Ending: map[string][]string{}}
	var err error
	if c.Release, err = ID(dir); err != nil {
		return c, err
	}
	var info output.Info
	switch target {
	case Kubernetes:
		var of kubernetes.Info
		of, err = kubernetes.ReadInfo(dir)
		info, err = of.Info, errors.Join(err, c.readKubernetes(dir))
	case Swarm, Compose:
		info, err = compose.ReadInfo(dir)
		err = errors.Join(err, c.readCompose(dir, target))
	}
	if err != nil {
		return c, err
	}
	c.Host = info.Host
	return c, readYAML(filepath.Join(dir, output.ComponentsFile), &c.Components, true)
}

// TargetOf returns the default target of a folder.
func TargetOf(dir string) Target {
	has := func(name string) bool {
		_, err := os.Stat(filepath.Join(dir, name))
		return err == nil
	}
	switch {
	case has(compose.LocalFile):
		return Compose
	case has(compose.SwarmFile) || !has(kubernetes.Kustomization):
		return Swarm
	}
	return Kubernetes
}

// readYAML reads a YAML file. An optional file may be missing.
func readYAML(path string, into any, optional bool) error {
	data, err := os.ReadFile(path)
	if optional && errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = yaml.Unmarshal(data, into)
	}
	if err != nil {
		return fmt.Errorf("cannot read the release: %q: %w", path, err)
	}
	return nil
}

// secretDigest returns a digest of a secret's value, or "" for an external secret.
func secretDigest(dir, file string) string {
	data, err := os.ReadFile(filepath.Join(dir, output.SecretsDir, file))
	if err != nil {
		return ""
	}
	return digest(data)
}

// set adds an attribute.
func (c Container) set(key, value string, effect Effect) {
	c[key] = Attribute{Value: value, Effect: effect}
}

// add adds an attribute, joining values that have the same key.
func (c Container) add(key, value string, effect Effect) {
	if a, ok := c[key]; ok {
		value = a.Value + " and " + value
	}
	c.set(key, value, effect)
}

// flatten adds all values in a nested map, with keys joined by dots.
func (c Container) flatten(key string, value any, effect Effect) {
	if value == nil {
		return
	}
	if m, ok := value.(map[string]any); ok {
		for name, v := range m {
			c.flatten(strings.TrimPrefix(key+"."+name, "."), v, effect)
		}
		return
	}
	c.set(key, plain(value), effect)
}

// plain returns the readable form of a value.
func plain(value any) string {
	if s, ok := value.(string); ok {
		return strings.ReplaceAll(s, "$$", "$")
	}
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(data)
}

// entry removes an entry from a map and returns its value.
func entry[T any](m map[string]any, key string) T {
	v, _ := m[key].(T)
	delete(m, key)
	return v
}

// list removes a list of maps from a map and returns it.
func list(m map[string]any, key string) (all []map[string]any) {
	for _, v := range entry[[]any](m, key) {
		if one, ok := v.(map[string]any); ok {
			all = append(all, one)
		}
	}
	return all
}
