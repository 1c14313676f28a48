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

// Target is how a folder is deployed: it says what replaces a container.
type Target string

// The targets.
const (
	Swarm      Target = "swarm"
	Compose    Target = "compose"
	Kubernetes Target = "kubernetes"
)

// Contents is what a folder deploys, as far as releases differ in it.
type Contents struct {
	Release    string
	Target     Target                        // that it is read for
	Containers map[string]Container          // by the names of nodes
	Components map[string]packager.Component //
	Volumes    map[string]Container          // the application's, and those of units
	Host       []packager.HostPath           // paths of the machine that the application uses

	// Ending are containers that end by themselves, with those that they are started after.
	// Compose 1 replaces one that has ended together with any of these.
	Ending map[string][]string
}

// Container is what of a container differs, by what people call it: "image", "env NAME".
type Container map[string]Attribute

// Attribute is one of them.
type Attribute struct {
	Value  string
	Effect Effect // where the value differs
	Coming Effect // where it comes or goes, if that is more
	Hidden bool   // the value is a secret's digest, and never shown
}

// Replaces reports whether a container is replaced where the value differs.
func (a Attribute) Replaces() bool { return a.Effect == replaces }

// Effect is what becomes of a container of which an attribute differs.
type Effect int

const (
	stays    Effect = iota
	moves           // it is replaced where its machine does not suit any more
	replaces        //
)

// Read reads what a folder deploys. An empty target is the one that the folder is for, as
// deploy has it on an engine that is in no swarm.
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

// TargetOf is the target that a folder is for.
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

// readYAML reads a file, which may be left out if it is said to be optional.
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

// secretDigest tells the values of a secret apart; empty: it is external.
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

// add adds one of which there may be several by the same name.
func (c Container) add(key, value string, effect Effect) {
	if a, ok := c[key]; ok {
		value = a.Value + " and " + value
	}
	c.set(key, value, effect)
}

// flatten adds all that is in a value, by the keys that lead to it.
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

// plain is a value as people read it.
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

// entry returns what a map has, and leaves the rest in it.
func entry[T any](m map[string]any, key string) T {
	v, _ := m[key].(T)
	delete(m, key)
	return v
}

// list returns a list of maps that a map has.
func list(m map[string]any, key string) (all []map[string]any) {
	for _, v := range entry[[]any](m, key) {
		if one, ok := v.(map[string]any); ok {
			all = append(all, one)
		}
	}
	return all
}
