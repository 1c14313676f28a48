package release

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/compose"
)

// composeFile is what of a Compose file is read.
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
		} else { // an earlier version wrote only what differs
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

// labelOf is a label of a service's containers.
func labelOf(service map[string]any, label, otherwise string) string {
	labels, _ := service["labels"].(map[string]any)
	if value, ok := labels[label].(string); ok {
		return value
	}
	return otherwise
}

// endsItself reports whether a container has done its work when it has ended.
func endsItself(service map[string]any) bool {
	return labelOf(service, packager.LabelJob, "") != "" || service["restart"] == "no"
}

// dependencies are the nodes that a service is started after.
func dependencies(service map[string]any, nodes map[string]string) (all []string) {
	names, _ := service["depends_on"].([]any)
	for _, name := range names {
		all = append(all, nodes[plain(name)])
	}
	slices.Sort(all)
	return all
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

// effects are what keys of a service's `deploy` do that do not replace its containers. To a
// Swarm these are the service's own affair. Compose 1 takes none of them, but Compose 2 has a
// digest of all but the replicas; and it is not known which of the two deploys.
var effects = map[Target]map[string]Effect{
	Swarm:   {"replicas": stays, "labels": stays, "update_config": stays, "rollback_config": stays, "placement": moves},
	Compose: {"replicas": stays},
}

// container reads a service. Compose replaces its container where anything differs: to
// Compose 1, also what it depends on.
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
	for _, v := range list(service, "volumes") {
		source := plain(v["source"])
		c.set(fmt.Sprintf("mount %v", v["target"]), source, replaces)
		if volume := f.Volumes[source]; target == Swarm { // its tasks make it
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
		if target == Compose { // which mounts the file
			c["secret "+name] = Attribute{Value: secretDigest(dir, name), Coming: replaces, Hidden: true}
		}
	}
	deploy := entry[map[string]any](service, "deploy")
	for key, effect := range effects[target] {
		c.flatten("deploy."+key, entry[any](deploy, key), effect)
	}
	c.flatten("deploy", deploy, replaces)
	if target == Swarm { // which starts all at once
		delete(service, "depends_on")
	}
	c.flatten("", service, replaces)
	return c
}

// secretUser returns the number of the only user that reads a secret; empty: all do. On a
// single engine it ends the name of the user's own copy.
func secretUser(ref map[string]any, name, source string) string {
	if uid, ok := ref["uid"].(string); ok {
		return uid
	}
	user, _ := strings.CutPrefix(source, name)
	return strings.TrimPrefix(user, ".")
}

// portOf is one that is published, in either form: ADDRESS:PUBLISHED:TARGET/PROTOCOL is that
// of an address.
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
