package release

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/compose"
)

// composeFile contains the parts of a Compose file that are compared.
type composeFile struct {
	Services map[string]map[string]any        `yaml:"services"`
	Volumes  map[string]map[string]any        `yaml:"volumes"`
	Secrets  map[string]struct{ Name string } `yaml:"secrets"`
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
	nodes := map[string]string{}
	for name, service := range file.Services {
		if whole := local.Services[name]; whole["image"] != nil {
			file.Services[name] = whole
		} else { // an earlier version wrote only the differences
			merge(service, whole)
		}
		nodes[name] = labelOf(file.Services[name], packager.LabelNode, name)
	}
	for name, service := range file.Services {
		if target == Compose && endsItself(service) {
			c.Ending[nodes[name]] = dependencies(service, nodes)
		}
		c.Containers[nodes[name]] = file.container(service, dir, target)
	}
	for name, volume := range file.Volumes {
		attributes := Container{}
		attributes.flatten("", volume, stays)
		c.Volumes[name] = attributes
	}
	return nil
}

// labelOf returns a label of a service's containers, or otherwise if it is not set.
func labelOf(service map[string]any, label, otherwise string) string {
	labels, _ := service["labels"].(map[string]any)
	if value, ok := labels[label].(string); ok {
		return value
	}
	return otherwise
}

// endsItself reports whether a container is expected to exit: it is a job, or is not restarted.
func endsItself(service map[string]any) bool {
	return labelOf(service, packager.LabelJob, "") != "" || service["restart"] == "no"
}

// dependencies returns the nodes that a service is started after.
func dependencies(service map[string]any, nodes map[string]string) (all []string) {
	names, _ := service["depends_on"].([]any)
	for _, name := range names {
		all = append(all, nodes[plain(name)])
	}
	slices.Sort(all)
	return all
}

// merge merges the service of a second Compose file into the first.
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

// effects lists the keys of a service's `deploy` whose changes do not replace its containers, by target. In a Swarm they
// concern only the service. Compose 1 ignores them, but Compose 2 replaces a container if any of them except the replicas
// changes. The version that will deploy is not known.
var effects = map[Target]map[string]Effect{
	Swarm:   {"replicas": stays, "labels": stays, "update_config": stays, "rollback_config": stays, "placement": moves},
	Compose: {"replicas": stays},
}

// container returns the attributes of a service. Compose replaces its container if any of them differs; for Compose 1, they
// include the dependencies.
func (f composeFile) container(service map[string]any, dir string, target Target) Container {
	c := Container{}
	c.set("image", plain(entry[any](service, "image")), replaces)
	for name, value := range entry[map[string]any](service, "environment") {
		c.set("env "+name, plain(value), replaces)
	}
	for _, p := range entry[[]any](service, "ports") {
		key, value := portOf(p)
		c.add(key, value, replaces)
	}
	for _, v := range entry[[]any](service, "volumes") {
		source, at, mode := mountOf(v)
		c.set("mount "+at, strings.TrimSuffix(source+", "+mode, ", "), replaces)
		if volume := f.Volumes[source]; target == Swarm { // its tasks create the volume
			c.flatten("volume "+source, volume, replaces)
		}
	}
	for _, s := range list(service, "secrets") {
		source, _ := s["source"].(string)
		name, ok := s["target"].(string)
		if !ok {
			name = source
		}
		c.set("secret "+name, f.Secrets[source].Name, replaces)
		if user := secretUser(s, name, source); user != "" {
			c.set("secret "+name+" user", user, replaces)
		}
		if target == Compose { // Compose mounts the file
			c["secret "+name] = Attribute{Value: secretDigest(dir, name), Coming: replaces, Hidden: true}
		}
	}
	deploy := entry[map[string]any](service, "deploy")
	for key, effect := range effects[target] {
		c.flatten("deploy."+key, entry[any](deploy, key), effect)
	}
	c.flatten("deploy", deploy, replaces)
	if target == Swarm { // a Swarm starts all services at once
		delete(service, "depends_on")
	}
	c.flatten("", service, replaces)
	return c
}

// mountOf returns the source, the target and the mode of a mount in the long or short syntax. The short syntax is
// SOURCE:TARGET:MODE.
func mountOf(mount any) (source, target, mode string) {
	long, ok := mount.(map[string]any)
	if !ok {
		parts := append(strings.SplitN(plain(mount), ":", 3), "", "")
		return parts[0], parts[1], parts[2]
	}
	if long["read_only"] == true {
		mode = "ro"
	}
	return plain(long["source"]), plain(long["target"]), mode
}

// secretUser returns the ID of the only user that reads a secret, or "" if all users read it. On a single engine, the user ID
// is the suffix of the secret's name.
func secretUser(ref map[string]any, name, source string) string {
	if uid, ok := ref["uid"].(string); ok {
		return uid
	}
	user, _ := strings.CutPrefix(source, name)
	return strings.TrimPrefix(user, ".")
}

// portOf returns a published port in the long or short syntax. The short syntax is ADDRESS:PUBLISHED:TARGET/PROTOCOL.
func portOf(port any) (key, value string) {
	long, ok := port.(map[string]any)
	if !ok {
		short := plain(port)
		last := strings.LastIndex(short, ":")
		return "port " + short[last+1:], short[:max(last, 0)]
	}
	value = plain(long["published"])
	if long["mode"] == compose.PublishHost {
		value += ", of its machine only"
	}
	return fmt.Sprintf("port %v/%v", long["target"], long["protocol"]), value
}
