package output

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/toskose/toskose/packager"
)

// unused returns the secrets that an earlier run wrote and the application no longer has. A secret that a container still
// mounts is kept until the next run.
func (c credentials) unused(dir string, old credentials, mounted func(path string) bool) (names []string) {
	for _, name := range slices.Sorted(maps.Keys(old.names)) {
		if _, ok := c.names[name]; ok || !filepath.IsLocal(name) || filepath.Base(name) != name {
			continue // in use, or not written by toskose
		}
		path, err := filepath.Abs(filepath.Join(dir, SecretsDir, name))
		if err == nil && mounted != nil && mounted(path) {
			c.names[name] = old.names[name]
			continue
		}
		names = append(names, name)
	}
	if c.authority == "" && old.values[packager.TLSAuthorityFile] != "" {
		names = append(names, packager.TLSAuthorityFile)
	}
	return names
}

// removeUnused removes secrets from an output folder.
func removeUnused(dir string, names []string) error {
	var problems []error
	for _, name := range names {
		if err := os.Remove(filepath.Join(dir, SecretsDir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			problems = append(problems, err)
		}
	}
	return errors.Join(problems...)
}
