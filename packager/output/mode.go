package output

import (
	"fmt"

	"gopkg.in/yaml.v3"
)

// SecretMode is the mode of a secret that only one user of a container can read.
const SecretMode FileMode = 0o400

// FileMode is the mode of a file in a manifest.
type FileMode uint32

// MarshalYAML writes the mode in octal.
func (m FileMode) MarshalYAML() (any, error) {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: fmt.Sprintf("%#04o", uint32(m))}, nil
}
