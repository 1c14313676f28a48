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
	Containers map[string]Container            // by the names of nodes
	Components map[string]packager.Component   //
	Volumes    map[string]map[string]Attribute // the application's, and those of units
}

// Container is what of a container differs, by what people call it: "image", "env NAME".
type Container map[string]Attribute

// Attribute is one of them.
type Attribute struct {
	Value    string
	Replaces bool // the container is replaced where it differs
	Hidden   bool // the value is a secret's digest, and never shown
}

// Read reads what a folder deploys. An empty target is the one that the folder is for, as
// deploy has it on an engine that is in no swarm.
func Read(dir string, target Target) (Contents, error) {
	c := Contents{Containers: map[string]Container{}, Volumes: map[string]map[string]Attribute{}}
	var err error
	if c.Release, err = ID(dir); err != nil {
		return c, err
	}
	if target == "" {
		target = targetOf(dir)
	}
	switch target {
	case Kubernetes:
		err = c.readKubernetes(dir)
	case Swarm, Compose:
		err = c.readCompose(dir, target)
	}
	if err != nil {
		return c, err
	}
	return c, readYAML(filepath.Join(dir, output.ComponentsFile), &c.Components, true)
}

func targetOf(dir string) Target {
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

// flatten adds all that is in a value, by the keys that lead to it.
func (c Container) flatten(key string, value any, replaces bool) {
	if value == nil {
		return
	}
	if m, ok := value.(map[string]any); ok {
		for name, v := range m {
			c.flatten(strings.TrimPrefix(key+"."+name, "."), v, replaces)
		}
		return
	}
	c[key] = Attribute{Value: plain(value), Replaces: replaces}
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
