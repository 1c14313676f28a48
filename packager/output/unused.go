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

// unused returns the secrets that were written before and are none of the application's
// now. One that a container still has stays one until the next time.
func (c credentials) unused(dir string, old credentials, mounted func(path string) bool) (names []string) {
	for _, name := range slices.Sorted(maps.Keys(old.names)) {
		if _, ok := c.names[name]; ok || !filepath.IsLocal(name) || filepath.Base(name) != name {
			continue // it is used, or toskose has not written it
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
