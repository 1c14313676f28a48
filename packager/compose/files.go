package compose

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"gopkg.in/yaml.v3"
)

// SecretFile is a secret of a container on a single engine.
type SecretFile struct {
	Path string
	User string // number of the only user that reads it; empty: all users of the containers do
}

// Name returns the name of the secret whose file the manifest lists under a key: a secret that
// several users read has a file for each of them.
func (f SecretFile) Name(key string) string {
	if f.User == "" {
		return key
	}
	return strings.TrimSuffix(key, "."+f.User)
}

// SecretFiles returns the files that the containers of an output folder mount as secrets on
// a single engine, by the secrets' names. External secrets have none.
func SecretFiles(dir string) (map[string]SecretFile, error) {
	path := filepath.Join(dir, LocalFile)
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%q was not packaged for Compose: %w", dir, err)
	}
	var f struct {
		Secrets map[string]secret `yaml:"secrets"`
	}
	if err := yaml.Unmarshal(data, &f); err != nil {
		return nil, fmt.Errorf("cannot read %q: %w", path, err)
	}
	all := map[string]SecretFile{}
	for name, s := range f.Secrets {
		if s.File != "" {
			all[name] = SecretFile{filepath.Join(dir, s.File), s.User}
		}
	}
	return all, nil
}

// WithSecretFiles returns a Compose file that has other files be the secrets, to be given to
// Compose after an output folder's.
func WithSecretFiles(all map[string]string) ([]byte, error) {
	type file struct {
		File text `yaml:"file"`
	}
	f := struct {
		Version string          `yaml:"version"`
		Secrets map[string]file `yaml:"secrets,omitempty"`
	}{version, map[string]file{}}
	for name, path := range all {
		f.Secrets[name] = file{text(path)}
	}
	return yaml.Marshal(f)
}
