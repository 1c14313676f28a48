package compose

import (
	"strings"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/output"
)

// secretRef mounts a secret in a container.
type secretRef struct {
	Source string          `yaml:"source"`
	Target string          `yaml:"target"`
	UID    string          `yaml:"uid,omitempty"`
	GID    string          `yaml:"gid,omitempty"`
	Mode   output.FileMode `yaml:"mode,omitempty"`
}

// mostOfASecret is what a Swarm's name of a secret may have.
const mostOfASecret = 64

// secretName is a Swarm secret's name; the digest keeps two that were cut off
// apart.
func secretName(name, suffix string) string {
	if most := mostOfASecret - len("_") - len(suffix); len(name) > most {
		name = packager.Shorten(name, name, most)
	}
	return name + "_" + suffix
}

// SecretName is what a Swarm calls an application's secret whose value has a suffix.
func SecretName(app, name, suffix string) string { return secretName(app+"_"+name, suffix) }

// externalName is the name of a Swarm secret that somebody else makes. It ends
// in a letter or a digit.
func externalName(name string) string {
	if len(name) <= mostOfASecret && !strings.ContainsAny(name[len(name)-1:], "._-") {
		return name
	}
	return packager.Shorten(name, name, mostOfASecret)
}

// SecretNames returns what a Swarm calls the secrets of a plan that somebody else
// makes.
func SecretNames(plan *packager.Plan) map[string]string {
	out := map[string]string{}
	for _, s := range plan.Secrets {
		out[s.Name] = externalName(plan.App + "_" + s.Name)
	}
	return out
}
