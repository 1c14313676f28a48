package config

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/toskose/toskose/internal/located"
)

// composeKeys are the keys of a service in Compose 3.7 that a node may set, and the reasons why it may not set the others.
var composeKeys = map[string]string{
	"cap_add": "", "cap_drop": "", "cgroup_parent": "", "devices": "", "dns": "", "dns_search": "", "domainname": "", "env_file": "",
	"environment": "", "expose": "", "extra_hosts": "", "hostname": "", "init": "", "ipc": "", "isolation": "", "labels": "", "logging": "",
	"mac_address": "", "pid": "", "privileged": "", "read_only": "", "security_opt": "", "shm_size": "", "stdin_open": "", "stop_signal": "",
	"sysctls": "", "tmpfs": "", "tty": "", "ulimits": "", "user": "", "userns_mode": "", "working_dir": "",

	"build":             "Toskose builds images itself: see docker",
	"command":           "it is the property command of the container",
	"configs":           "the manifests have no configs",
	"container_name":    "Compose names the containers, because a service can have several",
	"credential_spec":   "Toskose does not support Windows containers",
	"depends_on":        "Toskose sets it from the requirements of the application",
	"deploy":            "it is set by deploy of the container",
	"entrypoint":        "it is the unit, or the image's own",
	"external_links":    "all containers share the network that Toskose sets",
	"healthcheck":       "Toskose sets it, or the image",
	"image":             "Toskose sets it: see docker",
	"links":             "all containers share the network that Toskose sets",
	"network_mode":      "all containers share the network that Toskose sets",
	"networks":          "all containers share the network that Toskose sets",
	"ports":             "they are set by ports of the container",
	"restart":           "it is set by deploy.restart_policy of the container",
	"secrets":           "Toskose sets them: see secrets at the top level",
	"stop_grace_period": "Toskose sets it from stop_grace of the components",
	"volumes":           "Toskose sets them from the application's volumes and share_data",
}

// unitKeys are the keys that only containers without components may set, and why.
var unitKeys = map[string]string{
	"pid":         "the unit is the first process of the container",
	"read_only":   "the unit writes its journal and logs in the container",
	"stop_signal": "the unit stops the components when it receives TERM",
	"user":        "the image's user runs the unit; set user of a component for its operations",
}

// The labels that Toskose, Compose and a Swarm set themselves.
var ownLabels = []string{"io.toskose.", "kompose.", "com.docker.compose.", "com.docker.stack.", "com.docker.swarm."}

// checkCompose reports keys that are unknown or set by Toskose.
func (d *decoder) checkCompose(at string, n Node, t *TargetNode, secrets []string) {
	if n.Compose.IsZero() {
		return
	}
	for i := 0; i+1 < len(n.Compose.Node.Content); i += 2 {
		key, value := n.Compose.Node.Content[i].Value, n.Compose.Node.Content[i+1]
		why, known := composeKeys[key]
		if t != nil && t.Toskosed && why == "" {
			why = unitKeys[key]
		}
		switch {
		case !known:
			d.ReportAt(at+"."+key, "unknown key of a service in Compose 3.7%s", located.DidYouMean(key, located.Keys(composeKeys)))
		case why != "":
			d.ReportAt(at+"."+key, "cannot be set: %s", why)
		case key == "environment":
			d.checkComposeVariables(at+"."+key, value, t, secrets)
		case key == "labels":
			d.checkComposeLabels(at+"."+key, value, n.Deploy.Labels)
		case key == "env_file":
			d.each(at+"."+key, value, func(at, file string) {
				if !path.IsAbs(file) {
					d.ReportAt(at, "%q is not an absolute path: Compose would look for it in the packaged folder", file)
				}
			})
		case key == "tmpfs":
			d.each(at+"."+key, value, func(at, mount string) {
				if place, _, _ := strings.Cut(mount, ":"); HidesToskose(place) {
					d.ReportAt(at, "%q would hide files of Toskose", place)
				}
			})
		}
	}
}

// HidesToskose reports whether a mount at a path would hide files of the unit or secrets.
func HidesToskose(at string) bool {
	at = path.Clean(at)
	return slices.Contains([]string{"/", "/run/secrets", "/toskose"}, at) || strings.HasPrefix(at, "/toskose/")
}

// each calls f for a text, or for each item of a list of texts.
func (d *decoder) each(at string, value *yaml.Node, f func(at, text string)) {
	if value.Kind == yaml.ScalarNode {
		f(at, value.Value)
		return
	}
	if !d.Wants(value, yaml.SequenceNode, at, "text or a list") {
		return
	}
	for i, item := range value.Content {
		if at := located.Join(at, strconv.Itoa(i)); d.Wants(item, yaml.ScalarNode, at, "text") {
			f(at, item.Value)
		}
	}
}

// Pairs returns the names and values of a mapping, or of a list of NAME=VALUE, as Compose has them for variables and labels. A list's
// item without "=" has no value, as a null in a mapping.
func Pairs(n *yaml.Node) map[string]*string {
	all := map[string]*string{}
	if n == nil {
		return all
	}
	if n.Kind == yaml.SequenceNode {
		for _, item := range n.Content {
			name, value, has := strings.Cut(item.Value, "=")
			if all[name] = nil; has {
				all[name] = &value
			}
		}
		return all
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if all[n.Content[i].Value] = nil; !located.IsNull(n.Content[i+1]) {
			all[n.Content[i].Value] = &n.Content[i+1].Value
		}
	}
	return all
}

// pairsOf calls f for each name of a mapping or of a list of NAME=VALUE, with the path of its position.
func (d *decoder) pairsOf(at string, value *yaml.Node, f func(at, name string)) {
	if value.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(value.Content); i += 2 {
			if at := located.Join(at, value.Content[i].Value); d.Wants(value.Content[i+1], yaml.ScalarNode, at, "text") {
				f(at, value.Content[i].Value)
			}
		}
		return
	}
	if !d.Wants(value, yaml.SequenceNode, at, "a mapping or a list of NAME=VALUE") {
		return
	}
	d.each(at, value, func(at, text string) {
		name, _, _ := strings.Cut(text, "=")
		f(at, name)
	})
}

func (d *decoder) checkComposeVariables(at string, value *yaml.Node, t *TargetNode, secrets []string) {
	given := Pairs(value)
	d.pairsOf(at, value, func(at, name string) {
		of, isFile := strings.CutSuffix(name, "_FILE")
		switch {
		case name == "":
			d.ReportAt(at, "has no name")
		case given[name] == nil:
			d.ReportAt(at, "%s has no value: Toskose does not take variables from the environment of Compose", name)
		case strings.HasPrefix(name, "SUPERVISORD_") || strings.HasPrefix(name, "TOSKOSE_"):
			d.ReportAt(at, "%s: the name is reserved for the unit", name)
		case t != nil && slices.Contains(t.Env, name), t != nil && isFile && slices.Contains(secrets, t.Name+"."+of):
			d.ReportAt(at, "%s is set by the application", name)
		}
	})
}

func (d *decoder) checkComposeLabels(at string, value *yaml.Node, deploy map[string]string) {
	d.pairsOf(at, value, func(at, name string) {
		_, twice := deploy[name]
		switch {
		case slices.ContainsFunc(ownLabels, func(own string) bool { return strings.HasPrefix(name, own) }):
			d.ReportAt(at, "%s is a label that Toskose or Docker sets", name)
		case twice:
			d.ReportAt(at, "%s is also in deploy.labels", name)
		}
	})
}
