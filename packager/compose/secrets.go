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

// maxSecretNameLength is the maximum length of a Swarm secret's name.
const maxSecretNameLength = 64

// secretName returns the name of a Swarm secret. A digest keeps shortened names distinct.
func secretName(name, suffix string) string {
	if most := maxSecretNameLength - len("_") - len(suffix); len(name) > most {
		name = packager.Shorten(name, name, most)
	}
	return name + "_" + suffix
}

// SecretName returns the Swarm name of an application's secret whose value has the given suffix.
func SecretName(app, name, suffix string) string { return secretName(app+"_"+name, suffix) }

// externalName returns the name of an external Swarm secret. It ends in a letter or digit.
func externalName(name string) string {
	if len(name) <= maxSecretNameLength && !strings.ContainsAny(name[len(name)-1:], "._-") {
		return name
	}
	return packager.Shorten(name, name, maxSecretNameLength)
}

// SecretNames maps the secrets of a plan to the names of the external Swarm secrets.
func SecretNames(plan *packager.Plan) map[string]string {
	out := map[string]string{}
	for _, s := range plan.Secrets {
		out[s.Name] = externalName(plan.App + "_" + s.Name)
	}
	return out
}
