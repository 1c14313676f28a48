package compose

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"gopkg.in/yaml.v3"
)

// secretFile is the file of a container's secret on a single engine.
type secretFile struct {
	Path string
	User string // ID of the only user that reads it; empty: all users of the containers read it
}

// Name returns the name of the secret that the manifest lists under key. A secret that several users read has a file for each
// user.
func (f secretFile) Name(key string) string {
	if f.User == "" {
		return key
	}
	return strings.TrimSuffix(key, "."+f.User)
}

// secretFiles returns the files that the containers of an output folder mount as secrets on a single engine, by name. External
// secrets have no files.
func secretFiles(dir string) (map[string]secretFile, error) {
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
	all := map[string]secretFile{}
	for name, s := range f.Secrets {
		if s.File != "" {
			all[name] = secretFile{filepath.Join(dir, s.File), s.User}
		}
	}
	return all, nil
}

// withSecretFiles returns a Compose file that overrides the secrets' files. Compose must read it after the output folder's
// file.
func withSecretFiles(all map[string]string) ([]byte, error) {
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
