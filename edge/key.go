package edge

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"filippo.io/age"
	"filippo.io/age/plugin"
)

// ParseKey returns the recipient of a machine's public key: age's own kinds, or one of a plugin. The plugin runs when
// something is encrypted.
func ParseKey(text string) (age.Recipient, error) {
	if secret(text) {
		return nil, errors.New("this is a private key, which must not leave its machine: `toskose cluster key` prints the public one")
	}
	if r, err := age.ParseX25519Recipient(text); err == nil {
		return r, nil
	}
	if r, err := age.ParseHybridRecipient(text); err == nil {
		return r, nil
	}
	if PluginOf(text) == "" {
		return nil, fmt.Errorf("%q is not an age key: `toskose cluster key` prints the key of a machine (age1…)", text)
	}
	r, err := plugin.NewRecipient(text, &plugin.ClientUI{})
	if err != nil {
		return nil, fmt.Errorf("%q is not an age key: %w", text, err)
	}
	return r, nil
}

func secret(text string) bool {
	return strings.HasPrefix(strings.ToUpper(text), "AGE-SECRET-KEY-") || strings.HasPrefix(strings.ToUpper(text), "AGE-PLUGIN-")
}

// PluginOf returns the name of the plugin that a public key needs, or "".
func PluginOf(key string) string {
	name, _, err := plugin.ParseRecipient(key)
	if err != nil || name == "pq" { // the prefix of age's own hybrid keys
		return ""
	}
	return name
}

// CheckPlugins returns an error if a plugin that one of the keys needs is not installed.
func CheckPlugins(nodes []Node) error {
	var problems []error
	for _, n := range nodes {
		if name := PluginOf(n.Key); name != "" {
			if _, err := exec.LookPath("age-plugin-" + name); err != nil {
				problems = append(problems, fmt.Errorf("the key of %q needs age-plugin-%s: %w", n.Name, name, err))
			}
		}
	}
	return errors.Join(problems...)
}
