package kubernetes

import (
	"fmt"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/config"
)

// mergeKeys are the keys by which Kubernetes merges lists of mappings in a strategic merge patch, by the lists' names
// ("patchMergeKey" of the API's types). Other lists are replaced as a whole.
var mergeKeys = map[string]string{
	"containers": "name", "initContainers": "name", "env": "name", "volumes": "name", "imagePullSecrets": "name",
	"volumeMounts": "mountPath", "volumeDevices": "devicePath", "ports": "containerPort", "hostAliases": "ip",
	"topologySpreadConstraints": "topologyKey",
}

// unpatched are the parts of a workload that no patch may add to, and why.
var unpatched = map[string]string{
	"spec.selector":      "Toskose selects the pods by its own labels",
	"metadata.namespace": "--namespace sets it",
	"status":             "the cluster sets it",
}

// patched returns a workload with the patch of toskose.yml. A patch adds to what Toskose sets; a contradiction is a problem.
func (w *writer) patched(s packager.Service, workload object) (any, error) {
	if s.Patch.IsZero() {
		return workload, nil
	}
	var made yaml.Node
	if err := made.Encode(workload); err != nil {
		return nil, fmt.Errorf("cannot encode the workload of %q: %w", s.Name, err)
	}
	p := patch{fragment: s.Patch, at: "nodes." + s.Name + ".kubernetes.patch", container: w.names[s.Name]}
	p.mapping(&made, s.Patch.Node, "")
	if len(p.problems) > 0 {
		return nil, p.problems
	}
	return &made, nil
}

// patch merges a fragment into a workload.
type patch struct {
	fragment  config.Fragment
	at        string // the setting, for messages
	container string // the name of Toskose's own container
	problems  config.Problems
}

func (p *patch) report(n *yaml.Node, path, format string, args ...any) {
	p.problems = append(p.problems, p.fragment.Problem(n, fmt.Sprintf("%s.%s: %s", p.at, path, fmt.Sprintf(format, args...))))
}

// mapping merges a mapping. path is its place in the workload.
func (p *patch) mapping(into, from *yaml.Node, path string) {
	for i := 0; i+1 < len(from.Content); i += 2 {
		key, value := from.Content[i], from.Content[i+1]
		at := strings.TrimPrefix(path+"."+key.Value, ".")
		switch why := unpatched[at]; {
		case why != "":
			p.report(key, at, "cannot be set: %s", why)
		case strings.HasPrefix(key.Value, "$"):
			p.report(key, at, "directives of patches are not supported: a patch only adds")
		case p.own(path) && key.Value == "command":
			p.report(key, at, "cannot be set: the image's entrypoint runs the container")
		default:
			have := valueOf(into, key.Value)
			if have == nil && mergeKeys[key.Value] != "" && value.Kind == yaml.SequenceNode {
				have = &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
				into.Content = append(into.Content, config.Key(key.Value), have)
			}
			if have == nil {
				into.Content = append(into.Content, config.Key(key.Value), config.Quoted(value, nil))
				continue
			}
			p.value(have, value, at, key.Value)
		}
	}
}

// own reports whether a path leads to Toskose's own container.
func (p *patch) own(path string) bool { return path == "spec.template.spec.containers."+p.container }

// value merges a value into another one of the same name.
func (p *patch) value(have, want *yaml.Node, at, name string) {
	switch {
	case have.Kind == yaml.MappingNode && want.Kind == yaml.MappingNode:
		p.mapping(have, want, at)
	case have.Kind == yaml.SequenceNode && want.Kind == yaml.SequenceNode && mergeKeys[name] != "":
		p.list(have, want, at, name)
	case !equal(have, want):
		p.report(want, at, "Toskose sets it to %s, which a patch cannot change%s", shown(have), hint(at))
	}
}

// hint returns where toskose.yml sets a value, to append to a message.
func hint(at string) string {
	if setting := map[string]string{"spec.replicas": "deploy.replicas"}[at]; setting != "" {
		return "; " + setting + " of the container does"
	}
	return ""
}

// list merges the items of a list by their key.
func (p *patch) list(have, want *yaml.Node, path, name string) {
	key := mergeKeys[name]
	for _, item := range want.Content {
		id := valueOf(item, key)
		if id == nil || id.Kind != yaml.ScalarNode {
			p.report(item, path, "an item needs %s", key)
			continue
		}
		at := path + "." + id.Value
		var existing *yaml.Node
		for _, one := range have.Content {
			if other := valueOf(one, key); other != nil && other.Value == id.Value {
				existing = one
			}
		}
		switch {
		case existing != nil && name == "volumes":
			if !equal(existing, item) {
				p.report(item, at, "Toskose sets this volume, which a patch cannot change")
			}
		case existing != nil:
			p.mapping(existing, item, at)
		case name == "containers" && valueOf(item, "image") == nil:
			p.report(item, at, "there is no such container: it is called %q; another one needs an image", p.container)
		case name == "env" && p.own(strings.TrimSuffix(path, ".env")) && isReserved(id.Value):
			p.report(id, at, "the name is reserved for the unit")
		case name == "volumeMounts" && p.own(strings.TrimSuffix(path, ".volumeMounts")) && config.HidesToskose(id.Value):
			p.report(id, at, "%q would hide files of Toskose", id.Value)
		default:
			have.Content = append(have.Content, config.Quoted(item, nil))
		}
	}
}

func isReserved(name string) bool {
	return strings.HasPrefix(name, "TOSKOSE_") || strings.HasPrefix(name, "SUPERVISORD_")
}

// valueOf returns the value of a key of a mapping, or nil.
func valueOf(n *yaml.Node, key string) *yaml.Node { return config.Fragment{Node: n}.Get(key) }

func equal(a, b *yaml.Node) bool {
	if a.Kind != b.Kind || a.Value != b.Value || len(a.Content) != len(b.Content) {
		return false
	}
	for i := range a.Content {
		if !equal(a.Content[i], b.Content[i]) {
			return false
		}
	}
	return true
}

// shown returns a value for messages.
func shown(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	default:
		return fmt.Sprintf("%q", n.Value)
	}
}
