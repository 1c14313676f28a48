package release

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/compose"
)

// composeFile is what of a Compose file is read.
type composeFile struct {
	Services map[string]map[string]any              `yaml:"services"`
	Volumes  map[string]map[string]any              `yaml:"volumes"`
	Secrets  map[string]struct{ Name, File string } `yaml:"secrets"`
}

func (c *Contents) readCompose(dir string, target Target) error {
	var file, local composeFile
	if err := readYAML(filepath.Join(dir, compose.SwarmFile), &file, false); err != nil {
		return err
	}
	if target == Compose {
		if err := readYAML(filepath.Join(dir, compose.LocalFile), &local, false); err != nil {
			return err
		}
	}
	for name, service := range file.Services {
		if whole := local.Services[name]; whole["image"] != nil {
			service = whole
		} else { // an earlier version wrote only what differs
			merge(service, whole)
		}
		if labels, _ := service["labels"].(map[string]any); labels != nil {
			if node, ok := labels[packager.LabelNode].(string); ok {
				name = node
			}
		}
		c.Containers[name] = file.container(service, dir, target)
	}
	for name, volume := range file.Volumes {
		attributes := Container{}
		attributes.flatten("", volume, false)
		c.Volumes[name] = attributes
	}
	return nil
}

// merge adds what a second Compose file says of a service.
func merge(into, more map[string]any) {
	for key, value := range more {
		a, both := into[key].(map[string]any)
		if b, ok := value.(map[string]any); ok && both {
			merge(a, b)
			continue
		}
		into[key] = value
	}
}

// harmless are the keys of a service's `deploy` that a Swarm changes without replacing
// tasks.
var harmless = []string{"replicas", "labels", "update_config", "rollback_config"}

func (f composeFile) container(service map[string]any, dir string, target Target) Container {
	c := Container{"image": {Value: entry[string](service, "image"), Replaces: true}}
	for name, value := range entry[map[string]any](service, "environment") {
		c["env "+name] = Attribute{Value: plain(value), Replaces: true}
	}
	for _, p := range entry[[]any](service, "ports") {
		if long, ok := p.(map[string]any); ok {
			c[fmt.Sprintf("port %v/%v", long["target"], long["protocol"])] = Attribute{Value: plain(long["published"]), Replaces: true}
		} else if short := plain(p); strings.Contains(short, ":") { // ADDRESS:PUBLISHED:TARGET/PROTOCOL
			last := strings.LastIndex(short, ":")
			c["port "+short[last+1:]] = Attribute{Value: short[:last], Replaces: true}
		}
	}
	for _, v := range list(service, "volumes") {
		c[fmt.Sprintf("mount %v", v["target"])] = Attribute{Value: plain(v["source"]), Replaces: true}
	}
	for _, s := range list(service, "secrets") {
		name, _ := s["source"].(string)
		c["secret "+name] = Attribute{Value: f.Secrets[name].Name, Replaces: true}
		if target == Compose { // which mounts the file
			c["secret "+name] = Attribute{Value: secretDigest(dir, name), Hidden: true}
		}
	}
	deploy := entry[map[string]any](service, "deploy")
	for _, key := range harmless {
		c.flatten("deploy."+key, entry[any](deploy, key), false)
	}
	c.flatten("deploy", deploy, target == Swarm)
	c.flatten("depends_on", entry[any](service, "depends_on"), false)
	c.flatten("", service, true)
	return c
}
