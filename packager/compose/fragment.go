package compose

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/toskose/toskose/packager/config"
)

// addFragment adds the keys of `compose` in toskose.yml that a Swarm uses. Package config has checked them.
func (s *service) addFragment(more config.Fragment) {
	s.more, _ = usedBySwarm(more)
	for name, v := range config.Pairs(more.Get("environment")) {
		if v != nil {
			s.Environment[name] = text(*v)
		}
	}
	for name, v := range config.Pairs(more.Get("labels")) {
		s.Labels[name] = ""
		if v != nil {
			s.Labels[name] = text(*v)
		}
	}
}

// MarshalYAML adds the further keys.
func (s service) MarshalYAML() (any, error) {
	type plain service
	if s.more.IsZero() {
		return plain(s), nil
	}
	var n yaml.Node
	if err := n.Encode(plain(s)); err != nil {
		return nil, err
	}
	for i := 0; i+1 < len(s.more.Node.Content); i += 2 {
		if key := s.more.Node.Content[i]; key.Value != "environment" && key.Value != "labels" {
			n.Content = append(n.Content, config.Key(key.Value), config.Quoted(s.more.Node.Content[i+1], withoutVariables))
		}
	}
	return &n, nil
}

// withoutVariables escapes a text, so that Compose finds no variable in it.
func withoutVariables(value string) string { return strings.ReplaceAll(value, "$", "$$") }

// notOnSwarm are the keys that `docker stack deploy` ignores. The file for a Swarm leaves them out.
var notOnSwarm = []string{"cgroup_parent", "devices", "domainname", "ipc", "mac_address", "pid", "privileged", "security_opt", "shm_size", "tmpfs", "userns_mode"}

// usedBySwarm returns the keys of a fragment that a Swarm uses, and the names of the others.
func usedBySwarm(more config.Fragment) (used config.Fragment, ignored []string) {
	if more.IsZero() {
		return more, nil
	}
	used = config.Fragment{File: more.File, Node: &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}}
	for i := 0; i+1 < len(more.Node.Content); i += 2 {
		if key := more.Node.Content[i].Value; slices.Contains(notOnSwarm, key) {
			ignored = append(ignored, key)
		} else {
			used.Node.Content = append(used.Node.Content, more.Node.Content[i:i+2]...)
		}
	}
	return used, ignored
}
